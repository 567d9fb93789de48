"""CachedModel stores readable replies, finds them by the whole request, and never prevents a call."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from any_options import load_one
from command_line import ROW
from formatter import sure
from scripted_model import NamedModel

from groundjudge import ModelError, Reply, ReplyError, Usage, Verdict, load, load_rubric, run
from groundjudge.models.cached import CachedModel
from groundjudge.types import Judge, Request

GOOD = Reply(
    f"<S0>t</S0><S1>größer</S1>{sure(5)}",
    "stop",
    Usage(prompt_tokens=9, completion_tokens=3),
    "m-2024",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache.db"


def judge_on(model: NamedModel, path: Path, **options: Any) -> Judge:
    return load_one("groundedness", model=CachedModel(model, path), **options)


def test_repeated_request_makes_no_call(path: Path) -> None:
    model = NamedModel(GOOD, "none")
    judge = judge_on(model, path)
    first, second = judge.judge(ROW), judge.judge(ROW)
    assert len(model.asked) == 1
    assert (first.usage, second.usage) == (GOOD.usage, Usage())
    cost: Any = {"usage", "latency_s"}
    assert first.model_dump(exclude=cost) == second.model_dump(exclude=cost)


@pytest.mark.parametrize(
    "other",
    [
        {"row": {**ROW, "response": "It sails at ten."}},
        {"parameters": {"temperature": 1}},
        {"parameters": {"seed": 1}},
        {"name": "another"},
        {"repeat": 1},
        {"judge": "statement_groundedness"},
    ],
    ids=str,
)
def test_different_request_makes_a_call(path: Path, other: dict[str, Any]) -> None:
    judge_on(NamedModel(GOOD), path).judge(ROW)
    model = NamedModel(ModelError("server", "asked"))
    model.name = other.get("name", model.name)
    cached = CachedModel(model, path, repeat=other.get("repeat", 0))
    judge = load_one(other.get("judge", "groundedness"), model=cached, parameters=other.get("parameters"))
    assert judge.evaluate(other.get("row", ROW)).error
    assert len(model.asked) == 1


def test_a_stored_reply_keeps_what_the_model_said_of_it(path: Path) -> None:
    judge = load("groundedness", model=CachedModel("offline", path))
    case = {"query": "When?", "context": "We open at 9.", "response": "It costs 3 euros."}
    first, second = judge.judge(case), judge.judge(case)
    assert first.warnings == second.warnings == ("not_decided",)
    assert (first.confidence, first.reason) == (second.confidence, second.reason)


def test_case_id_and_threshold_are_not_part_of_the_key(path: Path) -> None:
    judge = judge_on(NamedModel(GOOD, "none"), path)
    judge.judge({**ROW, "id": "1"})
    assert judge_on(NamedModel("none"), path, threshold=0.9).judge({**ROW, "id": "2"}).case_id == "2"


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(Reply("no verdict"), id="no verdict"),
        pytest.param(Reply("", refusal="No."), id="refusal"),
        pytest.param(Reply("<S2>9</S2>"), id="out of scale"),
        pytest.param(ModelError("timeout", "late"), id="error"),
    ],
)
def test_unreadable_reply_and_error_are_not_stored(path: Path, bad: Reply | ModelError) -> None:
    for _ in range(2):
        model = NamedModel(bad)
        with pytest.raises((ReplyError, ModelError)):
            judge_on(model, path, max_reasks=0).judge(ROW)
        assert model.asked


@pytest.mark.parametrize(
    ("first", "calls"),
    [
        pytest.param(GOOD, 1, id="readable reply"),
        pytest.param(Reply("no verdict"), 5, id="unreadable reply"),
    ],
)
async def test_equal_requests_in_flight_wait_for_the_first_reply(
    path: Path, first: Reply, calls: int
) -> None:
    """All others are sent at once if the first reply cannot be read."""
    requests: list[Request] = []
    all_waiting = asyncio.Barrier(4)

    async def answer(request: Request) -> Reply:
        requests.append(request)
        if len(requests) == 1:
            await asyncio.sleep(0.01)
            return first
        async with asyncio.timeout(10):
            await all_waiting.wait()
        return GOOD

    vars(answer)["identity"] = "answers that are counted"
    judge: Judge = load_one("groundedness", model=CachedModel(answer, path), max_reasks=0)
    verdicts = await asyncio.gather(*(judge.aevaluate(ROW) for _ in range(5)))
    assert [verdict.score for verdict in verdicts][1:] == [1.0] * 4
    assert len(requests) == calls


def test_stored_reply_that_the_rubric_cannot_read_makes_a_call(path: Path) -> None:
    judge_on(NamedModel(GOOD), path).judge(ROW)
    unit: dict[str, Any] = {
        "scale": load_rubric("confidence_grounding").scale,
        "levels": {},
        "not_applicable": (),
    }
    assert judge_on(NamedModel("<S2>1</S2>"), path, **unit).judge(ROW).value == 1


def entries(path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as file:
        return file.execute("SELECT key, reply FROM replies").fetchall()


def test_file_contains_the_reply_as_json(path: Path) -> None:
    judge_on(NamedModel(GOOD), path).judge(ROW)
    ((_, text),) = entries(path)
    assert "größer" in text
    other_fields: dict[str, object] = {
        "finish_reason": "stop",
        "model": "m-2024",
        "refusal": None,
        "tokens": None,
        "warnings": [],
        "limits": "",
    }
    assert json.loads(text) == {"text": GOOD.text, **other_fields}


def entry_with_share(share: str) -> str:
    """An entry whose token has such a probability."""
    tokens = f'[{{"text": "YQ==", "candidates": [["YQ==", {share}]]}}]'
    other_fields = '"finish_reason": null, "model": null, "refusal": null'
    return f'{{"text": sure(1), {other_fields}, "tokens": {tokens}}}'


CORRUPT: dict[str, str | bytes] = {
    "empty": "",
    "list": "[]",
    "text that is a number": '{"text": 1}',
    "fields missing": '{"text": sure(5)}',
    "no UTF-8": b"\xff",
    "too deep": "[" * 100_000,
    "probability of 400 digits": entry_with_share("9" * 400),
    "probability that is no number": entry_with_share("NaN"),
    "negative probability": entry_with_share("-1"),
    "probability above 1": entry_with_share("1.5"),
    "probability as a text": entry_with_share('"0.5"'),
}


def test_corrupt_entry_makes_a_call_and_is_replaced(path: Path) -> None:
    model = NamedModel(GOOD)
    judge = judge_on(model, path)
    judge.judge(ROW)
    for n_calls, (name, entry) in enumerate(CORRUPT.items(), 2):
        with closing(sqlite3.connect(path)) as file:
            file.execute("UPDATE replies SET reply = ?", [entry])
            file.commit()
        assert (name, judge.judge(ROW).score, len(model.asked)) == (name, 1.0, n_calls)
        assert json.loads(entries(path)[0][1])["text"] == GOOD.text


OURS = "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL) WITHOUT ROWID"
"""What makes a cache, and has to go on making one: people keep these files."""

CRASH = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"


def make_database(path: Path, *statements: str) -> None:
    """Make a database; Python code among the statements is run as it is, with `file`."""
    begin = f"import sqlite3; file = sqlite3.connect({str(path)!r}, isolation_level=None)"
    lines = [begin]
    for statement in statements:
        is_sql = statement.split()[0].isupper()
        lines.append(f"file.execute({statement!r})" if is_sql else statement)
    lines.append("file.close()")
    program = "\n".join(lines)
    if CRASH in statements:
        subprocess.run([sys.executable, "-c", program], check=False)  # noqa: S603  this very Python
    else:
        exec(program)  # noqa: S102  what stands here


def check_refused(path: Path) -> None:
    """No cache can be there, and nothing in the folder changes."""
    before = bytes_in(path.parent)
    for _ in range(2):
        with pytest.raises(ModelError, match=r"bad_cache: .* cannot be used as a cache"):
            CachedModel(NamedModel(GOOD), path)
        assert bytes_in(path.parent) == before


def bytes_in(folder: Path) -> dict[str, tuple[bytes, int]]:
    """What is in a folder, and its mode, without the indexes of logs, which hold no data."""
    files = [path for path in folder.iterdir() if path.is_file() and path.suffix != ".db-shm"]
    return {path.name: (path.read_bytes(), path.stat().st_mode) for path in files}


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"x", id="one byte"),
        pytest.param(b"{}\n" * 2000, id="lines of JSON"),
        pytest.param(b"SQLite format 3\0", id="the beginning of a database"),
        pytest.param(b"SQLite format 3\0" + b"\xff" * 5000, id="a database's beginning before other bytes"),
    ],
)
def test_a_file_that_is_no_database_is_refused_and_unchanged(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    check_refused(path)


@pytest.mark.parametrize("name", ["missing/folder.db", "folder", "link to folder"])
def test_a_place_without_a_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link to folder").symlink_to("folder")
    with pytest.raises(ModelError, match=r"bad_cache: .* cannot be used as a cache"):
        CachedModel(NamedModel(GOOD), tmp_path / name)
    assert not bytes_in(tmp_path)


WAL, USERS = "PRAGMA journal_mode = WAL", "CREATE TABLE users (name)"
KEPT = "INSERT INTO replies VALUES ('k', 'r')"
LONG_INSERT = "for _ in range(99): file.execute('INSERT INTO users VALUES (randomblob(3000))')"


@pytest.mark.parametrize(
    "statements",
    [
        pytest.param(
            ["CREATE TABLE replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)"], id="a table much like ours"
        ),
        pytest.param([OURS, "PRAGMA application_id = 77"], id="an application's number"),
        pytest.param([OURS, "PRAGMA user_version = 1"], id="a version"),
        pytest.param([WAL, OURS, USERS, CRASH], id="another table in a log that a crash left"),
        pytest.param([USERS, "PRAGMA cache_size = 1", "BEGIN", LONG_INSERT, CRASH], id="half a transaction"),
    ],
)
def test_the_database_of_another_application_is_refused_and_unchanged(
    path: Path, statements: list[str]
) -> None:
    make_database(path, *statements)
    check_refused(path)


@pytest.mark.parametrize(
    "statements",
    [
        pytest.param([], id="empty file"),
        pytest.param([OURS], id="cache without an entry"),
        pytest.param([WAL], id="empty database with a log"),
        pytest.param([WAL, OURS, KEPT, CRASH], id="entry in a log that a crash left"),
        pytest.param([OURS, KEPT, "VACUUM"], id="entry in a compacted cache"),
        pytest.param(
            [OURS, "BEGIN", "INSERT INTO replies VALUES ('lost', 'r')", CRASH],
            id="crash before the first entry was written",
        ),
    ],
)
def test_a_cache_and_an_empty_file_are_taken_and_keep_their_mode(path: Path, statements: list[str]) -> None:
    make_database(path, *statements)
    for file in path.parent.iterdir():
        file.chmod(0o640)
    model = NamedModel(GOOD)
    with closing(CachedModel(model, path)) as cached:
        for _ in range(2):
            assert load_one("groundedness", model=cached).judge(ROW).score == 1.0
        assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o640}
    assert (len(model.asked), len(entries(path))) == (1, (KEPT in statements) + 1)


@pytest.mark.parametrize("name", ["new.db", "link", ":memory:", "a?mode=ro#b%20c.db"])
def test_a_new_cache_is_for_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("link").symlink_to("target.db")
    before = os.umask(0)
    try:
        with closing(CachedModel(NamedModel(GOOD), name)) as cached:
            assert load_one("groundedness", model=cached).judge(ROW).score == 1.0
            files = [file for file in Path().iterdir() if not file.is_symlink()]
            assert len(files) == 3
            assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    finally:
        os.umask(before)
    assert len(entries(Path(name).resolve())) == 1


def test_locked_file_is_logged_and_the_model_is_asked(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("groundjudge.models.cached.PATIENCE", 0.05)
    judge = judge_on(NamedModel(GOOD), path)
    with closing(sqlite3.connect(path)) as other, caplog.at_level(logging.WARNING, "groundjudge"):
        other.execute("BEGIN IMMEDIATE")
        assert judge.judge(ROW).score == 1.0
    assert "cannot be used: database is locked" in caplog.text


def test_threads_share_a_cached_model(path: Path) -> None:
    judge = judge_on(NamedModel(GOOD), path)
    verdicts: list[Verdict] = []

    def work(n: int) -> None:
        verdicts.extend(run(judge, [{**ROW, "response": f"At {k}."} for k in range(n, n + 20)]))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(0, 40, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(verdicts) == 80
    assert len(entries(path)) == 50


# Several processes at once

WRITER = """
import json, random, sys
from groundjudge import Reply, load
from groundjudge.models.cached import CachedModel
from scripted_model import NamedModel

path, seed, reply, row = sys.argv[1:]
chance = random.Random(int(seed))
judge = load("groundedness", model=CachedModel(NamedModel(Reply(reply)), path))
while True:
    number = chance.randrange(1000)
    print(number, judge.judge({**json.loads(row), "response": f"At {number}."}).score, flush=True)
"""


def start_writer(path: Path, seed: int) -> subprocess.Popen[bytes]:
    with path.with_name(f"{seed}.log").open("ab") as out:
        return subprocess.Popen(  # noqa: S603  this very Python
            [sys.executable, "-c", WRITER, str(path), str(seed), GOOD.text, json.dumps(ROW)],
            stdout=out,
            cwd=Path(__file__).parents[1],
        )


def received_numbers(folder: Path) -> set[int]:
    """The numbers of the replies that the writers have received."""
    numbers: set[int] = set()
    for log in folder.glob("*.log"):
        for line in log.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):
                number, score = line.split()
                assert score == b"1.0"
                numbers.add(int(number))
    return numbers


@pytest.mark.soak
def test_processes_share_a_file_and_lose_no_reply_when_one_is_killed(path: Path) -> None:
    writers = [start_writer(path, seed) for seed in range(3)]
    try:
        for seed in range(100, 105):
            victim, end = start_writer(path, seed), time.monotonic() + 30
            while not path.with_name(f"{seed}.log").stat().st_size and time.monotonic() < end:
                time.sleep(0.02)
            time.sleep(seed % 100 / 20)
            victim.send_signal(signal.SIGKILL)
            victim.wait()
        while len(received_numbers(path.parent)) <= 100:
            assert [process.poll() for process in writers] == [None] * 3
            time.sleep(0.02)
    finally:
        alive = [process.poll() is None for process in writers]
        for process in writers:
            process.kill()
            process.wait()
    assert all(alive)
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    numbers = received_numbers(path.parent)
    model = NamedModel("none")
    judge = judge_on(model, path, max_reasks=0)
    assert {judge.judge({**ROW, "response": f"At {number}."}).score for number in numbers} == {1.0}
    assert model.asked == []
