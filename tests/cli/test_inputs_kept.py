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
        pytest.param(REPORT, "--out soft-v.jsonl", "the file of verdicts", id="a page over a soft link"),
        pytest.param(REPORT, "-o hard-c.jsonl", "the file of cases", id="a page over a hard link"),
        pytest.param(REPORT, "-o t.json", "the file of thresholds", id="a page over thresholds"),
        pytest.param(
            "report v.jsonl",
            "-o ABSOLUTE/sub/../v.jsonl",
            "the file of verdicts",
            id="a page by an absolute path",
        ),
        pytest.param(
            "calibrate v.jsonl --labels v.jsonl",
            "--out v.jsonl",
            "the file of labels",
            id="an input with two uses",
        ),
        pytest.param(RUN, "--out soft-soft-c.jsonl", "the file of cases", id="verdicts over a double link"),
        pytest.param(
            RUN,
            "--judge hard-own.prompty --out soft-own.prompty",
            "the prompt file of a judge",
            id="verdicts over a prompt file",
        ),
        pytest.param(RUN, "--out o.jsonl --cache c.jsonl", "the file of cases", id="a cache over cases"),
        pytest.param(
            RUN,
            "--judge own.prompty --cache own.prompty",
            "the prompt file of a judge",
            id="a cache over a prompt file",
        ),
        pytest.param(RUN, "--out v.jsonl --cache hard-v.jsonl", "the file --out", id="a cache over verdicts"),
        pytest.param(
            RUN,
            "--out new.jsonl --cache sub/../new.jsonl",
            "the file --out",
            id="a cache over verdicts that are not there yet",
        ),
    ],
)
def test_an_output_that_is_an_input_is_refused(
    command: Invoke, folder: Path, arguments: str, out: str, what: str
) -> None:
    before = contents(folder)
    words = f"{arguments} {out}".replace("ABSOLUTE", str(folder)).split()
    model = ScriptedModel(GOOD) if arguments.startswith("run") else None
    result = command(*words, model=model)
    option = "--cache" if "--cache" in words else "--out"
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"groundjudge: {option} {words[-1]} is {what}: choose another file")
    assert result.stderr.count("\n") == 1
    assert contents(folder) == before


@pytest.mark.soak
@pytest.mark.parametrize(
    ("arguments", "redirected"),
    [
        pytest.param(
            "run - --model offline --judge groundedness --overwrite --out c.jsonl",
            "< c.jsonl",
            id="stdin is --out",
        ),
        pytest.param(
            "run - --model offline --judge groundedness",
            "< soft-c.jsonl >> hard-c.jsonl",
            id="stdout is stdin",
        ),
        pytest.param(
            "calibrate v.jsonl --labels - --out l.jsonl", "< hard-l.jsonl", id="labels of stdin are --out"
        ),
    ],
)
def test_an_input_or_output_that_the_shell_opened_is_the_same_file_too(
    folder: Path, arguments: str, redirected: str
) -> None:
    before = contents(folder)
    line = f"{' '.join(COMMAND)} {arguments} {redirected}"
    process = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60, check=False)  # noqa: S602  the shell's redirection is tested
    assert process.returncode == 2, process.stderr
    assert ": choose another file" in process.stderr
    assert contents(folder) == before


@pytest.mark.soak
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param("report v.jsonl -o page.html", id="a new page"),
        pytest.param("report v.jsonl -o -", id="a page with the name of stdout"),
        pytest.param(
            "calibrate v.jsonl --labels l.jsonl --overwrite --out t.json", id="thresholds fitted before"
        ),
        pytest.param("calibrate v.jsonl --labels l.jsonl --out dangling.json", id="a link to no file"),
        pytest.param("run c.jsonl --model m --out /dev/null", id="/dev/null"),
        pytest.param(
            "run c.jsonl --model m --judge groundedness --overwrite --out v.jsonl", id="verdicts of a run"
        ),
        pytest.param(
            "run c.jsonl --model m --overwrite --judge groundedness --out groundedness",
            id="a file with the name of a built-in judge",
        ),
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
