"""Find the offline judge, as a model, by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groundjudge.models.failure import model_error
from groundjudge.rubric.model import Model


def find_model(candidate: object, client: object, options: Mapping[str, Any]) -> Model | None:
    """Return the offline judge if that is its name; None for anything else, and for a name with a client.

    Raises:
        ModelError: `unknown_model`: options were passed.
    """
    if not isinstance(candidate, str) or candidate.casefold() != "offline" or client is not None:
        return None
    if options:
        message = f"the offline judge calls no endpoint: leave out {' and '.join(options)}"
        raise model_error("unknown_model", message, "offline")
    from groundjudge.offline.model import OfflineModel  # noqa: PLC0415  it reads its words, which takes a while

    return OfflineModel()
