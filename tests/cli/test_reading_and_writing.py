"""The options that commands share: how rows are read, and where results go."""

from __future__ import annotations

import csv
import io
import json
import resource
from collections.abc import Sequence
from pathlib import Path

import pytest
from command_line import GOOD, ROW, FileOf, Invoke, run_command, several_on_a_terminal, verdicts_in
from scripted_model import ScriptedModel

RUN = ("--judge", "groundedness", "--model", "offline")
RESPONSE = "Die Fähre fährt um neun."
"""What has other bytes in every encoding."""


def text_of(rows: list[dict[str, str]], suffix: str) -> str:
    """Rows as the text of a file."""
    if suffix == "jsonl":
        return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    if suffix == "json":
        return json.dumps(rows, ensure_ascii=False)
    text = io.StringIO()
    table = csv.DictWriter(text, [*ROW], delimiter="\t" if suffix == "tsv" else ",")
    table.writeheader()
    table.writerows(rows)
    return text.getvalue()


ROWS = [{**ROW, "context": RESPONSE, "response": RESPONSE}] * 2
SUFFIXES = ["jsonl", "json", "csv", "tsv"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_rows_in_an_encoding_that_is_named_are_judged(command: Invoke, suffix: str) -> None:
    for encoding in ("cp1252", "utf-16", "utf-16-le", "utf-32", "mac-roman", "utf-8-sig", "UTF8"):
        Path(f"c.{suffix}").write_bytes(text_of(ROWS, suffix).encode(encoding))
        result = command("run", f"c.{suffix}", *RUN, "--encoding", encoding)
        found = result.exit_code, [one.score for one in verdicts_in(result.stdout)]
        assert found == (0, [1.0, 1.0]), encoding


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_in_another_encoding_is_refused_before_a_row_is_judged(command: Invoke, suffix: str) -> None:
    # The first row can be read in all of them but UTF-16.
    rows, model = [ROW, {**ROW, "response": "Fähre"}], ScriptedModel(GOOD)
    for encoding in ("cp1252", "utf-16", "utf-16-le", "gb18030"):
        Path(f"c.{suffix}").write_bytes(text_of(rows, suffix).encode(encoding))
        result = command("run", f"c.{suffix}", "--judge", "groundedness", "--model", "m", model=model)
        assert (result.exit_code, result.stdout, len(model.asked)) == (2, "", 0), encoding
        # UTF-16-LE is UTF-8 as long as all letters are ASCII: it is refused as not JSON or CSV.
        assert encoding == "utf-16-le" or f"c.{suffix} is not in utf-8: " in result.stderr
        assert encoding == "utf-16-le" or "encoding with --encoding, such as cp1252" in result.stderr


def test_the_line_that_is_not_utf_8_is_named(command: Invoke) -> None:
    Path("c.csv").write_bytes("query,response\nq,r\nq,é\n".encode("cp1252"))
    result = command("run", "c.csv", *RUN)
    assert "c.csv is not in utf-8: invalid continuation byte on line 3; save it as UTF-8" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "c.csv", *RUN),
        ("estimate", "c.csv", "--judge", "groundedness"),
        ("show", "groundedness", "--cases", "c.csv"),
        ("probe", *RUN, "--cases", "c.csv"),
        ("report", "v.jsonl", "--cases", "c.csv"),
        ("report", "v.jsonl", "--labels", "c.csv"),
        ("agree", "v.jsonl", "--labels", "c.csv"),
        ("calibrate", "v.jsonl", "--labels", "c.csv"),
        ("compare", "v.jsonl", "v.jsonl", "--labels", "c.csv"),
        ("batch", "write", "c.csv", *RUN, "-o", "requests.jsonl"),
        ("batch", "submit", "c.csv", *RUN, "-o", "v2.jsonl"),
    ],
    ids=" ".join,
)
def test_every_command_checks_the_encoding_of_its_rows(command: Invoke, arguments: tuple[str, ...]) -> None:
    rows = [{**ROW, "id": str(number), "label": str(number % 2)} for number in range(4)]
    with Path("good.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, [*rows[0]])
        table.writeheader()
        table.writerows(rows)
    command("run", "good.csv", *RUN, "-o", "v.jsonl")
    Path("c.csv").write_bytes(Path("good.csv").read_bytes() + "9,é,é,é,1\n".encode("cp1252"))
    result = command(*arguments)
    assert result.exit_code == 2
    assert "c.csv is not in utf-8" in result.stderr
    unknown = command(*arguments, "--encoding", "klingon")
    assert "--encoding: there is no encoding 'klingon'" in unknown.stderr
    assert "not in" not in command(*arguments, "--encoding", "cp1252").stderr


@pytest.mark.parametrize("name", ["klingon", "hex", "", "utf-8\0"])
def test_what_is_no_encoding_of_text_is_refused(command: Invoke, file_of: FileOf, name: str) -> None:
    result = command("run", file_of(ROW), *RUN, "--encoding", name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no encoding" in result.stderr


def test_a_pipe_in_another_encoding_ends_the_run_with_one_line(command: Invoke) -> None:
    data = text_of(ROWS, "csv").encode("utf-16")[:-1]
    result = command("run", "-", *RUN, "--format", "csv", "--encoding", "utf-16", given=data)
    assert result.exit_code in {1, 2}
    assert isinstance(result.exception, SystemExit)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_limit_judges_the_first_rows(command: Invoke, suffix: str) -> None:
    Path(f"c.{suffix}").write_text(text_of([ROW] * 3, suffix))
    for limit, judged in ((1, 1), (2, 2), (9, 3)):
        result = command("run", f"c.{suffix}", *RUN, "--limit", str(limit))
        ids = [one.case_id for one in verdicts_in(result.stdout)]
        assert ids == [f"row {number + 1}" for number in range(judged)]
        estimated = command("estimate", f"c.{suffix}", "--judge", "groundedness", "--limit", str(limit))
        assert ["groundedness", str(judged)] in [line.split()[:2] for line in estimated.stdout.splitlines()]


def test_a_run_without_the_limit_continues_the_one_with_it(command: Invoke, file_of: FileOf) -> None:
    path = file_of(*[ROW] * 5)
    command("run", path, *RUN, "-o", "v.jsonl", "--limit", "2")
    assert "2 verdicts reused, 3 new" in command("run", path, *RUN, "-o", "v.jsonl", "--resume").stdout
    assert "out-of" not in command("run", path, *RUN, "--limit", "0").stderr
    assert command("run", path, *RUN, "--limit", "0").exit_code == 2


WRITE = ("batch", "write", "c.jsonl", "--judge", "groundedness", "--model", "m")


@pytest.fixture
def files(command: Invoke) -> None:
    """Rows with labels, verdicts on them, and rows for a probe."""
    rows = [{**ROW, "response": r, "label": n % 2} for n, r in enumerate([ROW["response"], "At 10."] * 6)]
    Path("c.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    probed = [
        {**ROW, "id": "a", "expect": "pass"},
        {**ROW, "id": "b", "response": "At 10.", "expect": "fail"},
    ]
    Path("p.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in probed))
    command("run", "c.jsonl", *RUN, "--out", "v.jsonl")


@pytest.mark.usefixtures("files")
def test_requests_of_a_batch_are_limited(command: Invoke) -> None:
    command(*WRITE, "-o", "r.jsonl", "--limit", "2")
    assert len(Path("r.jsonl").read_text().splitlines()) == 2


WRITING: dict[str, Sequence[str]] = {
    # what writes a file, and the option that names the file
    "run": ("run", "c.jsonl", *RUN, "-o"),
    "report": ("report", "v.jsonl", "-o"),
    "calibrate": ("calibrate", "v.jsonl", "--labels", "c.jsonl", "-o"),
    "probe": ("probe", *RUN, "--cases", "p.jsonl", "-o"),
    "card": ("probe", *RUN, "--cases", "p.jsonl", "--card"),
    "batch": (*WRITE, "-o"),
}


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("arguments", WRITING.values(), ids=WRITING)
def test_o_is_short_for_out_and_a_full_disk_is_a_line_that_names_the_file(
    command: Invoke, arguments: Sequence[str]
) -> None:
    assert command(*arguments, "out.file").exit_code == 0
    assert Path("out.file").stat().st_size > 0
    result = command(*arguments, "/dev/full")
    assert result.exit_code in {1, 2}
    assert "/dev/full: No space left on device" in result.stderr
    assert result.stderr.startswith("groundjudge: ")


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_terminal_shows_the_table_and_a_bar_and_lines_only_if_asked(
    file_of: FileOf, tmp_path: Path
) -> None:
    shown: dict[tuple[str, ...], tuple[bool, bool, bool]] = {
        # the options: whether there are lines, a note that they are not kept, and a bar
        (): (False, True, True),
        ("-o", "-"): (True, False, False),
        ("--full", "row 1"): (False, True, True),
        ("-o", str(tmp_path / "v.jsonl")): (False, False, True),
    }
    run = ["run", str(file_of(*[ROW] * 20)), *RUN]
    for seen, found in zip(
        several_on_a_terminal(*([*run, *each] for each in shown)), shown.values(), strict=True
    ):
        assert "1.000..1.000" in seen
        assert ('"case_id"' in seen, "counted, but not kept" in seen, "20/20" in seen) == found


def small_files() -> None:
    """Let no file of this process exceed 3,000 bytes, as on a disk that is nearly full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))


def test_a_full_disk_names_the_file_and_how_to_go_on(invoke: Invoke, file_of: FileOf, tmp_path: Path) -> None:
    path, out = file_of(*[ROW] * 20), tmp_path / "v.jsonl"
    result = run_command("run", path, *RUN, "--out", out, preexec_fn=small_files)
    assert result.returncode == 1
    kept = f"the finished verdicts are in {out}, continue with --resume"
    assert result.stderr == f"groundjudge: stopped: {out}: File too large; {kept}\n"
    assert 0 < out.stat().st_size <= 3000
    assert invoke("run", path, *RUN, "--out", out, "--resume").exit_code == 0
    assert len(verdicts_in(out.read_text())) == 20
