"""CachedModel stores readable replies, finds them by the whole request, and never prevents a call."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from any_options import load_one
from command_line import ROW, Invoke, verdicts_in
from scripted_model import NamedModel
from standin_openai import StandIn, Text

from groundjudge import ModelError, Reply, ReplyError, Usage, Verdict, as_judge, load, load_rubric, run
from groundjudge.models.cached import CachedModel
from groundjudge.models.openai import OpenAIModel
from groundjudge.types import Judge, Request

GOOD = Reply(
    "<S0>t</S0><S1>größer</S1><S2>5</S2>", "stop", Usage(prompt_tokens=9, completion_tokens=3), "m-2024"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache.db"


def judge_on(model: NamedModel, path: Path, **options: Any) -> Judge:
    return load_one("groundedness", model=CachedModel(model, path), **options)


@pytest.mark.parametrize("asked_async", [False, True])
def test_repeated_request_makes_no_call(path: Path, asked_async: bool) -> None:  # noqa: FBT001
    model = NamedModel(GOOD, "none")
    judge = judge_on(model, path)
    found = list(run(judge, [ROW, ROW], concurrency=1)) if asked_async else [judge.judge(ROW) for _ in "12"]
    first, second = found
    assert len(model.asked) == 1
    assert (first.usage, second.usage) == (GOOD.usage, Usage())
    same = ("score", "reason", "reply", "model", "status", "attempts")
    assert [getattr(first, name) for name in same] == [getattr(second, name) for name in same]


OTHER_ROW = {**ROW, "response": "It sails at ten."}


@pytest.mark.parametrize(
    ("judge", "name", "repeat", "parameters", "row"),
    [
        pytest.param("groundedness", "scripted", 0, {}, OTHER_ROW, id="case"),
        pytest.param("groundedness", "scripted", 0, {"temperature": 1}, ROW, id="parameter"),
        pytest.param("groundedness", "scripted", 0, {"seed": 1}, ROW, id="additional parameter"),
        pytest.param("groundedness", "another", 0, {}, ROW, id="model"),
        pytest.param("groundedness", "scripted", 1, {}, ROW, id="repeat"),
        pytest.param("statement_groundedness", "scripted", 0, {}, ROW, id="judge"),
    ],
)
def test_different_request_makes_a_call(  # noqa: PLR0913, PLR0917  a row of the table
    path: Path, judge: str, name: str, repeat: int, parameters: dict[str, Any], row: dict[str, Any]
) -> None:
    judge_on(NamedModel(GOOD), path).judge(ROW)
    model = NamedModel(ModelError("server", "asked"))
    model.name = name
    with pytest.raises(ModelError, match="asked"):
        load(judge, model=CachedModel(model, path, repeat=repeat), parameters=parameters).judge(row)
    assert len(model.asked) == 1


def test_other_endpoint_has_its_own_replies(path: Path) -> None:
    with StandIn([Text(GOOD.text)]) as one, StandIn([Text(GOOD.text)]) as two:
        for server, asked in ((one, 1), (two, 1), (one, 1)):
            model = CachedModel(OpenAIModel("m", base_url=server.url), path)
            load("groundedness", model=model).judge(ROW)
            assert len(server.requests) == asked


def test_case_id_and_threshold_are_not_part_of_the_key(path: Path) -> None:
    judge = judge_on(NamedModel(GOOD, "none"), path)
    judge.judge({**ROW, "id": "1"})
    assert judge_on(NamedModel("none"), path, threshold=0.9).judge({**ROW, "id": "2"}).case_id == "2"


@pytest.mark.parametrize(
    "bad",
    [
        *(Reply("no verdict"), Reply("<S1>cut", "length"), Reply("", refusal="No."), Reply("<S2>9</S2>")),
        ModelError("timeout", "late"),
    ],
)
def test_unreadable_reply_and_error_are_not_stored(path: Path, bad: Reply | ModelError) -> None:
    for _ in range(2):
        model = NamedModel(bad)
        with pytest.raises((ReplyError, ModelError)):
            judge_on(model, path, max_reasks=0).judge(ROW)
        assert model.asked


@pytest.mark.parametrize(("first", "calls"), [(GOOD, 1), (Reply("no verdict"), 5)])
async def test_equal_requests_in_flight_wait_for_the_first_reply(
    path: Path, first: Reply, calls: int
) -> None:
    """All others are sent at once if the first reply cannot be read."""
    asked: list[Request] = []
    answered = asyncio.Barrier(4)

    async def answer(request: Request) -> Reply:
        asked.append(request)
        if len(asked) == 1:
            await asyncio.sleep(0.01)
            return first
        async with asyncio.timeout(10):
            await answered.wait()
        return GOOD

    vars(answer)["identity"] = "answers that are counted"
    judge: Judge = load_one("groundedness", model=CachedModel(answer, path), max_reasks=0)
    verdicts = await asyncio.gather(*(judge.aevaluate(ROW) for _ in range(5)))
    assert [verdict.score for verdict in verdicts][1:] == [1.0] * 4
    assert len(asked) == calls


def test_stored_reply_that_the_rubric_cannot_read_makes_a_call(path: Path) -> None:
    judge_on(NamedModel(GOOD), path).judge(ROW)
    stricter = as_judge(
        judge_on(NamedModel("<S2>1</S2>"), path),
        scale=load_rubric("confidence_grounding").scale,
        levels={},
        not_applicable=(),
    )
    assert stricter.judge(ROW).value == 1


def entries(path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as file:
        return file.execute("SELECT key, reply FROM replies").fetchall()


def test_file_contains_the_reply_as_json(path: Path) -> None:
    judge_on(NamedModel(GOOD), path).judge(ROW)
    ((_, text),) = entries(path)
    assert "größer" in text
    assert json.loads(text) == {
        "text": GOOD.text,
        "finish_reason": "stop",
        "model": "m-2024",
        "refusal": None,
        "tokens": None,
    }


def entry_with_share(share: str) -> str:
    """An entry whose token has such a probability."""
    tokens = f'[{{"text": "YQ==", "candidates": [["YQ==", {share}]]}}]'
    rest = '"finish_reason": null, "model": null, "refusal": null'
    return f'{{"text": "<S2>1</S2>", {rest}, "tokens": {tokens}}}'


@pytest.mark.parametrize(
    "entry",
    [
        *("", "{", "[]", "null", '{"text": 1}', '{"text": "<S2>5</S2>"}', b"\xff", "[" * 100_000),
        *(entry_with_share(share) for share in ("9" * 400, "1e999", "NaN", "Infinity", "-1", "1.5", '"0.5"')),
    ],
)
def test_corrupt_entry_makes_a_call_and_is_replaced(path: Path, entry: str | bytes) -> None:
    judge_on(NamedModel(GOOD), path).judge(ROW)
    with closing(sqlite3.connect(path)) as file:
        file.execute("UPDATE replies SET reply = ?", [entry])
        file.commit()
    model = NamedModel(GOOD)
    assert judge_on(model, path).judge(ROW).score == 1.0
    assert len(model.asked) == 1
    assert json.loads(entries(path)[0][1])["text"] == GOOD.text


OURS = "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL) WITHOUT ROWID"
"""What makes a cache, and has to go on making one: people keep these files."""

CRASH = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"


def make_database(path: Path, *statements: str) -> None:
    """Make a database; Python code among the statements is run as it is, with `file`."""
    lines = [
        f"file.execute({each!r})" if each.split()[0].isupper() and "\n" not in each else each
        for each in statements
    ]
    program = "\n".join(
        [
            "import sqlite3",
            f"file = sqlite3.connect({str(path)!r}, isolation_level=None)",
            *lines,
            "file.close()",
        ]
    )
    subprocess.run([sys.executable, "-c", program], check=CRASH not in statements)  # noqa: S603  this very Python


def bytes_in(folder: Path) -> dict[str, bytes]:
    """What is in a folder, without the indexes of logs, which hold no data."""
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.is_file() and path.suffix != ".db-shm"
    }


@pytest.mark.parametrize(
    "content",
    [
        b"not a database at all, but long enough to be taken for one",
        b"x",
        b"\n",
        b"{}\n" * 2000,
        b"SQLite format 3\0",
        b"SQLite format 3\0" + b"\xff" * 5000,
    ],
)
def test_a_file_that_is_no_database_is_refused_and_unchanged(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.db"
    path.write_bytes(content)
    with pytest.raises(ModelError, match="cannot be used as a cache") as caught:
        CachedModel(NamedModel(GOOD), path)
    assert caught.value.code == "bad_cache"
    assert bytes_in(tmp_path) == {"notes.db": content}


@pytest.mark.parametrize("name", ["missing/folder.db", "folder", "link to folder"])
def test_a_place_without_a_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link to folder").symlink_to("folder")
    with pytest.raises(ModelError, match="cannot be used as a cache") as caught:
        CachedModel(NamedModel(GOOD), tmp_path / name)
    assert caught.value.code == "bad_cache"
    assert not bytes_in(tmp_path)


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE users (name)"],
        [
            "CREATE TABLE users (name)",
            "INSERT INTO users VALUES ('a')",
            "DROP TABLE users",
            "PRAGMA user_version = 3",
        ],
        [OURS, "CREATE TABLE users (name)"],
        [OURS, "CREATE VIEW answers AS SELECT reply FROM replies"],
        [OURS, "CREATE INDEX by_reply ON replies (reply)"],
        ["CREATE TABLE replies (id INTEGER PRIMARY KEY, thread TEXT, body TEXT)"],
        ["CREATE TABLE replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)"],
        ["PRAGMA application_id = 77"],
        [OURS, "PRAGMA application_id = 77"],
        [OURS, "PRAGMA user_version = 1"],
        ["PRAGMA journal_mode = WAL", "CREATE TABLE users (name)"],
        ["PRAGMA journal_mode = WAL", "CREATE TABLE users (name)", CRASH],
        ["PRAGMA journal_mode = WAL", OURS, "CREATE TABLE users (name)", CRASH],
        [
            *("CREATE TABLE users (name)", "PRAGMA cache_size = 1", "BEGIN"),
            "for _ in range(99): file.execute('INSERT INTO users VALUES (randomblob(3000))')",
            CRASH,
        ],
    ],
)
def test_the_database_of_another_application_is_refused_and_unchanged(
    path: Path, statements: list[str]
) -> None:
    make_database(path, *statements)
    before, mode = bytes_in(path.parent), path.stat().st_mode
    for _ in range(2):
        with pytest.raises(ModelError, match="cannot be used as a cache") as caught:
            CachedModel(NamedModel(GOOD), path)
        assert caught.value.code == "bad_cache"
        assert (bytes_in(path.parent), path.stat().st_mode) == (before, mode)


@pytest.mark.parametrize(
    "statements",
    [
        [],
        [OURS],
        ["PRAGMA journal_mode = WAL"],
        ["PRAGMA journal_mode = WAL", CRASH],
        ["PRAGMA journal_mode = WAL", OURS],
        ["PRAGMA journal_mode = WAL", OURS, CRASH],
        ["PRAGMA journal_mode = WAL", OURS, "INSERT INTO replies VALUES ('k', 'r')", CRASH],
        [OURS, "INSERT INTO replies VALUES ('k', 'r')", "VACUUM"],
        ["BEGIN", OURS, CRASH],
        [OURS, "BEGIN", "INSERT INTO replies VALUES ('lost', 'r')", CRASH],
    ],
)
@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_a_cache_and_an_empty_file_are_taken_and_keep_their_mode(
    path: Path, statements: list[str], mode: int
) -> None:
    make_database(path, *statements)
    for file in path.parent.iterdir():
        file.chmod(mode)
    n_before = "INSERT INTO replies VALUES ('k', 'r')" in statements
    with closing(CachedModel(model := NamedModel(GOOD), path)) as cached:
        for _ in "12":
            assert load_one("groundedness", model=cached).judge(ROW).score == 1.0
        beside = [file for file in path.parent.iterdir() if file != path]
        assert {file.stat().st_mode & 0o777 for file in beside} == {mode}
    assert (len(model.asked), len(entries(path))) == (1, n_before + 1)
    assert path.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("name", ["new.db", "link", ":memory:", "a?mode=ro#b%20c.db"])
@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_a_new_cache_is_for_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, umask: int
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("link").symlink_to("target.db")
    before = os.umask(umask)
    try:
        with closing(CachedModel(NamedModel(GOOD), name)) as cached:
            assert load_one("groundedness", model=cached).judge(ROW).score == 1.0
            made = [file for file in Path().iterdir() if not file.is_symlink()]
            assert len(made) == 3
            assert {file.stat().st_mode & 0o777 for file in made} == {0o600}
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
    found: list[Verdict] = []

    def work(n: int) -> None:
        found.extend(run(judge, [{**ROW, "response": f"At {k}."} for k in range(n, n + 20)]))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(0, 40, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    assert len(entries(path)) == 50


def test_run_command_with_cache_makes_no_repeated_calls(
    invoke: Invoke, file_of: Callable[..., Path], path: Path
) -> None:
    options = ["--judge", "groundedness", "--model", "m", "--concurrency", "1", "--cache", path]
    model = NamedModel(GOOD)
    cases = file_of(*({**ROW, "response": f"At {k}."} for k in range(4)))
    first = invoke("run", cases, *options, model=model)
    again = invoke("run", cases, *options, "--max-calls", "1", model=model)
    assert (first.exit_code, again.exit_code, len(model.asked)) == (0, 0, 4)
    assert [v.usage for v in verdicts_in(again.stdout)] == [Usage()] * 4
    assert again.stderr.splitlines()[-1] == "tokens: 0 prompt, 0 completion, 0 a verdict"


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


def writer(path: Path, seed: int, log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as out:
        return subprocess.Popen(  # noqa: S603  this very Python
            [sys.executable, "-c", WRITER, str(path), str(seed), GOOD.text, json.dumps(ROW)],
            stdout=out,
            cwd=Path(__file__).parents[1],
        )


def acknowledged(logs: Iterable[Path]) -> set[int]:
    """The numbers of the replies that the writers have received."""
    lines = [line for log in logs for line in log.read_bytes().splitlines(keepends=True)]
    received = [line.split() for line in lines if line.endswith(b"\n")]
    assert {score for _, score in received} <= {b"1.0"}
    return {int(number) for number, _ in received}


@pytest.mark.soak
@pytest.mark.parametrize("kills", [1, 5])
def test_processes_share_a_file_and_lose_no_reply_when_one_is_killed(
    path: Path, tmp_path: Path, kills: int
) -> None:
    chance = random.Random(5)  # noqa: S311  not a secret
    writers = [writer(path, seed, tmp_path / f"{seed}.log") for seed in range(3)]
    try:
        for kill in range(kills):
            victim = writer(path, 100 + kill, log := tmp_path / f"{100 + kill}.log")
            end = time.monotonic() + 30
            while not log.stat().st_size and time.monotonic() < end:
                time.sleep(0.02)
            time.sleep(chance.random() / 5)
            victim.send_signal(signal.SIGKILL)
            victim.wait()
        while len(acknowledged(tmp_path.glob("*.log"))) <= 100:
            assert [process.poll() for process in writers] == [None] * 3
            time.sleep(0.02)
    finally:
        for process in writers:
            alive = process.poll() is None
            process.kill()
            process.wait()
            assert alive
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    numbers = acknowledged(tmp_path.glob("*.log"))
    assert len(numbers) > 100
    model = NamedModel("none")
    judge = judge_on(model, path, max_reasks=0)
    assert {judge.judge({**ROW, "response": f"At {number}."}).score for number in numbers} == {1.0}
    assert model.asked == []
