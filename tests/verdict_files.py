"""Files of verdicts and labels for tests of the commands that read them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from make_verdicts import labelled, verdict

from groundjudge import Verdict


def write_verdicts(path: str, verdicts: Iterable[Verdict]) -> None:
    Path(path).write_text("".join(f"{verdict.model_dump_json()}\n" for verdict in verdicts))


def write_rows(path: str, rows: Iterable[Mapping[str, Any]]) -> None:
    Path(path).write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def some_verdicts(n: int = 40, **more: Any) -> list[Verdict]:
    """Verdicts that agree with `some_labels` but for every fifth."""
    return [
        verdict(
            str(place), abs((place % 2) - 0.9 * (place % 5 == 0) - 0.05), reason=f"because {place}", **more
        )
        for place in range(n)
    ]


def some_labels(n: int = 40) -> list[dict[str, Any]]:
    return [{"id": place, "label": place % 2, "claim": place // 4} for place in range(n)]


WORDS = ("not supported", "partly supported", "supported", "cannot tell")


def some_labelled(n: int = 40) -> list[Verdict]:
    """The verdicts of a judge that answers with `WORDS` in turn."""
    scores = (0.0, 0.5, 1.0, None)
    return [labelled(str(place), WORDS[place % 4], scores[place % 4]) for place in range(n)]


def some_words(n: int = 40) -> list[dict[str, Any]]:
    """People's labels in other spellings; every tenth is another one than the judge's."""
    return [
        {"id": place, "label": WORDS[(place + (place % 10 == 0)) % 4].upper().replace(" ", "_")}
        for place in range(n)
    ]
