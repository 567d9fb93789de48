"""The commands that look at verdicts, as a user meets them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from make_verdicts import PROMPT, error, verdict
from typer.testing import CliRunner, Result

from groundjudge import Verdict
from groundjudge.cli.app import app

Ask = Callable[..., Result]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Runs a command in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, columns: int = 200) -> Result:
        return CliRunner(env={"COLUMNS": str(columns)}).invoke(app, [*arguments])

    return call


def verdicts_to(path: str, verdicts: Iterable[Verdict]) -> None:
    Path(path).write_text("".join(f"{one.model_dump_json()}\n" for one in verdicts))


def rows_to(path: str, rows: Iterable[dict[str, Any]]) -> None:
    Path(path).write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def some(n: int = 40, **more: Any) -> list[Verdict]:
    """Verdicts that are right but for every fifth."""
    return [
        verdict(
            str(place), abs((place % 2) - 0.9 * (place % 5 == 0) - 0.05), reason=f"because {place}", **more
        )
        for place in range(n)
    ]


def labels(n: int = 40) -> list[dict[str, Any]]:
    return [{"id": place, "label": place % 2, "claim": place // 4} for place in range(n)]


def words(result: Result) -> list[list[str]]:
    return [line.split() for line in result.stdout.splitlines()]


def test_agree_tells_the_figures_of_every_judge(ask: Ask) -> None:
    verdicts_to("v.jsonl", [*some(), error("40", "timeout"), *some(judge="two")[:20]])
    rows_to("l.jsonl", labels())
    result = ask("agree", "v.jsonl", "--labels", "l.jsonl", "--worst", "1")
    assert result.exit_code == 0
    told = words(result)
    assert ["one", "two"] in told
    assert ["n", "40", "20"] in told
    assert ["error", "1", "0"] in told
    assert ["labelled,", "not", "judged", "0", "20"] in told
    accuracy = next(line for line in told if line[0] == "accuracy")
    assert accuracy[1] == "0.800"
    assert 0.6 < float(accuracy[2].strip("[,")) < 0.8 < float(accuracy[3].strip("]")) < 0.95
    assert ["grounded:", "passed,", "not", "16,", "4", "8,", "2"] in told
    assert ["note:", "one:", "kappa"] not in [line[:3] for line in told]
    assert "because" in result.stdout


def test_agree_takes_labels_from_the_cases_and_says_what_is_undefined(ask: Ask) -> None:
    verdicts_to("v.jsonl", some(6))
    rows_to("cases.jsonl", [{"id": place, "response": "r", "metadata": {"ok": "yes"}} for place in range(6)])
    result = ask("agree", "v.jsonl", "--labels", "cases.jsonl", "--label", "ok")
    assert "Cohen's kappa, ROC AUC undefined: every label is positive" in result.stdout
    assert ["Cohen's", "kappa", "undefined"] in words(result)


def test_agree_groups_rows(ask: Ask) -> None:
    verdicts_to("v.jsonl", some())
    rows_to("l.jsonl", labels())
    result = ask("agree", "v.jsonl", "--labels", "l.jsonl", "--group", "claim")
    assert ["groups", "10"] in words(result)
    assert "over groups of one claim." in result.stdout
    compared = ask("compare", "v.jsonl", "v.jsonl", "--labels", "l.jsonl", "--group", "claim")
    assert "40 cases in 10 groups scored by both" in compared.stdout


def test_agree_can_be_asked_of_some_judges(ask: Ask) -> None:
    verdicts_to("v.jsonl", [one for judge in "abc" for one in some(judge=judge)])
    rows_to("l.jsonl", labels())
    result = ask("agree", "v.jsonl", "--labels", "l.jsonl", "--judge", "c", "--judge", "a")
    assert words(result)[0] == ["a", "c"]


def test_agree_puts_judges_below_one_another_where_there_is_no_room(ask: Ask) -> None:
    verdicts_to("v.jsonl", [one for judge in "abcd" for one in some(judge=judge)])
    rows_to("l.jsonl", labels())
    result = ask("agree", "v.jsonl", "--labels", "l.jsonl", "--worst", "0", columns=80)
    assert [line for line in words(result) if set(line) <= set("abcd")] == [["a", "b"], ["c", "d"]]
    assert max(map(len, result.stdout.splitlines()[:16])) <= 80


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("agree", "v.jsonl", "--labels", "other.jsonl"), "matched by their ids, such as '0' there"),
        (("agree", "v.jsonl", "--labels", "l.jsonl", "--label", "nope"), "no row has a 'nope'"),
        (("agree", "l.jsonl", "--labels", "l.jsonl"), "l.jsonl holds no verdicts"),
        (("agree", "v.jsonl", "--labels", "l.jsonl", "--threshold", "1.5"), "0..1, not 1.5"),
        (("agree", "v.jsonl", "--labels", "l.jsonl", "--threshold", "l.jsonl"), "no file of thresholds"),
        (("agree", "none.jsonl", "--labels", "l.jsonl"), "none.jsonl: No such file"),
        (("calibrate", "v.jsonl", "--labels", "l.jsonl", "--by", "recall"), "--by can be balanced-accuracy"),
        (("calibrate", "v.jsonl", "--labels", "l.jsonl", "--judge", "two"), "no verdict is by the judge"),
        (("calibrate", "v.jsonl", "--labels", "few.jsonl"), "2 independent positive rows or more, not 1"),
        (("compare", "v.jsonl", "two.jsonl", "--judge", "one"), "two.jsonl has no verdict by 'one'"),
        (("compare", "v.jsonl", "both.jsonl", "--judge", "three"), "v.jsonl has no verdict by 'three'"),
        (("compare", "both.jsonl", "three.jsonl"), "no judge in common"),
        (("compare", "v.jsonl", "elsewhere.jsonl"), "no case has a score in both"),
        (("compare", "v.jsonl", "v.jsonl", *["--judge", "one"] * 3), "--judge can be given once, or twice"),
        (("report", "v.jsonl", "--labels", "other.jsonl", "--label", "x"), "no row has a 'x'"),
        (("report", "v.jsonl", "-o", "nowhere/r.html"), "nowhere/r.html: No such file"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_told_in_one_line(ask: Ask, arguments: tuple[str, ...], told: str) -> None:
    verdicts_to("v.jsonl", some())
    verdicts_to("two.jsonl", some(judge="two"))
    verdicts_to("both.jsonl", [*some(), *some(judge="two")])
    verdicts_to("three.jsonl", [*some(judge="three"), *some(judge="four")])
    verdicts_to("elsewhere.jsonl", [verdict("x", 1.0)])
    rows_to("l.jsonl", labels())
    rows_to("few.jsonl", labels(3))
    rows_to("other.jsonl", [{"id": "elsewhere", "label": 1}])
    result = ask(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("groundjudge: ")
    assert told in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_line_that_cannot_be_read_is_told_and_the_rest_measured(ask: Ask) -> None:
    verdicts_to("v.jsonl", some())
    with Path("v.jsonl").open("a") as file:
        file.write('{"judge": "on')
    rows_to("l.jsonl", labels())
    result = ask("agree", "v.jsonl", "--labels", "l.jsonl")
    assert result.exit_code == 1
    assert "v.jsonl: 1 unreadable lines, the first is line 41" in result.stdout
    assert ["n", "40"] in words(result)


def test_a_missing_extra_is_told(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("groundjudge.analysis.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn.metrics", None)
    verdicts_to("v.jsonl", some())
    rows_to("l.jsonl", labels())
    result = ask("agree", "v.jsonl", "--labels", "l.jsonl")
    assert result.exit_code == 2
    assert 'pip install "groundjudge[analysis]"' in result.stderr
    result = ask("report", "v.jsonl", "--cases", "l.jsonl")
    assert result.exit_code == 0
    assert "labels are shown without figures" in result.stdout


def test_calibrate_prints_the_line_to_use_and_agree_takes_its_file(ask: Ask) -> None:
    verdicts_to("v.jsonl", some(80))
    rows_to("l.jsonl", labels(80))
    result = ask("calibrate", "v.jsonl", "--labels", "l.jsonl", "--out", "t.json")
    assert result.exit_code == 0
    threshold = json.loads(Path("t.json").read_text())[0]["threshold"]
    assert f'load("one", model=..., threshold={threshold:g})' in result.stdout
    assert "fitted on 40 rows, tested on the other half, 40 rows" in result.stdout
    agreed = ask("agree", "v.jsonl", "--labels", "l.jsonl", "--threshold", "t.json")
    assert ["threshold", f"{threshold:g}"] in words(agreed)
    assert "note:" not in agreed.stdout


def test_tables_fit_the_usual_terminal(ask: Ask) -> None:
    verdicts_to("v.jsonl", some(80))
    verdicts_to("w.jsonl", [verdict(str(place), (place * 37 % 100) / 100) for place in range(80)])
    rows_to("l.jsonl", labels(80))
    for command in (("agree", "v.jsonl"), ("calibrate", "w.jsonl"), ("compare", "v.jsonl", "w.jsonl")):
        told = ask(*command, "--labels", "l.jsonl", columns=80).stdout
        tables = [line for line in told.splitlines() if "[" in line and not line.startswith(("On", "In"))]
        assert len(tables) >= 6
        assert max(map(len, tables)) <= 80
        assert all(line.rstrip().endswith(("]", "clear")) for line in tables)
        assert "balanced accuracy" in told


def test_a_threshold_used_on_another_prompt_model_or_version_is_warned_of(ask: Ask) -> None:
    verdicts_to("v.jsonl", some())
    changed = PROMPT.model_copy(update={"sha256": "b" * 64, "version": "1.1.0"})
    verdicts_to("new.jsonl", some(prompt=changed, model="another", library="9.9"))
    rows_to("l.jsonl", labels())
    assert ask("calibrate", "v.jsonl", "--labels", "l.jsonl", "--out", "t.json").exit_code == 0
    for command in (("agree", "new.jsonl"), ("compare", "v.jsonl", "new.jsonl"), ("report", "new.jsonl")):
        told = ask(*command, "--labels", "l.jsonl", "--threshold", "t.json").stdout
        assert "was fitted on prompt one 1.0.0 (sha aaaaaaaaaaaa); these verdicts come from one 1.1.0" in told
        assert "was fitted on model m; these verdicts come from another" in told
        assert "was fitted on groundjudge" in told


def test_calibrate_says_when_a_threshold_promises_nothing(ask: Ask) -> None:
    verdicts_to("v.jsonl", [verdict(str(place), (place * 37 % 100) / 100) for place in range(40)])
    rows_to("l.jsonl", labels())
    result = ask("calibrate", "v.jsonl", "--labels", "l.jsonl", "--folds", "4")
    assert "not to be told from a constant guess (0.500)" in result.stdout
    assert "thresholds of the folds: " in result.stdout


def test_calibrate_goes_on_without_judges_that_have_too_few_labels(ask: Ask) -> None:
    verdicts_to("v.jsonl", [*some(), verdict("0", 1.0, judge="two")])
    rows_to("l.jsonl", labels())
    result = ask("calibrate", "v.jsonl", "--labels", "l.jsonl")
    assert result.exit_code == 0
    assert 'load("one"' in result.stdout
    assert "note: two: 2 parts need 2 independent positive rows" in result.stdout


def test_compare_tells_what_is_clear_and_where_both_come_from(ask: Ask) -> None:
    verdicts_to("a.jsonl", some())
    better = PROMPT.model_copy(update={"sha256": "c" * 64})
    verdicts_to("b.jsonl", [verdict(str(place), float(place % 2), prompt=better) for place in range(41)])
    rows_to("l.jsonl", labels())
    result = ask("compare", "a.jsonl", "b.jsonl", "--labels", "l.jsonl")
    told = words(result)
    assert result.exit_code == 0
    assert next(line for line in told if line[0] == "accuracy")[1:4] == ["0.800", "1.000", "+0.200"]
    assert next(line for line in told if line[0] == "accuracy")[-1] == "clear"
    assert next(line for line in told if line[:2] == ["pass", "rate"])[-1] != "clear"
    assert "sha:aaaaaaaaaaaa" in result.stdout
    assert "sha:cccccccccccc" in result.stdout
    assert "40 cases scored by both, 40 of them labelled, 1 by the second alone" in result.stdout


def test_compare_takes_two_judges_of_one_file(ask: Ask) -> None:
    verdicts_to("v.jsonl", [*some(), *some(judge="two")])
    result = ask("compare", "v.jsonl", "v.jsonl", "--judge", "one", "--judge", "two")
    assert "one (first) and two (second)" in result.stdout
    assert "passed with both or with neither: 1.000" in result.stdout
    assert "accuracy" not in result.stdout


def test_verdicts_of_several_prompts_are_not_mixed_in_silence(ask: Ask) -> None:
    changed = PROMPT.model_copy(update={"sha256": "b" * 64})
    verdicts_to("v.jsonl", [*some()[:20], *some(prompt=changed)[20:]])
    rows_to("l.jsonl", labels())
    result = ask("agree", "v.jsonl", "--labels", "l.jsonl")
    assert "one: these figures mix verdicts of 2 kinds" in result.stdout


def test_report_is_written_with_what_there_is(ask: Ask) -> None:
    verdicts_to("v.jsonl", some())
    rows_to("cases.jsonl", [row | {"response": "r", "context": "c"} for row in labels()])
    result = ask("report", "v.jsonl", "--cases", "cases.jsonl", "-o", "page.html")
    assert result.exit_code == 0
    assert result.stdout.startswith("page.html: 40 verdicts, 40 cases, ")
    page = Path("page.html").read_text()
    assert '"kappa":{"value":' in page
    assert ask("report", "v.jsonl").exit_code == 0
    assert '"agreement":null' in Path("report.html").read_text()


def test_a_label_of_the_cases_that_says_something_else_is_left_out(ask: Ask) -> None:
    verdicts_to("v.jsonl", some())
    rows_to("cases.jsonl", [{"id": 0, "response": "r", "label": "from the wiki"}])
    result = ask("report", "v.jsonl", "--cases", "cases.jsonl")
    assert result.exit_code == 0
    assert "labels are left out: 0: the label 'from the wiki' is neither" in result.stdout


def test_report_tells_of_cases_that_cannot_be_shown(ask: Ask) -> None:
    verdicts_to("v.jsonl", some())
    Path("cases.jsonl").write_text('{"id": 0, "response": "r"}\n{"id": 1, "context": {"n": 1}}\n[]\n')
    result = ask("report", "v.jsonl", "--cases", "cases.jsonl")
    assert "report.html: 40 verdicts, 1 cases" in result.stdout
    assert result.stdout.count("cannot be shown") == 2
    assert "labels are left out: cases.jsonl: line 3" in result.stdout
