"""Texts without keys, passwords and user names."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable
from functools import lru_cache
from traceback import format_exception
from urllib.parse import quote

from groundjudge.models.secret_values import (
    MIN_SECRET,
    REDACTED,
    Secrets,
    environment_secrets,
    hide_patterns,
)


def redact(text: str, secrets: Secrets = ()) -> str:
    """Return a text without these secrets, however encoded, and without what looks like one."""
    forms = forms_of(secret for secret in secrets if len(secret) >= MIN_SECRET)
    return hide_patterns(remove_secrets(text, forms))


def remove_secrets(text: str, forms: Iterable[str]) -> str:
    """Return a text without these forms of secrets; the rest stays as it is."""
    for form in sorted(forms, key=len, reverse=True):  # the longest first: others may be parts of it
        text = text.replace(form, REDACTED)
    return text


def forms_of(secrets: Secrets) -> set[str]:
    """Return all forms in which texts may show these secrets; see `secret_forms`."""
    forms = set[str]()
    for secret in secrets:
        forms.update(secret_forms(secret))
    return forms


@lru_cache(maxsize=256)  # every reply is searched for the same few secrets
def secret_forms(secret: str) -> frozenset[str]:
    """Return one secret as texts show it: as it is, in JSON, percent-encoded, in Base64."""
    in_base64 = b64encode(secret.encode(errors="replace")).decode().rstrip("=")
    percent_encoded = [quote(secret, safe=safe, errors="replace") for safe in ("/", "")]
    return frozenset({secret, json.dumps(secret)[1:-1], *percent_encoded, in_base64})


def text_of(error: BaseException) -> str:
    """Return what an exception says, even if its `__str__` raises."""
    try:
        return str(error)
    except Exception as problem:  # noqa: BLE001  it may be anyone's code
        return f"(no text: its __str__ raises {type(problem).__name__})"


class RedactedError(Exception):
    """Show an exception, and what it was raised from, in tracebacks without keys and passwords.

    Attributes:
        raised: the exception itself, whose text may contain them.
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
