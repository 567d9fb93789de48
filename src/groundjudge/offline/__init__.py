"""The lexical baseline: no language model is called."""
