"""An interrupt (Ctrl-C) ends a run after the verdict that is being written, wherever it comes."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from command_line import verdicts_in
from make_verdicts import verdict
from pydantic import field_serializer

from groundjudge.runs.summary import Tally
from groundjudge.runs.verdict_file import Output, RunTotals, write_verdicts
from groundjudge.verdict import Verdict


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


class InterruptedInSerializer(Verdict):
    """Pydantic makes another error of what a serializer raises."""

    @field_serializer("case_id")
    def write(self, case_id: str) -> str:
        interrupt()
        return case_id


class Dying:
    def __del__(self) -> None:
        interrupt()


class InterruptedInFinalizer(Verdict):
    """Python ignores what a finalizer raises."""

    def model_dump_json(self, **options: Any) -> str:
        Dying()
        return super().model_dump_json(**options)


class InterruptedTwice(Verdict):
    """A second interrupt ends the work on a verdict as well."""

    def model_dump_json(self, **options: Any) -> str:
        interrupt()
        interrupt()
        return super().model_dump_json(**options)


def plain(case_id: str) -> Verdict:
    return verdict(case_id, 0.5)


def made_by(kind: type[Verdict]) -> Callable[[str], Verdict]:
    return lambda case_id: kind(**plain(case_id).model_dump(exclude={"signature"}))


def waited_for(case_id: str) -> Verdict:
    interrupt()
    return plain(case_id)


def nothing() -> None:
    pass


@contextmanager
def own_handler() -> Generator[None]:
    """The program decides what an interrupt means: here, nothing."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def written(path: Path, second: Callable[[str], Verdict], advance: Callable[[], object]) -> RunTotals:
    """Writes three verdicts, of which the second is made by `second`."""

    def verdicts() -> Generator[Verdict]:
        yield plain("1")
        yield second("2")
        yield plain("3")

    totals = RunTotals(Tally(["one"]))
    with path.open("wb") as file:
        write_verdicts(verdicts(), Output(file), totals, nullcontext(advance))
    return totals


@pytest.mark.parametrize(
    ("second", "advance", "ids"),
    [
        pytest.param(waited_for, nothing, ["1"], id="while a verdict is awaited"),
        pytest.param(made_by(InterruptedInSerializer), nothing, ["1", "2"], id="in a serializer"),
        pytest.param(made_by(InterruptedInFinalizer), nothing, ["1", "2"], id="in a finalizer"),
        pytest.param(made_by(InterruptedTwice), nothing, ["1"], id="twice"),
        pytest.param(plain, interrupt, ["1"], id="in the progress line"),
    ],
)
def test_interrupt_stops_a_run_between_verdicts(
    tmp_path: Path, second: Callable[[str], Verdict], advance: Callable[[], object], ids: list[str]
) -> None:
    totals = written(tmp_path / "out.jsonl", second, advance)
    lines = (tmp_path / "out.jsonl").read_text()
    stopped = totals.stopped
    assert (stopped and stopped.code, [verdict.case_id for verdict in verdicts_in(lines)]) == (
        "interrupted",
        ids,
    )
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_interrupt_that_the_program_ignores_is_ignored(tmp_path: Path) -> None:
    with own_handler():
        totals = written(tmp_path / "out.jsonl", waited_for, interrupt)
    assert (totals.stopped, totals.n_new) == (None, 3)


def test_verdicts_can_be_written_in_any_thread(tmp_path: Path) -> None:
    done: list[RunTotals] = []
    thread = threading.Thread(target=lambda: done.append(written(tmp_path / "out.jsonl", plain, nothing)))
    thread.start()
    thread.join(60)
    assert [totals.n_new for totals in done] == [3]
