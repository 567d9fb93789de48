"""No command writes over a file that it reads, however that file is spelled."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from command_line import COMMAND, GOOD, Invoke
from scripted_model import ScriptedModel
from verdict_files import some_labels, some_verdicts, write_rows, write_verdicts

PROMPT = (
    "---\nname: own\nscale: {worst: 1, best: 5}\ninputs: [{name: response}]\n---\nuser:\nRate {{response}}"
)
RUN = "run c.jsonl --model m --overwrite"
REPORT = "report v.jsonl --cases c.jsonl --labels l.jsonl --threshold t.json"
CALIBRATE = "calibrate v.jsonl --labels l.jsonl"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with one input of each kind: verdicts, cases, labels, thresholds and a prompt."""
    monkeypatch.chdir(tmp_path)
    write_verdicts("v.jsonl", some_verdicts())
    write_rows("c.jsonl", [{"id": n, "query": "q", "response": "r", "context": "c"} for n in range(40)])
    write_rows("l.jsonl", some_labels())
    Path("own.prompty").write_text(PROMPT)
    Path("sub").mkdir()
    Path("t.json").write_text("[]")
    for name in ("v.jsonl", "c.jsonl", "l.jsonl", "t.json", "own.prompty"):
        Path(f"soft-{name}").symlink_to(name)
        Path(f"soft-soft-{name}").symlink_to(f"soft-{name}")
        os.link(name, f"hard-{name}")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


@pytest.mark.parametrize(
    ("arguments", "out", "what"),
    [
        (REPORT, "--out soft-v.jsonl", "the file of verdicts"),
        (REPORT, "-o hard-c.jsonl", "the file of cases"),
        (REPORT, "-o sub/../l.jsonl", "the file of labels"),
        (REPORT, "-o t.json", "the file of thresholds"),
        ("report v.jsonl", "-o ABSOLUTE/sub/../v.jsonl", "the file of verdicts"),
        (CALIBRATE, "--out v.jsonl", "the file of verdicts"),
        ("calibrate v.jsonl --labels v.jsonl", "--out v.jsonl", "the file of labels"),
        (RUN, "--out soft-soft-c.jsonl", "the file of cases"),
        (RUN, "--judge hard-own.prompty --out soft-own.prompty", "the prompt file of a judge"),
        (RUN, "--out o.jsonl --cache c.jsonl", "the file of cases"),
        (RUN, "--judge own.prompty --cache own.prompty", "the prompt file of a judge"),
        (RUN, "--out v.jsonl --cache hard-v.jsonl", "the file --out"),
        (RUN, "--out new.jsonl --cache sub/../new.jsonl", "the file --out"),
    ],
)
def test_an_output_that_is_an_input_is_refused(
    command: Invoke, folder: Path, arguments: str, out: str, what: str
) -> None:
    before = contents(folder)
    given = f"{arguments} {out}".replace("ABSOLUTE", str(folder)).split()
    model = ScriptedModel(GOOD) if arguments.startswith("run") else None
    result = command(*given, model=model)
    option = "--cache" if "--cache" in given else "--out"
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"groundjudge: {option} {given[-1]} is {what}: choose another file")
    assert result.stderr.count("\n") == 1
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("arguments", "redirected"),
    [
        ("run - --model offline --judge groundedness --overwrite --out c.jsonl", "< c.jsonl"),
        ("run - --model offline --judge groundedness", "< soft-c.jsonl >> hard-c.jsonl"),
        ("calibrate v.jsonl --labels - --out l.jsonl", "< hard-l.jsonl"),
    ],
)
def test_an_input_or_output_that_the_shell_opened_is_the_same_file_too(
    folder: Path, arguments: str, redirected: str
) -> None:
    before = contents(folder)
    line = f"{' '.join(COMMAND)} {arguments} {redirected}"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60, check=False)  # noqa: S602  the shell's redirection is tested
    assert done.returncode == 2, done.stderr
    assert ": choose another file" in done.stderr
    assert contents(folder) == before


@pytest.mark.parametrize(
    "arguments",
    [
        "report v.jsonl -o page.html",
        "report v.jsonl -o -",  # a file of that name
        "calibrate v.jsonl --labels l.jsonl --overwrite --out t.json",  # thresholds fitted before
        "calibrate v.jsonl --labels l.jsonl --out dangling.json",
        "run c.jsonl --model m --out /dev/null",
        "run c.jsonl --model m --judge groundedness --overwrite --out v.jsonl",
        "run c.jsonl --model m --overwrite --judge groundedness --out groundedness",  # a judge, not a file
    ],
)
def test_other_files_can_be_replaced(command: Invoke, folder: Path, arguments: str) -> None:
    Path("dangling.json").symlink_to("not-there-yet.json")
    Path("groundedness").write_text("")
    model = ScriptedModel(GOOD) if arguments.startswith("run") else None
    result = command(*arguments.split(), model=model)
    assert result.exit_code in {0, 1}, result.stderr
    assert "choose another file" not in result.stderr
    assert contents(folder)["c.jsonl"].count(b"\n") == 40
