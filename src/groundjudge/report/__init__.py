"""The report: verdicts as a single HTML page."""
