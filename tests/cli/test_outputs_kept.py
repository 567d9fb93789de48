"""No command replaces a file of data unless it is told to, and what it writes is for its owner alone."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import GOOD, ROW, Invoke
from make_verdicts import verdict
from scripted_model import NamedModel, ScriptedModel
from verdict_files import write_rows, write_verdicts

from groundjudge import Reply
from groundjudge.types import Request

JUDGED = ("--judge", "groundedness", "--model", "offline")
PROBE = ("probe", *JUDGED, "--cases", "p.jsonl")
LABEL = ("label", "c.jsonl", "v.jsonl", "--n", "20", "--out", "page.html")

DATA = {
    # a command, and the file of data that it writes
    "run": (("run", "c.jsonl", *JUDGED, "--out", "FILE"), "out.jsonl"),
    "run to a table": (("run", "c.jsonl", *JUDGED, "--out", "FILE"), "out.parquet"),
    "card": ((*PROBE, "--card", "FILE"), "card.json"),
    "requests": (("batch", "write", "c.jsonl", *JUDGED[:2], "--model", "m", "--out", "FILE"), "r.jsonl"),
    "sample": (LABEL, "page.sample.json"),
}

PAGES = {
    # a command, and the page that it writes
    "report": (("report", "v.jsonl", "--cases", "c.jsonl", "--out", "FILE"), "report.html"),
    "label": (LABEL, "page.html"),
    "second person": ((*LABEL, "--double", "5"), "page.2.html"),
}


@pytest.fixture
def umask() -> Iterator[None]:
    """New files are open to everybody unless the program sees to it."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def files(command: Invoke) -> None:  # noqa: ARG001  in the folder of the command
    """The files that the commands read: cases with labels, cases of a probe, and verdicts."""
    rows = [{**ROW, "id": n, "label": n % 2} for n in range(40)]
    write_rows("c.jsonl", rows)
    write_rows(
        "p.jsonl", [{**rows[0], "expect": "pass"}, {**rows[1], "response": "At 10.", "expect": "fail"}]
    )
    write_verdicts("v.jsonl", [verdict(str(n), float(n % 4 > 0), judge="groundedness") for n in range(40)])


def call(command: Invoke, arguments: tuple[str, ...], name: str, *more: str) -> tuple[int, str]:
    words = [name if word == "FILE" else word for word in arguments]
    result = command(*words, *more)
    return result.exit_code, result.stderr


def contents() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path().iterdir()}


def mode_of(path: str | Path) -> int:
    return stat.S_IMODE(Path(path).stat().st_mode)


def open_to_others() -> set[str]:
    """Files and folders that others than their owner may use."""
    return {str(path) for path in Path().rglob("*") if mode_of(path) & 0o077}


@pytest.mark.usefixtures("umask", "files")
@pytest.mark.parametrize(("arguments", "name"), DATA.values(), ids=DATA)
def test_data_is_for_its_owner_alone_and_replaced_only_with_overwrite(
    command: Invoke, arguments: tuple[str, ...], name: str
) -> None:
    """A link stays one, and a file has the mode that it had."""
    open_before = open_to_others()
    assert call(command, arguments, name)[0] == 0
    assert open_to_others() == open_before
    Path(name).rename("target").write_bytes(b"mine")
    Path(name).symlink_to("target")
    Path("target").chmod(0o640)
    Path(f"{name}.jsonl").unlink(missing_ok=True)  # the lines of a table
    before = contents()
    status, message = call(command, arguments, name)
    assert (status, contents()) == (2, before)
    for text in (name, " already exists", "--overwrite"):
        assert text in message
    assert call(command, arguments, name, "--overwrite")[0] == 0
    assert Path("target").read_bytes() not in {b"mine", b""}
    assert (Path(name).is_symlink(), mode_of("target")) == (True, 0o640)
    assert open_to_others() == {*open_before, name, "target"}


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("row", ["run", "requests"])
def test_an_empty_file_is_no_data(command: Invoke, row: str) -> None:
    arguments, name = DATA[row]
    Path(name).touch()
    assert call(command, arguments, name)[0] == 0
    assert Path(name).stat().st_size > 0


@pytest.mark.usefixtures("files")
def test_a_card_is_refused_before_anything_is_asked(command: Invoke) -> None:
    Path("card.json").write_text("{}")
    model = ScriptedModel(GOOD)
    line = "probe --judge groundedness --model m --cases p.jsonl --card card.json"
    result = command(*line.split(), model=model)
    assert (result.exit_code, model.asked) == (2, [])


@pytest.mark.usefixtures("umask", "files")
@pytest.mark.parametrize(("arguments", "name"), PAGES.values(), ids=PAGES)
def test_a_page_takes_the_place_of_a_page_and_of_nothing_else(
    command: Invoke, arguments: tuple[str, ...], name: str
) -> None:
    """A page of a draw is written with its sample, which is data."""
    again = ["--overwrite"] if "label" in arguments else []
    open_before = open_to_others()
    assert call(command, arguments, name)[0] == 0
    assert open_to_others() == open_before
    page = contents()[name]
    Path(name).chmod(0o640)
    assert call(command, arguments, name, *again)[0] == 0
    assert (contents()[name], mode_of(name)) == (page, 0o640)
    assert open_to_others() == {*open_before, name}
    for path in Path().glob("page.*"):
        path.unlink()
    Path(name).write_bytes(b"mine")
    before = contents()
    status, message = call(command, arguments, name)
    assert (status, contents()) == (2, before)
    assert f"{name} already exists, and it is not a groundjudge page: choose another file" in message


@pytest.mark.usefixtures("files")
def test_a_page_is_known_by_how_it_begins_and_ends(command: Invoke) -> None:
    """A page of another kind is one too."""
    arguments, name = PAGES["report"]
    assert call(command, arguments, name)[0] == 0
    page = Path(name).read_bytes()
    Path(name).write_bytes(page.replace(b"<title>", b"<title>of another kind: "))
    assert call(command, arguments, name)[0] == 0
    for another in (b"<!doctype html><title>groundjudge</title>", b" " * 5000 + page, page[:100]):
        Path(name).write_bytes(another)
        assert call(command, arguments, name)[0] == 2
        assert Path(name).read_bytes() == another


@pytest.mark.usefixtures("umask", "files")
def test_a_continued_file_keeps_its_mode(command: Invoke) -> None:
    run = ("run", "c.jsonl", *JUDGED, "--limit", "2", "--out", "v.jsonl")
    assert command(*run, "--overwrite").exit_code == 0
    Path("v.jsonl").chmod(0o640)
    lines = Path("v.jsonl").read_bytes()
    with Path("v.jsonl").open("ab") as file:
        file.write(b'{"half')
    assert command(*run, "--resume").exit_code == 0
    assert mode_of("v.jsonl") == 0o640
    assert Path("v.jsonl").read_bytes() == lines


@pytest.mark.usefixtures("umask", "files")
def test_a_cache_is_for_its_owner_alone_while_it_is_used_too(command: Invoke) -> None:
    files: list[set[str]] = []

    class Looking(NamedModel):
        async def acomplete(self, request: Request) -> Reply:
            files.append({path.name for path in Path().glob("c.db*")} | open_to_others())  # noqa: ASYNC240
            return await super().acomplete(request)

    open_before = open_to_others()
    run = ("run", "c.jsonl", "--judge", "groundedness", "--model", "m", "--limit", "1", "--cache", "c.db")
    assert command(*run, "--out", "o.jsonl", model=Looking(GOOD)).exit_code == 0
    assert files == [{"c.db", "c.db-wal", "c.db-shm", *open_before}]
