"""Prompt files: read, checked and rendered, with every value of a case fenced as data."""
