"""Prompt files: reads, checks and renders them, with every value of a case fenced as data."""
