"""The state of a submitted run: a human-readable folder.

    requests-1.jsonl    the requests of part 1, as they were sent
    results-1.jsonl     its results, as the provider gave them
    first.jsonl         the requests sent online before the first batch, with their replies
    state.json          what was submitted, and the progress of each part

Each step is on disk before the next one begins: a process can be killed at any point, and the next one
continues from there without asking anything twice. Only
`state.json` says which files of requests and results count.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

from pydantic import ValidationError

from groundjudge.batches.provider import Batch
from groundjudge.errors import GroundjudgeError
from groundjudge.files import lock_file, replace_file
from groundjudge.verdict import Frozen

StepName: TypeAlias = Literal["planned", "creating", "created", "incomplete", "lost", "collected"]
"""The progress of a part. "creating" is written before the provider is asked: only such a part can have an
unrecorded batch. "incomplete": the batch has ended, and some results are still awaited. "lost": they are
no longer awaited, but each further command looks for them."""


class StateError(GroundjudgeError):
    """The state of a submitted run cannot be used."""

    codes: ClassVar[Mapping[str, str]] = {
        "in_use": "Another command is working on the same run. Wait for it to finish.",
        "no_state": "Nothing was submitted for that `--out`, or its state is incomplete or old. "
        "Name the file that you passed to `groundjudge batch submit` as `--out`, or submit again.",
        "other_run": "The state belongs to another judge, prompt, model, option, endpoint, version or cases. "
        "Go back to what was submitted, or choose another `--out`.",
    }


class PartOfRun(Frozen):
    """A part of the requests, which becomes one batch.

    Attributes:
        number: its number, from 1.
        model: the name of the model to ask.
        n_requests: how many requests it has.
        n_tokens: approximately how many tokens their prompts have.
        step: its progress.
        since: when that step began, in seconds since 1970.
        batch: the batch, as the provider last described it; its id is "" before it is created.
    """

    number: int
    model: str
    n_requests: int = 0
    n_tokens: int = 0
    step: StepName = "planned"
    since: float = 0.0
    batch: Batch = Batch("", "", is_ended=False)

    @property
    def is_settled(self) -> bool:
        """Whether no more results are awaited."""
        return self.step in {"lost", "collected"}


class _Content(Frozen):
    """The contents of `state.json`."""

    settings: Mapping[str, Any]
    parts: tuple[PartOfRun, ...]


class State:
    """The state of a submitted run in a folder. Each change is on disk when its method returns.

    Args:
        folder: the folder.

    Attributes:
        folder: the folder.
        settings: what the run was submitted with; empty before that.
        parts: all parts, in order.

    Raises:
        StateError: `no_state`: its `state.json` is something else.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings: Mapping[str, Any] = {}
        self.parts: tuple[PartOfRun, ...] = ()
        self._file = folder / "state.json"
        if not self._file.exists():
            return
        try:
            content = _Content.model_validate_json(self._file.read_bytes())
        except ValidationError as error:
            message = f"{self._file} is not the state of a submitted run: choose another --out"
            raise StateError("no_state", message, str(folder)) from error
        self.settings, self.parts = content.settings, content.parts

    def requests(self, number: int) -> Path:
        """Return the path of a part's requests."""
        return self.folder / f"requests-{number}.jsonl"

    def results(self, number: int) -> Path:
        """Return the path of a part's results, which exist once it is collected."""
        return self.folder / f"results-{number}.jsonl"

    @property
    def first_replies(self) -> Path:
        """The path of the requests that were sent online, with their replies."""
        return self.folder / "first.jsonl"

    def custom_ids(self, part: PartOfRun) -> Iterator[str]:
        """Yield the names of the requests of a part."""
        with self.requests(part.number).open(encoding="utf-8", newline="\n") as lines:
            for line in lines:
                yield line.split('"', 4)[3]  # the first value of each line, see `Provider.line`

    def write(self, settings: Mapping[str, Any], parts: Iterable[PartOfRun]) -> None:
        """Store the settings of the run and the progress of its parts."""
        self.settings, self.parts = settings, tuple(parts)
        content = _Content(settings=settings, parts=self.parts)
        with replace_file(self._file) as file:
            file.write(content.model_dump_json(indent=1).encode())

    def change(self, part: PartOfRun, **changes: Any) -> PartOfRun:  # noqa: ANN401  values of its fields
        """Record changes to a part, and return the changed part."""
        # Waiting time is counted from the start of the step, not from each look at it.
        if changes.get("step", part.step) != part.step:
            changes["since"] = time.time()
        changed = part.model_copy(update=changes)
        parts = list(self.parts)
        for index, old_part in enumerate(parts):
            if old_part.number == part.number:
                parts[index] = changed
        self.write(self.settings, parts)
        return changed


@contextmanager
def open_state(folder: Path, *, is_new: bool = False) -> Generator[State, None, None]:
    """Open the state of a run for this process alone.

    Args:
        folder: its folder.
        is_new: create the folder if it doesn't exist.

    Raises:
        StateError: `no_state`: nothing was submitted there, or the folder is something else; `in_use`:
            another process has it open.
    """
    if not is_new and not folder.is_dir():
        message = (
            f"{folder} is not a folder: name the file that you passed to `groundjudge batch submit` as --out"
        )
        raise StateError("no_state", message, str(folder))
    folder.mkdir(0o700, exist_ok=True)  # prompts and replies may be confidential
    in_use = StateError("in_use", f"{folder}: another command is working on it", str(folder))
    try:
        with lock_file(folder / "state.json", in_use):
            yield State(folder)
    finally:
        with suppress(OSError):  # only an empty one can be removed: that of a run that was refused
            folder.rmdir()
