"""Several commands at once on one output or folder, killed and held between any two of their steps."""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from batch_commands import BatchCommands, environment, number_of
from batch_commands import rows as numbered_rows
from command_line import GOOD, ROW, FileOf, Invoke, verdicts_in
from standin_openai import Answer, Hang, StandIn, Text
from stepped_commands import AT_MOST, Steps, status_of

pytest_plugins = ["batch_servers"]
pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]

N_ROWS = 6
ALL = [str(number) for number in range(N_ROWS)]
OFFLINE = ("--judge", "groundedness", "--model", "offline")


@pytest.fixture
def cases(file_of: FileOf) -> Path:
    return file_of(*({**ROW, "id": name} for name in ALL))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """In a folder of its own, in which files count as steps."""
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "v.jsonl"


@pytest.fixture
def beginning(cases: Path, invoke: Invoke, tmp_path: Path) -> bytes:
    """What a run wrote that was killed in its fourth line."""
    path = tmp_path / "begun.jsonl"
    assert invoke("run", cases, *OFFLINE, "--out", path).exit_code == 0
    lines = path.read_bytes().splitlines(keepends=True)
    return b"".join(lines[:3]) + lines[3][:50]


def lines_of(out: Path) -> list[str]:
    """The whole lines of a file."""
    if not out.exists():
        return []
    lines = out.read_text().splitlines(keepends=True)
    return [line for line in lines if line.endswith("\n")]


def ids_in(out: Path) -> list[str]:
    """The ids of the rows that have a whole line."""
    verdicts = verdicts_in("".join(lines_of(out)))
    return [str(verdict.case_id) for verdict in verdicts]


def other_files(out: Path) -> set[str]:
    """What is in the folder besides the output, hidden temporary files apart."""
    temporary_name = re.compile(rf"\.{re.escape(out.name)}.*\.part")
    names = {path.name for path in out.parent.iterdir()} - {out.name}
    return {name for name in names if not temporary_name.fullmatch(name)}


@pytest.mark.parametrize(
    ("way", "content"),
    [
        pytest.param("--resume", "begun", id="a begun file is resumed"),
        pytest.param("--resume", "none", id="a new file is resumed"),
        pytest.param("--overwrite", "begun", id="a begun file is overwritten"),
    ],
)
def test_a_run_is_killed_at_each_step(  # noqa: PLR0913  fixtures and a row of the table
    invoke: Invoke, cases: Path, out: Path, beginning: bytes, *, content: str, way: str
) -> None:
    run = ("run", cases, *OFFLINE, "--out", out)
    steps = Steps(out.parent, {})
    n_killed = 0
    for nth in count(1):
        out.unlink(missing_ok=True)
        if content == "begun":
            out.write_bytes(beginning)
        was_killed = steps.kill_at(nth, [*run, way])
        n_killed += was_killed
        if was_killed and way == "--overwrite" and content == "begun":
            assert out.read_bytes() == beginning or set(ids_in(out)) <= {*ALL}
        elif content == "begun":
            assert {*ids_in(out)} >= {"0", "1", "2"}
        result = invoke(*run, "--resume")
        assert result.exit_code == 0, result.output
        assert sorted(ids_in(out)) == ALL
        assert not other_files(out)
        if not was_killed:
            break
    assert n_killed >= 1


@pytest.mark.parametrize(
    ("first", "second", "stride"),
    [
        pytest.param("--resume", ("--resume",), 12, id="both resume"),
        pytest.param("--resume", (), 12, id="the second run has no option"),
        pytest.param("--resume", ("--overwrite",), 3, id="the second run overwrites"),
        pytest.param("--overwrite", ("--resume",), 3, id="the second run resumes what is overwritten"),
    ],
)
def test_a_second_run_comes_at_every_few_steps(  # noqa: PLR0913  fixtures and a row of the table
    invoke: Invoke,
    cases: Path,
    out: Path,
    beginning: bytes,
    *,
    first: str,
    second: tuple[str, ...],
    stride: int,
) -> None:
    link = out.parent.parent / "link.jsonl"
    link.symlink_to(out)
    steps = Steps(out.parent, {})
    outcomes = Counter[str]()
    for nth in count(1, stride):
        out.write_bytes(beginning)
        held_run = steps.hold_at(nth, ["run", cases, *OFFLINE, "--out", out, first])
        if held_run is None:
            break
        before = out.read_bytes() if out.exists() else None
        result = invoke("run", cases, *OFFLINE, "--out", link, *second)
        if result.exit_code:
            reason = re.search("another command is writing to it|already exists", result.stderr)
            assert reason, result.output
            after = out.read_bytes() if out.exists() else None
            assert (result.exit_code, after) == (2, before)
            outcomes[reason[0]] += 1
        else:
            assert sorted(ids_in(out)) == ALL
            outcomes["done"] += 1
        assert held_run.go_on() == 0
        assert sorted(ids_in(out)) == ALL
        assert not other_files(out)
    assert outcomes["another command is writing to it"]


class Endpoint:
    """Answers so many requests well, and leaves the others without an answer.

    Attributes:
        allowed: how many more it answers.
        n_answers: how often each row was answered.
    """

    def __init__(self) -> None:
        self.allowed = 0
        self.n_answers = Counter[int]()

    def __call__(self, body: dict[str, Any]) -> Answer:
        self.allowed -= 1
        if self.allowed < 0:
            return Hang()
        self.n_answers[number_of(body)] += 1
        return Text(GOOD)


@pytest.mark.parametrize(
    ("n_commands", "n_rounds", "seed"),
    [
        pytest.param(2, 3, 1, id="two commands, three times"),
        pytest.param(4, 3, 2, id="four commands, three times"),
    ],
)
def test_several_runs_begin_at_once_and_are_killed(  # noqa: PLR0913  fixtures and a row of the table
    tmp_path: Path,
    invoke: Invoke,
    file_of: FileOf,
    monkeypatch: pytest.MonkeyPatch,
    *,
    n_commands: int,
    n_rounds: int,
    seed: int,
) -> None:
    """All but one are refused, and what that one has written stays when it is killed."""
    chance = random.Random(seed)  # noqa: S311  not a secret
    endpoint = Endpoint()
    out = tmp_path / "v.jsonl"
    n_rows = 5 * n_rounds
    options = ("--judge", "groundedness", "--model", "m", "--concurrency", "2")
    run = ("run", file_of(*numbered_rows(n_rows)), *options, "--out", out, "--resume")
    with StandIn(endpoint) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        steps = Steps(tmp_path, {"OPENAI_BASE_URL": server.url})
        for _ in range(n_rounds):
            lines_before = lines_of(out)
            endpoint.allowed = chance.randint(2, 3)
            processes = [steps.start(run) for _ in range(n_commands)]
            # Until one command is left, and both of its requests in flight hang.
            while endpoint.allowed > -2 or sum(process.is_alive() for process in processes) > 1:
                time.sleep(0.01)
            time.sleep(chance.uniform(0, 0.05))
            for process in processes:
                process.kill()
            statuses = [status_of(process) for process in processes]
            assert Counter(statuses) == Counter({-9: 1, 2: n_commands - 1})
            assert lines_of(out)[: len(lines_before)] == lines_before
        endpoint.allowed = 10 * n_rows
        assert invoke(*run).exit_code == 0
    assert Counter(ids_in(out)) == Counter(map(str, range(n_rows)))
    assert max(endpoint.n_answers.values()) <= 2
    assert endpoint.n_answers.total() - n_rows <= 2 * n_rounds  # those in flight at a kill


# Batches


@pytest.mark.parametrize(
    ("command", "way", "stride"),
    [
        pytest.param("submit", "held", 5, id="submit is held"),
        pytest.param("submit", "killed", 5, id="submit is killed"),
        pytest.param("collect", "held", 7, id="collect is held"),
        pytest.param("collect", "killed", 5, id="collect is killed"),
    ],
)
def test_a_command_on_a_batch_folder_is_stopped_at_every_few_steps(
    batches: Any, tmp_path: Path, *, command: str, way: str, stride: int
) -> None:
    """After a kill the next command goes on; while one is at work, every other one is refused."""
    outcomes = Counter[str]()
    n_stopped = 0
    for nth in count(stride, stride):
        run: BatchCommands = batches(4, at_most=AT_MOST)
        run.folder = tmp_path / f"{nth}"
        run.folder.mkdir()
        run.write_cases(numbered_rows(4))
        steps = Steps(run.folder, environment(run.server))
        if command == "collect":
            assert run.submit().exit_code == 0
        arguments = run.to_submit if command == "submit" else run.to_collect
        if way == "killed":
            is_stopped = steps.kill_at(nth, arguments)
        else:
            held_command = steps.hold_at(nth, arguments)
            is_stopped = held_command is not None
            if held_command:
                outcomes.update(second_commands(run))
                assert held_command.go_on() in {0, 2}
        check(run)
        n_stopped += is_stopped
        if not is_stopped:
            break
    assert n_stopped
    if way == "held":
        assert outcomes["in use"]


def second_commands(run: BatchCommands) -> Iterator[str]:
    """What becomes of other commands while one is held: they are refused, or it is not there or has ended."""
    for result in (run.submit(), run.collect(), run.invoke("batch", "status", run.out)):
        if result.exit_code == 2:
            if "another command is working on it" in result.stderr:
                yield "in use"
                continue
            reason = re.search("there is no|is empty|already exists", result.stderr)
            assert reason, result.output
            yield reason[0]
        else:
            assert result.exit_code in {0, 1}
            yield "done"


def check(run: BatchCommands) -> None:
    """Let the commands end: each row has one verdict, and each request was paid once."""
    assert run.submit().exit_code in {0, 2}
    collected = run.collect()
    assert collected.exit_code == 0, collected.output
    assert run.results() == {str(number): 1.0 for number in range(4)}
    assert {*run.server.paid().values()} == {1}
    assert len(run.server.batches) == 2
    assert not run.server.uploads()
