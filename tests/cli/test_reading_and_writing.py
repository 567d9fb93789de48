"""The options that commands share: how rows are read, and where results go."""

from __future__ import annotations

import json
import resource
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_line import GOOD, ROW, FileOf, Invoke, several_on_a_terminal, verdicts_in
from make_verdicts import verdict
from scripted_model import ScriptedModel
from verdict_files import write_rows, write_verdicts

RUN = ("--judge", "groundedness", "--model", "offline")
RESPONSE = "Die Fähre fährt um neun."
"""What has other bytes in every encoding."""

LONG = " " * 200_000
"""Longer than Python lets a cell be by itself."""


def text_of(rows: list[dict[str, str]], suffix: str) -> str:
    """Rows as the text of a file."""
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    if suffix == "jsonl":
        return "\n".join(lines)
    if suffix == "json":
        return f"[{','.join(lines)}]"
    separator = "\t" if suffix == "tsv" else ","
    text = separator.join(rows[0]) + "\n"
    for row in rows:
        text += separator.join(row.values()) + "\n"
    return text


@pytest.mark.soak
@pytest.mark.parametrize(
    ("suffix", "encoding"),
    [("jsonl", "cp1252"), ("json", "utf-16"), ("csv", "utf-16"), ("tsv", "utf-8-sig")],
)
def test_rows_are_read_from_files_and_stdin_in_the_encoding_that_is_named(
    command: Invoke, suffix: str, encoding: str
) -> None:
    rows = [{**ROW, "context": RESPONSE, "response": RESPONSE, "note": LONG}] * 3
    data = text_of(rows, suffix).encode(encoding)
    for name in (f"c.{suffix}", "c.txt"):
        Path(name).write_bytes(data)
    for name, options, n in ((f"c.{suffix}", (), 3), ("c.txt", ("--limit", "2"), 2), ("-", (), 3)):
        reading = [*options, "--encoding", encoding]
        if suffix not in name:
            reading += ["--format", suffix]
        result = command("run", name, *RUN, *reading, stdin=data)
        scores = [(verdict.case_id, verdict.score) for verdict in verdicts_in(result.stdout)]
        assert scores == [(f"row {place + 1}", 1.0) for place in range(n)], result.stderr
        estimate = command("estimate", name, *RUN[:2], *reading, stdin=data).stdout
        assert estimate.splitlines()[1].split()[:2] == ["groundedness", str(n)]


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_a_file_in_another_encoding_is_refused_before_a_row_is_judged(command: Invoke, suffix: str) -> None:
    # The first row can be read in all of them but UTF-16.
    rows, model = [ROW, {**ROW, "response": "Fähre"}], ScriptedModel(GOOD)
    for encoding in ("cp1252", "utf-16", "utf-16-le"):
        Path(f"c.{suffix}").write_bytes(text_of(rows, suffix).encode(encoding))
        result = command("run", f"c.{suffix}", "--judge", "groundedness", "--model", "m", model=model)
        assert (result.exit_code, result.stdout, len(model.asked)) == (2, "", 0), encoding
        # UTF-16-LE is UTF-8 as long as all letters are ASCII: it is refused as not JSON or CSV.
        assert encoding == "utf-16-le" or f"c.{suffix} is not in utf-8: " in result.stderr
        assert encoding == "utf-16-le" or "encoding with --encoding, such as cp1252" in result.stderr


@pytest.fixture
def files(command: Invoke) -> None:  # noqa: ARG001  in the folder of the command
    """Rows with labels, verdicts on them, rows for a probe, and a table in an encoding that is not UTF-8."""
    responses = [ROW["response"], "At 10."] * 6
    rows = [{**ROW, "id": str(n), "response": r, "label": str(n % 2)} for n, r in enumerate(responses)]
    probed = [{**row, "expect": expect} for row, expect in zip(rows[:2], ("pass", "fail"), strict=True)]
    write_rows("c.jsonl", rows)
    write_rows("p.jsonl", probed)
    Path("c.csv").write_bytes(text_of([*rows, {**rows[0], "id": "9", "query": "é"}], "csv").encode("cp1252"))
    write_verdicts("v.jsonl", [verdict(str(n), float(n % 2), judge="groundedness") for n in range(12)])


@pytest.mark.soak
@pytest.mark.usefixtures("files")
def test_every_command_checks_the_encoding_of_its_rows(command: Invoke) -> None:
    for line in (
        "run c.csv RUN",
        "estimate c.csv --judge groundedness",
        "show groundedness --cases c.csv",
        "probe RUN --cases c.csv",
        "report v.jsonl --cases c.csv",
        "report v.jsonl --labels c.csv",
        "agree v.jsonl --labels c.csv",
        "calibrate v.jsonl --labels c.csv",
        "compare v.jsonl v.jsonl --labels c.csv",
        "batch write c.csv RUN -o requests.jsonl",
        "batch submit c.csv RUN -o v2.jsonl",
    ):
        arguments = line.replace("RUN", " ".join(RUN)).split()
        result = command(*arguments)
        message = "c.csv is not in utf-8: invalid continuation byte on line 14; save it as UTF-8"
        assert (result.exit_code, message in result.stderr) == (2, True), line
        for name in ("klingon", "hex", "", "utf-8\0") if line.startswith("show") else ("klingon",):
            unknown = command(*arguments, "--encoding", name)
            assert (unknown.exit_code, "unknown encoding" in unknown.stderr) == (2, True), line
        assert "not in" not in command(*arguments, "--encoding", "cp1252").stderr


def test_a_byte_order_mark_says_that_a_file_is_utf_8(command: Invoke, invoke: Invoke) -> None:
    """One row from another program does not make the file's other rows, nor its header, cp1252."""
    data = b"\xef\xbb\xbfid,context,response\na,At 9.,At 9.\nb,At 9.,caf\xe9\n"
    Path("c.csv").write_bytes(data)
    as_utf8 = command("run", "c.csv", *RUN)
    assert as_utf8.exit_code == 2
    assert "on line 3; save it as UTF-8" in as_utf8.stderr
    as_cp1252 = command("run", "c.csv", *RUN, "--encoding", "cp1252")
    assert as_cp1252.exit_code == 2
    assert "c.csv is not in cp1252: it begins with the byte order mark of UTF-8" in as_cp1252.stderr
    from_pipe = invoke("run", "-", *RUN, "--format", "csv", stdin=data)
    assert "unreadable rows: 1" in from_pipe.stderr + from_pipe.stdout


def test_a_pipe_in_another_encoding_ends_the_run_with_one_line(command: Invoke) -> None:
    data = text_of([ROW], "csv").encode("utf-16")[:-1]
    result = command("run", "-", *RUN, "--format", "csv", "--encoding", "utf-16", stdin=data)
    assert result.exit_code in {1, 2}
    assert isinstance(result.exception, SystemExit)


@pytest.mark.usefixtures("files")
def test_a_limit_is_kept_to_and_a_run_without_it_continues_the_one_with_it(command: Invoke) -> None:
    command("run", "c.jsonl", *RUN, "-o", "o.jsonl", "--limit", "2")
    assert "2 verdicts reused, 10 new" in command("run", "c.jsonl", *RUN, "-o", "o.jsonl", "--resume").stdout
    assert command("run", "c.jsonl", *RUN, "--limit", "0").exit_code == 2
    command("batch", "write", "c.jsonl", *RUN[:2], "--model", "m", "-o", "r.jsonl", "--limit", "2")
    assert len(Path("r.jsonl").read_text().splitlines()) == 2


WRITING: dict[str, Sequence[str]] = {
    # what writes a file, and the option that names the file; of calibrate, see tests/lab/commands
    "run": ("run", "c.jsonl", *RUN, "-o"),
    "report": ("report", "v.jsonl", "-o"),
    "probe": ("probe", *RUN, "--cases", "p.jsonl", "-o"),
    "card": ("probe", *RUN, "--cases", "p.jsonl", "--card"),
    "batch": ("batch", "write", "c.jsonl", "--judge", "groundedness", "--model", "m", "-o"),
}


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("arguments", WRITING.values(), ids=WRITING)
def test_o_is_short_for_out_and_a_full_disk_is_a_line_that_names_the_file(
    command: Invoke, arguments: Sequence[str]
) -> None:
    result = command(*arguments, "/dev/full")
    assert result.exit_code in {1, 2}
    assert "/dev/full: No space left on device" in result.stderr
    assert result.stderr.startswith("groundjudge: ")


@pytest.mark.usefixtures("files")
def test_what_cannot_be_written_is_not_counted(command: Invoke) -> None:
    result = command("run", "c.jsonl", *RUN, "--limit", "2", "-o", "/dev/full")
    (row,) = [line.split() for line in result.stdout.splitlines() if line.startswith("groundedness")]
    assert row[2:5] == ["0", "0", "0"]  # ok, error, n/a


@pytest.mark.usefixtures("files")
def test_verdicts_are_kept_if_there_is_nothing_to_replace_them(command: Invoke) -> None:
    Path("none.jsonl").write_text("")
    before = Path("v.jsonl").read_bytes()
    result = command("run", "none.jsonl", *RUN, "--out", "v.jsonl", "--overwrite")
    assert (result.exit_code, Path("v.jsonl").read_bytes()) == (2, before)


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_terminal_shows_the_table_and_a_bar_and_lines_only_if_asked(
    file_of: FileOf, tmp_path: Path
) -> None:
    expectations: dict[tuple[str, ...], tuple[bool, bool, bool]] = {
        # the options: whether there are lines, a note that they are not kept, and a bar
        (): (False, True, True),
        ("-o", "-"): (True, False, False),
        ("--full", "row 1"): (False, True, True),
        ("-o", str(tmp_path / "v.jsonl")): (False, False, True),
    }
    run = ["run", str(file_of(*[ROW] * 20)), *RUN]
    outputs = several_on_a_terminal(*([*run, *options] for options in expectations))
    for output, expected in zip(outputs, expectations.values(), strict=True):
        assert "1.000..1.000" in output
        assert ('"case_id"' in output, "counted but not saved" in output, "20/20" in output) == expected


@contextmanager
def small_files() -> Generator[None]:
    """No file that this process writes exceeds 3,000 bytes, as on a disk that is nearly full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_names_the_file_and_how_to_go_on(command: Invoke, file_of: FileOf) -> None:
    run = ("run", file_of(*[ROW] * 20), *RUN, "--out", "v.jsonl")
    out = Path("v.jsonl")
    with small_files():
        result = command(*run)
    message = "v.jsonl: File too large; the finished verdicts are in v.jsonl, continue with --resume"
    assert (result.exit_code, result.stderr) == (1, f"groundjudge: stopped: {message}\n")
    assert 0 < out.stat().st_size <= 3000
    assert command(*run, "--resume").exit_code == 0
    assert len(verdicts_in(out.read_text())) == 20
