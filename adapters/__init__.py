"""One framework, one file: each turns its objects into cases, and verdicts into its results."""
