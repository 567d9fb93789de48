"""Files of verdicts and labels for tests of the commands that read them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from make_verdicts import verdict

from groundjudge import Verdict


def write_verdicts(path: str, verdicts: Iterable[Verdict]) -> None:
    Path(path).write_text("".join(f"{one.model_dump_json()}\n" for one in verdicts))


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
