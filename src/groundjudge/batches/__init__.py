"""Provider batches: requests sent as files, at half price, and answered within a day."""

from groundjudge.batches.files import request_lines, verdicts_of
from groundjudge.batches.lines import Result, read_result, request_line
from groundjudge.batches.replay import PendingRequest, custom_id, replay

__all__ = [
    "PendingRequest",
    "Result",
    "custom_id",
    "read_result",
    "replay",
    "request_line",
    "request_lines",
    "verdicts_of",
]
