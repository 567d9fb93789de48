"""Decision models: what they are asked about a case, and what their probabilities say."""
