"""Adapters, one file per framework: each turns its objects into cases, and verdicts into its results."""
