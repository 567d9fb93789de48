"""The commands `agree`, `calibrate` and `compare`, as a user meets them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from command_line import Invoke, words
from make_verdicts import PROMPT, error, labelled, verdict
from verdict_files import (
    some_labelled,
    some_labels,
    some_verdicts,
    some_words,
    write_rows,
    write_verdicts,
)

from groundjudge import Verdict, load
from groundjudge.lab.commands.figures import with_interval
from groundjudge.lab.figures import Figure


@pytest.fixture(autouse=True)
def usual_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of most tests: verdicts of one judge, and labels. Others are written over them."""
    monkeypatch.chdir(tmp_path)
    write_verdicts("v.jsonl", some_verdicts())
    write_rows("l.jsonl", some_labels())


def test_agree_prints_the_figures_of_every_judge(command: Invoke) -> None:
    write_verdicts("v.jsonl", [*some_verdicts(), error("40", "timeout"), *some_verdicts(judge="two")[:20]])
    result = command("agree", "v.jsonl", "--labels", "l.jsonl", "--worst", "1")
    assert result.exit_code == 0
    lines = words(result.stdout)
    assert ["one", "two"] in lines
    assert ["n", "40", "20"] in lines
    assert ["error", "1", "0"] in lines
    assert ["labelled,", "not", "judged", "0", "20"] in lines
    _, value, low, high, *_ = next(line for line in lines if line[0] == "accuracy")
    assert 0.6 < float(low.strip("[,")) < float(value) == 0.8 < float(high.strip("]")) < 0.95
    assert "not grounded 16 right, 4 wrong 8 right, 2 wrong".split() in lines
    assert "grounded 16 right, 4 wrong 8 right, 2 wrong".split() in lines
    first = next(place for place, line in enumerate(lines) if line[0] == "recall")
    assert lines[first - 1][:2] == ["not", "grounded"]  # the class whose failures matter comes first
    assert ["note:", "one:", "kappa"] not in [line[:3] for line in lines]
    assert "because" in result.stdout


def test_agree_takes_labels_from_the_cases_and_says_what_is_undefined(command: Invoke) -> None:
    write_rows("cases.jsonl", [{"id": n, "response": "r", "metadata": {"ok": "yes"}} for n in range(6)])
    result = command("agree", "v.jsonl", "--labels", "cases.jsonl", "--label", "ok")
    assert "Cohen's kappa, ROC AUC undefined: every label is positive" in result.stdout
    assert ["Cohen's", "kappa", "undefined"] in words(result.stdout)


AGREE, COMPARE = "agree v.jsonl --labels l.jsonl", "compare v.jsonl v.jsonl"
CALIBRATE = "calibrate v.jsonl --labels l.jsonl"
LABELLED = f"{COMPARE} --labels l.jsonl"
THREE = [*some_verdicts(judge="a"), *some_verdicts(judge="b"), *some_verdicts(judge="c")]
CHANGED = PROMPT.model_copy(update={"sha256": "b" * 64, "version": "1.1.0"})
MIXED = [*some_verdicts()[:20], *some_verdicts(prompt=CHANGED)[20:]]
NOISE = [verdict(str(place), (place * 37 % 100) / 100) for place in range(40)]
BINARY = [verdict(str(place), float(place % 3 > 0)) for place in range(40)]


@pytest.mark.parametrize(
    ("verdicts", "arguments", "text"),
    [
        pytest.param(
            some_verdicts(),
            f"{AGREE} --group claim",
            "intervals, for independent groups with the same claim.",
            id="agree by groups",
        ),
        pytest.param(
            MIXED,
            AGREE,
            "one: these figures mix verdicts with 2 signatures: one@1.0.0|",
            id="two prompts in one file",
        ),
        pytest.param(
            NOISE,
            f"{CALIBRATE} --folds 4",
            "indistinguishable from a constant guess (0.500)",
            id="a threshold that is as good as guessing",
        ),
        pytest.param(
            some_verdicts(),
            f"{CALIBRATE} --folds 4",
            "thresholds tested in the folds: ",
            id="calibrate in folds",
        ),
        pytest.param(
            [*NOISE, verdict("0", 1.0, judge="two")],
            CALIBRATE,
            "two: 2 parts need 2 or more independent rows labelled grounded",
            id="a judge with one row",
        ),
        pytest.param(
            some_verdicts(),
            f"{LABELLED} --group claim",
            "40 cases in 10 groups scored by both",
            id="compare by groups",
        ),
        pytest.param(
            THREE, f"{COMPARE} --judge a --judge b", "a (first) and b (second)", id="two judges of one file"
        ),
        pytest.param(
            [*some_verdicts(), *(verdict(str(place), 1.0, judge="two") for place in range(40))],
            f"{COMPARE} --judge one --judge two --labels l.jsonl",
            " - undefined",
            id="a judge with one outcome",
        ),
    ],
)
def test_what_is_shown(command: Invoke, verdicts: list[Verdict], arguments: str, text: str) -> None:
    write_verdicts("v.jsonl", verdicts)
    result = command(*arguments.split())
    assert result.exit_code == 0
    assert " ".join(result.stdout.split()).count(text) == 1
    assert "label by label" not in result.stdout  # people's labels are numbers
    assert ("accuracy" in result.stdout) is ("--labels" in arguments)


def test_agree_prints_lines_where_the_table_is_too_wide_and_reports_unreadable_ones(command: Invoke) -> None:
    write_verdicts("v.jsonl", [*THREE, *some_verdicts(judge="d")])
    with Path("v.jsonl").open("a") as file:
        file.write('{"judge": "on')
    result = command(*AGREE.split(), columns=80)
    assert result.exit_code == 1
    assert "n: a 40, b 40, c 40, d 40\n" in result.stdout
    assert "…" not in result.stdout
    assert "v.jsonl: 1 unreadable lines, the first is line 161" in result.stdout


def test_agree_prints_the_matrix_weighted_kappa_and_the_majority(command: Invoke) -> None:
    write_verdicts("v.jsonl", some_labelled())
    write_rows("l.jsonl", some_words())
    Path("one.prompty").write_text(PROMPT_FILE)
    result = command(*AGREE.split(), "--judge-file", "one.prompty", "--worst", "1")
    assert result.exit_code == 0
    lines = words(result.stdout)
    start = lines.index(["one,", "label", "by", "label", "(rows:", "people,", "columns:", "the", "judge)"])
    assert lines[start + 1] == "not supported partly supported supported cannot tell".split()
    counts = [" ".join(line[-4:]) for line in lines[start + 2 : start + 6]]
    assert counts == ["8 0 0 0", "2 10 0 0", "0 0 8 0", "0 0 2 10"]
    assert lines[start + 5][:4] == ["cannot", "tell", "(not", "applicable)"]
    assert "same label: 0.900 [" in result.stdout
    assert "of 40 rows; always 'partly supported': 0.300" in result.stdout
    assert "weighted kappa: 0.9" in result.stdout
    assert "on 28 rows whose labels both have a score" in result.stdout
    assert {("not", "applicable", "10"), ("label:", "not", "applicable", "2")} <= {*map(tuple, lines)}
    assert "0: score 0, not passed; label partly supported" in result.stdout


PROMPT_FILE = """---
name: one
inputs: [{name: response, type: text}]
reply: {format: plain}
scale: {choices: {supported: 1, partly supported: 0.5, not supported: 0, contradicted: 0, cannot tell: null}}
---
user:
{{response}}
"""


@pytest.mark.soak
def test_labels_in_words_need_the_prompt_file_that_declares_them(command: Invoke) -> None:
    write_verdicts("v.jsonl", some_labelled())
    write_rows("l.jsonl", [*some_words(39), {"id": 39, "label": "Contradicted"}])
    Path("one.prompty").write_text(PROMPT_FILE)
    result = command(*AGREE.split())
    assert result.exit_code == 2
    assert (
        "'Contradicted' (1 row): not a number, yes or no, true or false, or pass or fail; " in result.stderr
    )
    assert "or name the prompt file that defines it with --judge-file\n" in result.stderr
    for arguments in ("agree v.jsonl", "calibrate v.jsonl", COMPARE, "report v.jsonl"):
        result = command(*arguments.split(), "--labels", "l.jsonl", "--judge-file", "one.prompty")
        assert result.exit_code == 0, result.stderr
        assert ("contradicted (0)" in result.stdout) is arguments.startswith("agree")
        assert "two values" not in result.stdout
    result = command(*AGREE.split(), "--judge-file", "confidence_grounding")
    assert "--judge-file confidence_grounding: its judge answers with numbers on 0..1" in result.stderr


def test_calibrate_prints_the_line_to_use_and_agree_takes_its_file(command: Invoke) -> None:
    write_verdicts("v.jsonl", some_verdicts(80))
    write_rows("l.jsonl", some_labels(80))
    result = command("calibrate", "v.jsonl", "--labels", "l.jsonl", "--out", "t.json")
    assert result.exit_code == 0
    written = Path("t.json").read_bytes()
    threshold = json.loads(written)[0]["threshold"]
    again = command("calibrate", "v.jsonl", "--labels", "l.jsonl", "--out", "t.json")
    assert (again.exit_code, Path("t.json").read_bytes()) == (2, written)
    assert Path("t.json").stat().st_mode & 0o077 == 0  # for its owner alone
    assert f'load("one", model=..., threshold={threshold:g})' in result.stdout
    assert "fitted on 40 rows, tested on the other half, 40 rows" in result.stdout
    agreement = command("agree", "v.jsonl", "--labels", "l.jsonl", "--threshold", "t.json")
    assert ["threshold", f"{threshold:g}"] in words(agreement.stdout)
    notes = [line for line in agreement.stdout.splitlines() if line.startswith("note:")]
    assert len(notes) == 1
    assert "the threshold 0.5 was fitted on 40 of these 80 rows" in notes[0].replace(f"{threshold:g}", "0.5")
    new_verdicts: list[Verdict] = []
    for old in some_verdicts(80):
        new_verdicts.append(old.model_copy(update={"case_id": f"{old.case_id}+"}))
    write_verdicts("v.jsonl", new_verdicts)
    write_rows("l.jsonl", [{**row, "id": f"{row['id']}+"} for row in some_labels(80)])
    fresh = command("agree", "v.jsonl", "--labels", "l.jsonl", "--threshold", "t.json")
    assert "note:" not in fresh.stdout


def test_thresholds_that_cannot_be_written_name_the_file(command: Invoke) -> None:
    result = command(*CALIBRATE.split(), "-o", "/dev/full")
    assert (result.exit_code, result.stderr.count("/dev/full: No space left on device")) == (2, 1)


def test_compare_tells_what_is_clear_and_where_both_come_from(command: Invoke) -> None:
    write_verdicts("a.jsonl", some_verdicts())
    better = PROMPT.model_copy(update={"sha256": "c" * 64})
    write_verdicts("b.jsonl", [verdict(str(place), float(place % 2), prompt=better) for place in range(41)])
    result = command("compare", "a.jsonl", "b.jsonl", "--labels", "l.jsonl")
    lines = words(result.stdout)
    assert result.exit_code == 0
    _, *accuracy = next(line for line in lines if line[0] == "accuracy")
    assert (accuracy[:3], accuracy[-1]) == (["0.800", "1.000", "+0.200"], "clear")
    assert next(line for line in lines if line[:2] == ["pass", "rate"])[-1] != "clear"
    assert all(sha in result.stdout for sha in ("sha:aaaaaaaaaaaa", "sha:cccccccccccc"))
    assert "40 cases scored by both, 40 of them labelled, 1 scored only by the second" in result.stdout


REVERSED = "worse than guessing: are the labels reversed?"
UNGROUPED = "10 of 40 labelled rows have no 'claim' (--group), so each counts as independent"
SHARED = "40 labelled rows share their context with others"


def passage(place: int) -> dict[str, object]:
    return {"documents": [f"passage {place // 2}"]}


def other_way_round(place: int) -> dict[str, object]:
    return {"label": (place + 1) % 2}


def three_of_four_claims(place: int) -> dict[str, object]:
    return {"claim": place} if place < 30 else {}


NOTES: dict[str, tuple[Callable[[int], Mapping[str, object]], str, list[str]]] = {
    # what is changed in the rows of labels, a command, and the notes that it prints
    "nothing was retrieved": (lambda _: {"context": ""}, LABELLED, []),
    "labels the other way round": (other_way_round, AGREE, [REVERSED]),
    "rows that share a context": (passage, AGREE, [SHARED]),
    "groups of rows that share a context": (
        lambda place: {"context": f"passage {place // 2}"},
        f"{AGREE} --group context",
        [],
    ),
    "one in ten is not worth a note": (lambda place: {"context": f"passage {max(place, 3)}"}, AGREE, []),
    "more than one in ten share a context": (
        lambda place: {"context": f"passage {max(place, 4)}"},
        AGREE,
        ["5 labelled rows share"],
    ),
    "some rows without a group": (three_of_four_claims, f"{AGREE} --group claim", [UNGROUPED]),
}


@pytest.mark.parametrize(("change", "arguments", "notes"), NOTES.values(), ids=NOTES)
def test_notes_on_figures_that_mislead(
    command: Invoke, change: Callable[[int], Mapping[str, object]], arguments: str, notes: list[str]
) -> None:
    write_rows("l.jsonl", ({"id": place, "label": place % 2, **change(place)} for place in range(40)))
    result = command(*arguments.split())
    assert result.exit_code == 0, result.stderr
    lines = [line for line in result.stdout.splitlines() if line.startswith("note:")]
    for note in notes:
        assert any(note in line for line in lines), lines
    assert len(lines) == len(notes), lines
    assert "indistinguishable" not in result.stdout


ALL_IDS = {place: f"row {place + 1}" for place in range(40)}


@pytest.mark.parametrize(
    ("arguments", "n_without_id", "ids"),
    [
        pytest.param(AGREE, 40, {}, id="no ids"),
        pytest.param(AGREE, 39, {0: "row 1"}, id="an id in the first row only"),
        pytest.param(AGREE, 0, ALL_IDS, id="ids like those of rows without one"),
        pytest.param("report v.jsonl --labels l.jsonl -o r.html", 40, {}, id="report"),
    ],
)
def test_labels_that_are_matched_by_their_place_get_a_note(
    command: Invoke, arguments: str, n_without_id: int, ids: Mapping[int, str]
) -> None:
    write_verdicts("v.jsonl", [verdict(f"row {place + 1}", float(place % 2)) for place in range(40)])
    rows = [{"label": place % 2} for place in range(40)]
    write_rows(
        "l.jsonl", [row | ({"id": ids[place]} if place in ids else {}) for place, row in enumerate(rows)]
    )
    result = command(*arguments.split())
    assert result.exit_code == 0, result.stderr
    expected = (
        f"note: {n_without_id} of 40 labelled rows have no `id`, and count for the case at the same position"
    )
    assert (expected in result.stdout) == (n_without_id > 0)
    assert ("at the same position" in result.stdout) == (n_without_id > 0)


@pytest.mark.parametrize(
    ("arguments", "labels", "is_noted"),
    [
        ("agree v.jsonl", "same.jsonl", False),
        ("agree v.jsonl", "labels.jsonl", False),
        ("agree v.jsonl", "other.jsonl", True),
        ("compare v.jsonl w.jsonl", "other.jsonl", True),
        ("calibrate v.jsonl --cascade w.jsonl --accuracy 0.3", "other.jsonl", True),
        ("rate v.jsonl --random", "other.jsonl", True),
    ],
)
def test_labels_of_other_texts_get_a_note(
    command: Invoke, arguments: str, labels: str, *, is_noted: bool
) -> None:
    key = load("groundedness", model="offline").key
    verdicts: list[Verdict] = []
    rows: list[dict[str, object]] = []
    for place in range(40):
        case = {"id": str(place), "query": "When?", "context": ["At 9."], "response": f"At {place}."}
        verdicts.append(verdict(str(place), float(place % 2), judge="groundedness", key=key(case)))
        rows.append({**case, "label": place % 2})
    for name in ("v.jsonl", "w.jsonl"):
        write_verdicts(name, verdicts)
    write_rows("same.jsonl", rows)
    write_rows("labels.jsonl", [{"id": row["id"], "label": row["label"]} for row in rows])
    write_rows("other.jsonl", [{**row, "response": "We do not know."} for row in rows])
    result = command(*arguments.split(), "--labels", labels)
    assert result.exit_code == 0, result.stderr
    note = "note: 40 of 40 labelled rows differ from what was judged under their ids"
    assert (note in result.stdout) is is_noted


def test_abstentions_and_errors_do_not_leave_figures_at_one(command: Invoke) -> None:
    scores = [1.0] * 50 + [0.0] * 10 + [None] * 30
    verdicts = [verdict(str(place), score) for place, score in enumerate(scores)]
    write_verdicts("v.jsonl", [*verdicts, *(error(str(place), "timeout") for place in range(90, 100))])
    write_verdicts("w.jsonl", [verdict(str(place), float(place < 45)) for place in range(100)])
    write_rows("l.jsonl", [{"id": place, "label": int(place < 50)} for place in range(100)])
    without = command(*AGREE.split(), columns=100).stdout
    assert ["labelled,", "no", "score", "40"] in words(without)
    accuracy = next(line for line in words(without) if line[0] == "accuracy")
    assert (accuracy[1], accuracy[-1]) == ("1.000", "0.600..1.000")
    assert "a..b: the figure if all rows without a score were wrong, or all right" in without
    assert max(len(line) for line in without.splitlines()[:20]) <= 100
    arguments = ("compare", "v.jsonl", "w.jsonl", "--labels", "l.jsonl")
    compared = command(*arguments, columns=100).stdout
    assert ["first", "second", "second", "-", "first", "worst..best"] in words(compared)
    assert "including cases without a score, which count as in the run" in compared
    scored, counted = (line for line in words(compared) if line[:1] == ["accuracy"])
    assert (scored[1], scored[2], len(scored)) == ("1.000", "0.917", 6)  # no range: it is of other rows
    assert counted[1:] == ["0.700", "0.950", "+0.250", "-0.050..0.350"]
    assert "60 cases scored by both, 60 of them labelled, 40 scored only by the second" in compared
    assert (
        "40 labelled rows have no score, and no threshold changes that" in command(*CALIBRATE.split()).stdout
    )


def test_verdicts_without_any_score_are_an_error(command: Invoke) -> None:
    write_verdicts("v.jsonl", [error(str(place), "timeout") for place in range(20)])
    for line in (AGREE, CALIBRATE):
        result = command(*line.split())
        assert (result.exit_code, result.stdout) == (2, "")
        assert "v.jsonl: no labelled case has a score: timeout 20" in result.stderr


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        pytest.param(
            Figure(value=0.99996, low=0.9999, high=0.99999), "0.999 [0.999, 1.000]", id="not 1 if it is not"
        ),
        pytest.param(
            Figure(value=0.29, low=0.29, high=0.57),
            "0.290 [0.290, 0.570]",
            id="no rounding where there is none",
        ),
        pytest.param(
            Figure(value=-0.1234, low=-0.2341, high=-0.0002), "-0.123 [-0.235, 0.000]", id="below 0"
        ),
        pytest.param(Figure(value=0.3), "0.300", id="no interval"),
    ],
)
def test_intervals_are_rounded_outwards(figure: Figure, text: str) -> None:
    assert with_interval(figure) == text


def test_tables_fit_the_usual_terminal(command: Invoke) -> None:
    write_verdicts("w.jsonl", NOISE)
    for arguments in (("agree", "v.jsonl"), ("calibrate", "w.jsonl"), ("compare", "v.jsonl", "w.jsonl")):
        output = command(*arguments, "--labels", "l.jsonl", columns=80).stdout
        sentences = ("On", "In", "flips", "shift", "keeping")
        tables = [line for line in output.splitlines() if "[" in line and not line.startswith(sentences)]
        assert len(tables) >= 6
        assert max(map(len, tables)) <= 80
        assert all(line.rstrip().endswith(("]", "clear")) for line in tables)
        assert "balanced accuracy" in output


def test_a_threshold_from_another_prompt_model_or_version_gets_a_warning(command: Invoke) -> None:
    write_verdicts("new.jsonl", some_verdicts(prompt=CHANGED, model="another", library="9.9"))
    assert command(*CALIBRATE.split(), "--out", "t.json").exit_code == 0
    for line in ("agree new.jsonl", "report new.jsonl"):
        output = command(*line.split(), "--labels", "l.jsonl", "--threshold", "t.json").stdout
        assert "was fitted on verdicts from one@1.0.0|sha:aaaaaaaaaaaa|model:m|" in output
        assert "these are from one@1.1.0|sha:bbbbbbbbbbbb|model:another|groundjudge:9.9" in output


def test_a_missing_extra_is_named(command: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.model_selection", None)
    result = command("calibrate", "v.jsonl", "--labels", "l.jsonl")
    assert result.exit_code == 2
    assert 'pip install "groundjudge[analysis]"' in result.stderr
    monkeypatch.setitem(sys.modules, "numpy", None)
    for name in ("agreement", "figures", "libraries"):
        monkeypatch.delitem(sys.modules, f"groundjudge.lab.{name}")
    result = command("agree", "v.jsonl", "--labels", "l.jsonl")
    assert result.exit_code == 2
    assert 'pip install "groundjudge[analysis]"' in result.stderr
    result = command("report", "v.jsonl", "--cases", "l.jsonl")
    assert result.exit_code == 0
    assert "labels are shown without figures" in result.stdout


MESSAGES = {
    "agree v.jsonl --labels other.jsonl": "matched by id, and the first ids are '0' and 'elsewhere'",
    "agree v.jsonl --labels no_ids.jsonl": "'row 1'; a labelled row without `id` is named by its position",
    "agree v.jsonl --labels l.jsonl --label nope": "no row has a 'nope'",
    "agree l.jsonl --labels l.jsonl": "l.jsonl contains no verdicts",
    f"{AGREE} --threshold 1.5": "--threshold must be a score, 0..1, not 1.5",
    f"{AGREE} --threshold l.jsonl": "not a file of thresholds",
    f"{CALIBRATE} --judge two": "v.jsonl has no verdict by the judge 'two': choose --judge from one",
    f"{CALIBRATE} --by precision": "groundjudge: precision needs --at-least, a number from 0 to 1\n",
    "compare v.jsonl two.jsonl --judge one": "two.jsonl has no verdict by the judge 'one'",
    "compare two.jsonl both.jsonl": "no judge in common: give --judge twice, once for each file",
    "compare v.jsonl elsewhere.jsonl": "no case has a score in both v.jsonl and elsewhere.jsonl",
    f"{COMPARE} --judge one --judge one --judge one": "--judge is given more than twice",
}


@pytest.mark.parametrize(("arguments", "message"), MESSAGES.items(), ids=MESSAGES)
def test_what_cannot_be_done_is_reported_in_one_line(command: Invoke, arguments: str, message: str) -> None:
    write_verdicts("two.jsonl", some_verdicts(judge="two"))
    write_verdicts("both.jsonl", [*some_verdicts(), *some_verdicts(judge="three")])
    write_verdicts("elsewhere.jsonl", [verdict("x", 1.0)])
    write_rows("no_ids.jsonl", [{"row": 0, "label": 1}])
    write_rows("other.jsonl", [{"id": "elsewhere", "label": 1}])
    result = command(*arguments.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("groundjudge: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("line", [AGREE, CALIBRATE], ids=["agree", "calibrate"])
def test_nothing_is_said_or_read_of_judges_that_were_not_asked_for(command: Invoke, line: str) -> None:
    of_two_models: list[Verdict] = []
    for place, old in enumerate(some_verdicts(judge="b")):
        of_two_models.append(old.model_copy(update={"model": f"m{place % 2}"}))
    write_verdicts("v.jsonl", [*some_verdicts(judge="a"), *of_two_models])
    assert "note: b: these figures mix" in command(*line.split()).stdout
    labels = [{**row, "label": {"a": row["label"], "b": "unclear"}} for row in some_labels()]
    write_rows("l.jsonl", labels)
    assert command(*line.split()).exit_code == 2
    result = command(*line.split(), "--judge", "a")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "b" not in {word.strip(":") for line in words(result.stdout) for word in line}


def test_a_label_that_only_another_judge_gave_is_known(command: Invoke) -> None:
    labels = [("yes", 1.0), ("no", 0.0)] * 2
    verdicts = [labelled(str(place), "yes", 1.0, judge="a") for place in range(4)]
    for place, (word, score) in enumerate(labels):
        verdicts.append(labelled(str(place), word, score, judge="b"))
    write_verdicts("v.jsonl", verdicts)
    write_rows("l.jsonl", [{"id": str(place), "label": word} for place, (word, _) in enumerate(labels)])
    assert command(*AGREE.split(), "--judge", "a").exit_code == 0


def test_a_threshold_for_a_precision_is_fitted_on_one_half_and_tested_on_the_other_with_a_bound(
    command: Invoke,
) -> None:
    scores = [place / 100 for place in range(100)]
    write_verdicts("v.jsonl", (verdict(str(place), score) for place, score in enumerate(scores)))
    write_rows("l.jsonl", ({"id": place, "label": int(score >= 0.4)} for place, score in enumerate(scores)))
    fit = (*CALIBRATE.split(), "--by", "precision", "--at-least", "0.95")
    result = command(*fit, "-o", "t.json")
    assert result.exit_code == 0
    (calibration,) = json.loads(Path("t.json").read_text())
    assert 0.3 < calibration["threshold"] <= 0.4
    assert "the lowest with a precision of 0.95" in result.stdout
    assert f"is {calibration['bound']:.3f} or more" in " ".join(result.stdout.split())
    write_rows("l.jsonl", ({"id": place, "label": int(score < 0.4)} for place, score in enumerate(scores)))
    result = command(*fit)
    assert result.exit_code == 2
    assert "no threshold reaches a precision of 0.95 with these labels" in " ".join(result.stderr.split())
