"""From a name to the offline judge as a model."""

from __future__ import annotations

from groundjudge.rubric.model import Model


def find_model(candidate: object, client: object = None) -> Model | None:
    """Return the offline judge if that is its name; None of anything else, and of a name with a client."""
    if not isinstance(candidate, str) or candidate != "offline" or client is not None:
        return None
    from groundjudge.offline.model import OfflineModel  # noqa: PLC0415  it reads its words, which takes a while

    return OfflineModel()
