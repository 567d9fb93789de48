"""How long to wait before a request is sent again."""

from __future__ import annotations

import random

FIRST_WAIT = 0.5
LONGEST_BACKOFF = 8.0
LONGEST_WAIT = 60.0
"""Seconds. An endpoint that asks to be left alone for longer than the longest wait is not asked again."""


def wait_before(retry: int, retry_after: float | None) -> float | None:
    """The seconds to wait before a retry, or None where the endpoint asks for too many.

    Never less than the endpoint asks for, and not the same for all that were turned away together.

    Args:
        retry: how many retries there were before this one, from 0.
        retry_after: the seconds that the endpoint asks to be left alone, if it does.
    """
    wait = retry_after or min(FIRST_WAIT * 2**retry, LONGEST_BACKOFF)
    return None if wait > LONGEST_WAIT else random.uniform(wait, 1.25 * wait)  # noqa: S311  it is no secret
