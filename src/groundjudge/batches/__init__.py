"""Provider batches: requests sent as files, at half price, and answered within a day."""

from groundjudge.batches.asking import Ask, Settled, custom_id, settle
from groundjudge.batches.files import request_lines, verdicts_of
from groundjudge.batches.lines import Result, read_result, read_results, request_line

__all__ = [
    "Ask",
    "Result",
    "Settled",
    "custom_id",
    "read_result",
    "read_results",
    "request_line",
    "request_lines",
    "settle",
    "verdicts_of",
]
