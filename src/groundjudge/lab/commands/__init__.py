"""The lab commands."""
