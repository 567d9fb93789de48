"""How long to wait before a request is sent again."""

from __future__ import annotations

import random

FIRST_WAIT = 0.5
"""Seconds to wait before the first retry; each further retry waits twice as long."""

LONGEST_BACKOFF = 8.0
"""Seconds. The doubling stops here."""

LONGEST_WAIT = 60.0
"""Seconds. If an endpoint asks for a longer wait, there is no retry."""


def wait_before(retry: int, retry_after: float | None) -> float | None:
    """The seconds to wait before a retry, or None if the endpoint asks for more than LONGEST_WAIT.

    The wait is never shorter than the endpoint asks for. Up to a quarter is added at random, so that
    requests that were rejected together do not all return together.

    Args:
        retry: the number of retries before this one, from 0.
        retry_after: the seconds that the endpoint asks to wait, or None if it does not ask.
    """
    wait = retry_after or min(FIRST_WAIT * 2**retry, LONGEST_BACKOFF)
    return None if wait > LONGEST_WAIT else random.uniform(wait, 1.25 * wait)  # noqa: S311  not a secret
