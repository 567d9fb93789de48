"""Nothing that stands in rows, files, replies, options or errors steers the terminal, in any command."""

from __future__ import annotations

import ast
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
from command_line import GOOD, ROW, Invoke, on_a_terminal, several_on_a_terminal
from formatter import sure
from make_verdicts import labelled, verdict
from scripted_model import ScriptedModel
from syntax_tree import tree_of
from verdict_files import write_rows, write_verdicts

from groundjudge import ModelError, Verdict
from groundjudge.cli.app import app
from groundjudge.cli.screen import Screen
from groundjudge.text.printable import printable

ROOT = Path(__file__).parents[2]
CLI, PROMPTS = ROOT / "src" / "groundjudge" / "cli", ROOT / "prompts"
JOINERS = "\u200c\u200d"
STEERING = {
    sign
    for sign in map(chr, range(0x110000))
    if unicodedata.category(sign) in {"Cc", "Zl", "Zp"} and sign not in "\t\n"
} | {*"\u061c\u200e\u200f\u202a\u202e\u2066\u2069\ufeff\ufe0f\U000e0041\U000e01ef\u200b\xad"}

PAYLOADS = {
    "clear the screen": "\x1b[2J",
    "a link": "\x1b]8;;x:y\x1b\\link\x1b]8;;\x1b\\",
    "a colour by one character": "\x9b31m",
    "bell": "\x07",
    "next line": "\x85",
    "carriage return": "\r",
    "right to left": "\u202e",
    "isolated left to right": "\u2066",
    "a mark of right to left": "\u200f",
    "an Arabic mark": "\u061c",
    "line separator": "\u2028",
    "a tag": "\U000e0041",
    "a selector of variants": "\ufe0f",
    "delete": "\x7f",
}
HOSTILE = f"{''.join(PAYLOADS.values())}[red]x"
NUL = "\x00"
COLOURS = re.compile(r"\x1b\[(?:[0-9;]*m|[12]K|1A|\?25[hl])|\r")
"""What rich writes by itself: colours, and what moves the bar."""


def check(output: str) -> None:
    assert not STEERING & {*output}, ascii(output)


@pytest.mark.parametrize("text", [*PAYLOADS.values(), NUL], ids=[*PAYLOADS, "NUL"])
def test_texts_and_tables_show_controls_and_obey_none(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    screen = Screen()
    screen.text(f"a{text}b", heading=f"h{text}")
    screen.table([f"c{text}", f"d{text}"], [[f"e{text}", f"f{text}" * 20], ["g", "h"]])
    output = capsys.readouterr().out
    check(output)
    assert f"a{printable(text)}b" in output


def test_an_end_of_a_line_in_a_cell_makes_no_row(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().table(["judge", "mean"], [["a\nforged  1.000", "0.1"]])
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_every_steering_character_is_escaped_and_words_are_kept() -> None:
    assert not [sign for sign in STEERING if sign in printable(sign)]
    words = f"Größe\t漢字\n\u0646\u0645\u06cc{JOINERS}\u062e\u0648 \U0001f600 a\xa0b\u3000c [red]"
    assert printable(words) == words


def test_an_escaped_line_of_json_is_the_same_value() -> None:
    value = {f"a{HOSTILE}": [NUL, HOSTILE, '\\"']}
    assert json.loads(printable(json.dumps(value, ensure_ascii=False))) == value


def commands(group: Any, *names: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All commands, with their names."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *names, name)
        else:
            yield (*names, name), command


COMMANDS = dict(commands(typer.main.get_command(app)))


def calls(names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """A command with a hostile text as each of its arguments and options, and with arguments too many."""
    arguments: list[str] = []
    options: list[Any] = []
    for parameter in COMMANDS[names].params:
        if parameter.param_type_name == "option":
            options.append(parameter)
        elif parameter.required:
            arguments.append(HOSTILE)
    yield (*names, *arguments, HOSTILE, HOSTILE)
    yield (*names, *arguments, f"--{HOSTILE}")
    for option in options:
        flag = option.opts[0]
        if option.is_flag:
            yield (*names, *arguments, f"{flag}={HOSTILE}")
        else:
            yield (*names, *arguments, flag, *[HOSTILE] * option.nargs)


OTHERS = ((HOSTILE,), (f"--{HOSTILE}",), ("batch", HOSTILE), ("--version", HOSTILE))


@pytest.mark.parametrize("names", [*COMMANDS, ()], ids=" ".join)
def test_no_argument_and_no_option_steers_the_terminal(command: Invoke, names: tuple[str, ...]) -> None:
    for arguments in calls(names) if names else OTHERS:
        result = command(*arguments, model=ScriptedModel(GOOD))
        check(result.stdout + result.stderr)
        assert isinstance(result.exception, SystemExit | None)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases, verdicts, labels and a prompt file with hostile names and values wherever one can stand."""
    monkeypatch.chdir(tmp_path)
    judge = f"j{HOSTILE}"
    labels = (f"good{HOSTILE}", f"bad{HOSTILE}")
    ids = [HOSTILE, *(f"{HOSTILE}{place}" for place in range(1, 24))]
    more: dict[str, Any] = {"reason": HOSTILE, "model": HOSTILE, "reply": HOSTILE}
    verdicts: list[Verdict] = []
    for place, case_id in enumerate(ids):
        verdicts.append(labelled(case_id, labels[place % 2], float(1 - place % 2), judge=judge, **more))
    for place, case_id in enumerate(ids):
        verdicts.append(verdict(case_id, place % 5 / 4, judge="groundedness", **more))
    failed = Verdict.model_validate(
        {"judge": judge, "case_id": "e", "status": "error", "error": {"code": HOSTILE, "message": HOSTILE}}
    )
    for name in ("v.jsonl", f"v{HOSTILE}.jsonl"):
        write_verdicts(name, [*verdicts, failed])
    fields = {"group": HOSTILE, HOSTILE: HOSTILE, **ROW, "query": HOSTILE}
    in_words: list[dict[str, Any]] = []
    in_numbers: list[dict[str, Any]] = []
    for place, case_id in enumerate(ids):
        in_words.append({"id": case_id, "label": labels[1] if place % 3 else labels[0], **fields})
        in_numbers.append({"id": case_id, "label": place % 2, **fields})
    write_rows("l.jsonl", in_words)
    write_rows("n.jsonl", in_numbers)
    write_rows("c.jsonl", [{"id": f"c{HOSTILE}", "judges": [HOSTILE], **ROW}, {**fields, "id": HOSTILE}])
    with Path("c.jsonl").open("a") as cases:
        cases.write(f'{{"id": "{HOSTILE}\n[1]\n{json.dumps({"context": {HOSTILE: HOSTILE}, **fields})}\n')
    write_rows(f"x{HOSTILE}.jsonl", [{HOSTILE: HOSTILE, "other": HOSTILE}])
    to_pass = {**ROW, "id": HOSTILE, "expect": "pass"}
    write_rows("good.jsonl", [to_pass, {**ROW, "id": f"{HOSTILE}2", "expect": "fail"}])
    write_rows("p.jsonl", [{**ROW, "id": f"p{HOSTILE}", "expect": "pass"}, {**ROW, "expect": HOSTILE}])
    own_prompt = (PROMPTS / "groundedness.prompty").read_text(encoding="utf-8")
    Path("p.prompty").write_text(own_prompt.replace("description: ", 'description: "\\e[2J\\u202E" #', 1))


READ = (
    "agree v.jsonl --labels l.jsonl",
    "agree v.jsonl --labels n.jsonl --threshold none-X.json",
    "compare v.jsonl vX.jsonl",
    "calibrate v.jsonl --labels l.jsonl --judge X",
    "rate v.jsonl --labels n.jsonl --random --judge groundedness",
    "label n.jsonl v.jsonl --judge groundedness --n 10 --out X.html",
    "report vX.jsonl --cases n.jsonl --out X.html",
    "judges p.prompty",
    "show groundedness --cases c.jsonl --case X",
    "probe --judge groundedness --model m --cases p.jsonl",
    "run n.jsonl --model m --judge groundedness --out vX.jsonl",
    "run n.jsonl --model m --judge groundedness --out X/o.jsonl",
    "run xX.jsonl --model m --judge groundedness --out o.jsonl",
    "batch write c.jsonl --judge groundedness --model m --out oX.jsonl",
    "batch read vX.jsonl --cases n.jsonl --judge groundedness --model m --out oX.jsonl",
    "batch status X",
)
REASON = f"<S0>t</S0><S1>{HOSTILE}</S1>{sure(5)}"
JUDGED: Mapping[str, Sequence[str | Exception]] = {
    # what judges, and the replies that it gets
    "run c.jsonl --model m --judge groundedness --out o.jsonl --full X": [
        REASON,
        HOSTILE,
        ModelError("server", HOSTILE, HOSTILE),
    ],
    "run c.jsonl --model m --judge groundedness --repeats 2 --out o.jsonl --full X": [REASON],
    "run n.jsonl --model m --judge groundedness --out o.jsonl --full none-X": [GOOD],
    "probe --judge groundedness --model m --cases good.jsonl": [REASON, HOSTILE],
    **{line: [GOOD] for line in READ},
}
LINES = [(line, reply) for line, replies in JUDGED.items() for reply in replies]


@pytest.mark.parametrize(("line", "reply"), LINES, ids=[line for line, _ in LINES])
@pytest.mark.usefixtures("files")
def test_no_content_of_a_file_or_reply_steers_the_terminal(
    command: Invoke, line: str, reply: str | Exception
) -> None:
    model = ScriptedModel(reply)
    model.name = HOSTILE
    result = command(*line.replace("X", HOSTILE).split(" "), model=model)
    output = result.stdout + result.stderr
    check(output)
    assert isinstance(result.exception, SystemExit | None)
    assert "Traceback" not in output
    assert "1b[2J" in output  # what is hostile is there, and escaped


ON_A_TERMINAL = (
    "run c.jsonl --model offline --judge groundedness --full X",
    "run c.jsonl --model offline --judge groundedness --out -",
    "batch write c.jsonl --model m --judge groundedness --out -",
    "agree v.jsonl --labels l.jsonl",
    "report vX.jsonl --cases n.jsonl --out X.html",
    "show groundedness --cases n.jsonl",
)


@pytest.mark.soak
@pytest.mark.usefixtures("files")
def test_no_command_steers_a_real_terminal_not_even_with_json() -> None:
    lines = [line.replace("X", HOSTILE).split(" ") for line in ON_A_TERMINAL]
    for output in several_on_a_terminal(*lines):
        text = COLOURS.sub("", output).replace("\r\n", "\n")
        check(text)
        assert "1b[2J" in text


@pytest.mark.soak
def test_wrong_arguments_do_not_steer_a_real_terminal() -> None:
    status, output = on_a_terminal("run", f"--{HOSTILE}")
    assert status == 2
    check(COLOURS.sub("", output).replace("\r\n", "\n"))


COMMAND_FILES = (
    *CLI.glob("*.py"),
    *CLI.parent.glob("lab/commands/*.py"),
    CLI.parent / "batches" / "commands.py",
    CLI.parent / "report" / "command.py",
)
WRITTEN: set[str] = {
    "show.py: typer.echo(CASES.read_bytes(), nl=False)",  # a file of the library, byte by byte
    "commands.py: file.write(json_line(line, file))",
    "commands.py: state.write(run.settings, state.parts)",  # a file, as all below
    "pages.py: file.write(html.encode())",
    "probe.py: file.write(f'{result.card.model_dump_json(indent=2)}\\n'.encode())",
}
PRINTING = {"print", "echo", "secho", "prompt", "confirm", "write", "writelines"}


def test_only_the_screen_prints() -> None:
    calls_that_print: set[str] = set()
    for file in COMMAND_FILES:
        if file.name == "screen.py":
            continue
        for node in ast.walk(tree_of(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", None))
            if name in PRINTING:
                calls_that_print.add(f"{file.name}: {ast.unparse(node)}")
    assert calls_that_print == WRITTEN
