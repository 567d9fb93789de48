"""The report: a run as a single HTML page."""
