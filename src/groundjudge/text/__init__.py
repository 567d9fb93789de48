"""What knows languages: sentences, words, numbers and negations."""
