"""Prompts without the codes of their tags, which differ from case to case."""

from __future__ import annotations

import re

CODED = re.compile(r"(</?data-[\w-]+)-[0-9a-f]{8}(?=[ >])")


def without_codes(prompt: str) -> str:
    """The prompt with `<data-response>` where it has `<data-response-1a2b3c4d>`."""
    return CODED.sub(r"\1", prompt)
