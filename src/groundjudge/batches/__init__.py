"""Provider batches: requests sent as files, at half price, and answered within a day."""

from groundjudge.batches.lines import request_lines, verdicts_of

__all__ = ["request_lines", "verdicts_of"]
