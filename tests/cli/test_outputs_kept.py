"""No command replaces a file of data unless it is told to, and what it writes is for its owner alone."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import GOOD, ROW, Invoke
from scripted_model import NamedModel, ScriptedModel
from verdict_files import write_rows

from groundjudge import Reply
from groundjudge.types import Request

JUDGED = ("--judge", "groundedness", "--model", "offline")
PROBE = ("probe", *JUDGED, "--cases", "p.jsonl")
LABEL = ("label", "c.jsonl", "v.jsonl", "--n", "20", "--out", "page.html")

DATA = {
    # a command, and the file of data that it writes
    "run": (("run", "c.jsonl", *JUDGED, "--out", "FILE"), "out.jsonl"),
    "run to a table": (("run", "c.jsonl", *JUDGED, "--out", "FILE"), "out.parquet"),
    "probe": ((*PROBE, "--out", "FILE"), "out.jsonl"),
    "card": ((*PROBE, "--card", "FILE"), "card.json"),
    "requests": (("batch", "write", "c.jsonl", *JUDGED[:2], "--model", "m", "--out", "FILE"), "r.jsonl"),
    "thresholds": (("calibrate", "v.jsonl", "--labels", "c.jsonl", "--out", "FILE"), "t.json"),
    "sample": (LABEL, "page.sample.json"),
}
data = pytest.mark.parametrize(("arguments", "name"), DATA.values(), ids=DATA)

PAGES = {
    # a command, and the page that it writes
    "report": (("report", "v.jsonl", "--cases", "c.jsonl", "--out", "FILE"), "report.html"),
    "label": (LABEL, "page.html"),
    "second person": ((*LABEL, "--double", "5"), "page.2.html"),
}
pages = pytest.mark.parametrize(("arguments", "name"), PAGES.values(), ids=PAGES)


@pytest.fixture
def umask() -> Iterator[None]:
    """New files are open to everybody unless the program sees to it."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def files(command: Invoke) -> None:
    """The files that the commands read: cases with labels, cases of a probe, and verdicts."""
    responses = [*["At 9."] * 10, *["At 10."] * 10]
    rows = [{**ROW, "id": n, "label": n % 2, "response": text} for n, text in enumerate(responses * 2)]
    write_rows("c.jsonl", rows)
    write_rows("p.jsonl", [{**rows[0], "expect": "pass"}, {**rows[10], "expect": "fail"}])
    assert command("run", "c.jsonl", *JUDGED, "--out", "v.jsonl").exit_code == 0


def call(command: Invoke, arguments: tuple[str, ...], name: str, *more: str) -> tuple[int, str]:
    result = command(*(name if each == "FILE" else each for each in arguments), *more)
    return result.exit_code, result.stderr


def contents() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path().iterdir()}


def open_to_others() -> set[str]:
    """Files and folders that others than their owner may use."""
    return {str(path) for path in Path().rglob("*") if stat.S_IMODE(path.stat().st_mode) & 0o077}


@pytest.mark.usefixtures("files")
@data
@pytest.mark.parametrize("kind", ["file", pytest.param("link", marks=pytest.mark.soak)])
def test_data_is_replaced_only_with_overwrite(
    command: Invoke, arguments: tuple[str, ...], name: str, kind: str
) -> None:
    Path("mine").write_bytes(b"mine")
    if kind == "file":
        Path("mine").rename(name)
    else:
        Path(name).symlink_to("mine")
    before = contents()
    status, message = call(command, arguments, name)
    assert (status, contents()) == (2, before)
    assert f"{name} already exists" in message
    assert "--overwrite" in message
    assert call(command, arguments, name, "--overwrite")[0] == 0
    assert contents().keys() >= before.keys()
    assert contents()[name] != b"mine"
    assert Path(name).is_symlink() is (kind == "link")
    if Path("mine").exists():
        assert contents()["mine"] == contents()[name]


@pytest.mark.usefixtures("files")
@data
def test_what_was_written_before_is_data_and_an_empty_file_is_not(
    command: Invoke, arguments: tuple[str, ...], name: str
) -> None:
    Path(name).touch()
    assert call(command, arguments, name)[0] == 0
    before = contents()
    assert before[name]
    assert call(command, arguments, name)[0] == 2
    assert contents() == before


@pytest.mark.usefixtures("files")
@pages
def test_a_page_takes_the_place_of_a_page_and_of_nothing_else(
    command: Invoke, arguments: tuple[str, ...], name: str
) -> None:
    """A page of a draw is written with its sample, which is data."""
    again = ("--overwrite",) if "label" in arguments else ()
    assert call(command, arguments, name)[0] == 0
    page = contents()[name]
    assert call(command, arguments, name, *again)[0] == 0
    assert contents()[name] == page
    for others in (b"<!doctype html><title>groundjudge</title>", b"mine", b" " * 5000 + page, page[:100]):
        for path in Path().glob("page.*"):
            path.unlink()
        Path(name).write_bytes(others)
        before = contents()
        status, message = call(command, arguments, name)
        assert (status, contents()) == (2, before)
        assert f"{name} already exists, and it is not a page of groundjudge: choose another file" in message


@pytest.mark.usefixtures("files")
def test_a_page_of_another_kind_can_be_replaced(command: Invoke) -> None:
    assert command(*LABEL).exit_code == 0
    assert command("report", "v.jsonl", "-o", "page.html").exit_code == 0
    Path("page.sample.json").unlink()
    assert command(*LABEL).exit_code == 0


@pytest.mark.usefixtures("umask", "files")
@pytest.mark.parametrize(("arguments", "name"), [*DATA.values(), *PAGES.values()], ids=[*DATA, *PAGES])
def test_what_a_command_writes_is_for_its_owner_alone_and_then_as_it_was(
    command: Invoke, arguments: tuple[str, ...], name: str
) -> None:
    others = open_to_others()
    assert call(command, arguments, name)[0] == 0
    assert open_to_others() == others
    Path(name).chmod(0o640)
    again = () if arguments[0] == "report" else ("--overwrite",)
    assert call(command, arguments, name, *again)[0] == 0
    assert stat.S_IMODE(Path(name).stat().st_mode) == 0o640
    assert open_to_others() == {*others, name}


@pytest.mark.usefixtures("umask", "files")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_continued_file_keeps_its_mode(command: Invoke, mode: int) -> None:
    Path("v.jsonl").chmod(mode)
    before = Path("v.jsonl").stat()
    lines = Path("v.jsonl").read_bytes()
    with Path("v.jsonl").open("ab") as file:
        file.write(b'{"half')
    assert command("run", "c.jsonl", *JUDGED, "--out", "v.jsonl", "--resume").exit_code == 0
    after = Path("v.jsonl").stat()
    assert (stat.S_IMODE(after.st_mode), after.st_gid) == (mode, before.st_gid)
    assert Path("v.jsonl").read_bytes() == lines


@pytest.mark.usefixtures("umask", "files")
def test_a_cache_is_for_its_owner_alone_while_it_is_used_too(command: Invoke) -> None:
    seen: list[set[str]] = []

    class Looking(NamedModel):
        async def acomplete(self, request: Request) -> Reply:
            look()
            return await super().acomplete(request)

    def look() -> None:
        seen.append({path.name for path in Path().glob("c.db*")} | open_to_others())

    others = open_to_others()
    run = ("run", "c.jsonl", "--judge", "groundedness", "--model", "m", "--limit", "1", "--cache", "c.db")
    assert command(*run, "--out", "o.jsonl", model=Looking(GOOD)).exit_code == 0
    assert seen == [{"c.db", "c.db-wal", "c.db-shm", *others}]


def test_a_card_is_refused_before_anything_is_asked(command: Invoke, files: None) -> None:  # noqa: ARG001
    Path("card.json").write_text(json.dumps({}))
    model = ScriptedModel(GOOD)
    asked = ("probe", "--judge", "groundedness", "--model", "m", "--cases", "p.jsonl", "--card", "card.json")
    assert command(*asked, model=model).exit_code == 2
    assert model.asked == []
