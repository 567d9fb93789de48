"""Language-aware reading of texts: sentences, words, numbers and negations."""
