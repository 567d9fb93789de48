"""Texts without keys, passwords and user names."""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from collections.abc import Iterable
from functools import lru_cache
from traceback import format_exception
from urllib.parse import quote

from groundjudge.models.secret_values import (
    REDACTED,
    SHORTEST_SECRET,
    Secrets,
    environment_secrets,
    hide_patterns,
)

PIECE = 8
"""Characters: no text shows so many of a secret in a row, as where it was cut or masked."""

MASKED = r"[^\s\"']{0,32}?(?:\.{2,}|…|[*•·]{2,})[\w+/=~-]*"
"""What follows the beginning of a secret that is shown with its end only."""


def redact(text: str, secrets: Secrets = ()) -> str:
    """Return a text without what looks like a secret and without pieces of these, however encoded."""
    values = {secret for secret in secrets if len(secret) >= SHORTEST_SECRET}
    for value in values:
        text = re.sub(re.escape(value[:3]) + MASKED, REDACTED, text)
    text = hide_patterns(text)

    pieces = set[str]()
    for form in forms_of(values):
        n_starts = max(len(form) - PIECE, 0) + 1
        pieces.update(form[start : start + PIECE] for start in range(n_starts))
    characters = [*text]
    for size in {len(piece) for piece in pieces}:
        for start in range(len(text) - size + 1):
            if text[start : start + size] in pieces:
                characters[start : start + size] = "\0" * size
    # Pieces that overlap or touch are one secret.
    return re.sub("\0+", REDACTED, "".join(characters))


def remove_secrets(text: str, forms: Iterable[str]) -> str:
    """Return a text without these forms of secrets, where they are whole: the rest stays as it is."""
    for form in sorted(forms, key=len, reverse=True):  # the longest first: others may be parts of it
        text = text.replace(form, REDACTED)
    return text


def forms_of(secrets: Secrets) -> set[str]:
    """Return secrets as texts show them: as they are, escaped, percent-encoded, in Base64 at any place."""
    forms = set[str]()
    for secret in secrets:
        forms.update(secret_forms(secret))
    return forms


@lru_cache(maxsize=256)  # every reply is searched for the same few secrets
def secret_forms(secret: str) -> frozenset[str]:
    """Return one secret as texts show it."""
    in_json = json.dumps(secret)[1:-1]
    in_php_json = in_json.replace("/", r"\/")
    forms = {secret, in_json, in_php_json, repr(secret)[1:-1], html.escape(secret)}
    for safe in ("/", ""):
        percent_encoded = quote(secret, safe=safe, errors="replace")
        forms.add(percent_encoded)
        forms.add(re.sub("%..", lambda code: code[0].lower(), percent_encoded))
    secret_bytes = secret.encode(errors="replace")
    for n_before in range(3):
        for alphabet in (b"+/", b"-_"):
            encoded = b64encode(b" " * n_before + secret_bytes, alphabet).decode().rstrip("=")
            forms.add(encoded)
            # The characters that show nothing of what stands before the secret or after it.
            first = -(-8 * n_before // 6)
            end = 8 * (n_before + len(secret_bytes)) // 6
            if end - first >= PIECE:
                forms.add(encoded[first:end])
    return frozenset(forms)


def text_of(error: BaseException) -> str:
    """Return what an exception says, also one whose own `__str__` raises."""
    try:
        return str(error)
    except Exception as problem:  # noqa: BLE001  it is code of anybody's
        return f"(no text: its __str__ raises {type(problem).__name__})"


class RedactedError(Exception):
    """Shows an exception, and what it was raised from, in tracebacks: without keys and passwords.

    Attributes:
        raised: the exception itself, whose text can hold them.
    """

    def __init__(self, raised: BaseException, secrets: Secrets = ()) -> None:
        super().__init__()
        self.raised = raised
        self._secrets = [*secrets]

    def __str__(self) -> str:
        return "\n" + self.clean("".join(format_exception(self.raised)))

    def clean(self, text: str) -> str:
        """Return a text without the secrets."""
        return redact(text, [*self._secrets, *environment_secrets()])

    def __reduce__(self) -> tuple[type[Exception], tuple[str]]:
        """Pickle what it shows."""
        return Exception, (str(self),)
