"""Labels: read from files, and joined with verdicts so that every verdict is counted once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from make_verdicts import error, labelled, verdict

from groundjudge import Choices, Scale, Verdict, load_rubric
from groundjudge.errors import CaseError
from groundjudge.lab.labels import (
    HumanLabel,
    LabelError,
    Labels,
    LabelVocabulary,
    join,
    labels_for,
    read_labels,
    rubric_vocabulary,
)
from groundjudge.runs.latest_verdicts import latest_verdicts
from groundjudge.runs.verdict_file import read_verdicts


@pytest.mark.parametrize(
    ("value", "number"),
    [
        pytest.param(True, 1.0, id="true"),
        pytest.param(1, 1.0, id="1"),
        pytest.param("1", 1.0, id="text of 1"),
        pytest.param("true", 1.0, id="text of true"),
        pytest.param("Yes", 1.0, id="yes"),
        pytest.param(0, 0.0, id="0"),
        pytest.param(" False ", 0.0, id="text of false with blanks"),
        pytest.param("no", 0.0, id="no"),
        pytest.param("PASS", 1.0, id="pass"),
        pytest.param("fail", 0.0, id="fail"),
        pytest.param(3, 3.0, id="a grade"),
        pytest.param("2.5", 2.5, id="text of a decimal"),
        pytest.param(None, None, id="no label"),
        pytest.param("  ", None, id="blank text"),
        pytest.param(float("nan"), None, id="NaN"),
        pytest.param("NaN", None, id="text of NaN"),
    ],
)
def test_boolean_number_or_their_text_is_a_label(value: object, number: float | None) -> None:
    assert labels_for("one", Labels({"a": value})).by_case == {"a": HumanLabel(number)}


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(float("inf"), id="infinity"),
        pytest.param([1], id="a list"),
        pytest.param({"one": [1]}, id="a list for a judge without a scale"),
    ],
)
def test_unreadable_label_raises_an_error_that_names_the_case(value: object) -> None:
    with pytest.raises(LabelError, match=r"unreadable_label.*case 7"):
        labels_for("one", Labels({"case 7": value}))


@pytest.mark.parametrize(
    ("judge", "value", "number"),
    [
        pytest.param("groundedness", 5, 1.0, id="best level"),
        pytest.param("groundedness", "4", 0.75, id="text of a level"),
        pytest.param("groundedness", 3, None, id="level that is not applicable"),
        pytest.param("groundedness", "", None, id="no label"),
        pytest.param("confidence_grounding", 0.8, 0.8, id="score on a scale of 0 to 1"),
        pytest.param("confidence_grounding", True, 1.0, id="boolean on a scale of 0 to 1"),
        pytest.param("statement_groundedness", [9, 10], 0.9, id="sentences, of which the weakest decides"),
        pytest.param(
            "passage_quality", {"recall": 5, "precision": 3}, 2 / 3, id="parts by name"
        ),  # 2 * 1 * 0.5 / 1.5
    ],
)
def test_label_on_the_judges_scale_becomes_a_score(judge: str, value: object, number: float | None) -> None:
    human_label = labels_for(judge, Labels({"a": {judge: value, "another": 7}})).by_case["a"]
    assert human_label.number == (None if number is None else pytest.approx(number))


@pytest.mark.parametrize(
    ("judge", "value"),
    [
        pytest.param("groundedness", 6, id="number off the scale"),
        pytest.param("groundedness", True, id="boolean, where 1 is the worst value"),
        pytest.param("groundedness", [4, 5], id="several values of one score"),
        pytest.param("statement_groundedness", [9, None], id="sentence without a value"),
        pytest.param("statement_groundedness", [], id="no sentence"),
        pytest.param("passage_quality", {"recall": 5}, id="a part without a value"),
    ],
)
def test_label_off_the_judges_scale_raises_an_error_that_names_the_case(judge: str, value: object) -> None:
    with pytest.raises(LabelError, match=r"unreadable_label.*case 7.*on the scale of"):
        labels_for(judge, Labels({"case 7": {judge: value}}))


def test_zeros_and_ones_on_another_scale_are_refused() -> None:
    values = Labels({"a": {"statement_groundedness": 1}, "b": {"statement_groundedness": 0}})
    with pytest.raises(
        LabelError, match=r"unreadable_label.* are 0 or 1, but its scale is 0\.\.10: if 1 means"
    ):
        labels_for("statement_groundedness", values)
    on_scale = {**values.by_case, "c": {"statement_groundedness": 8}}
    assert labels_for("statement_groundedness", Labels(on_scale)).by_case["a"].number == 0.1


def rows_of(*labels: object) -> list[dict[str, Any]]:
    """Rows on one case, all alike but for the label."""
    return [{"id": "a", "label": label} for label in labels]


def test_labels_and_groups_are_read_from_any_field_of_row_or_metadata() -> None:
    rows: list[dict[str, Any]] = [
        {"id": "a", "ok": 1, "claim": 7},
        {"id": 2, "metadata": {"ok": 0, "claim": 7}},
        {"ok": None, "claim": None},
        {"ok": "true"},
        {"id": "a", "ok": "TRUE"},
    ]
    labels = read_labels("l.jsonl", "ok", "claim", rows)
    expected = Labels({"a": 1, "2": 0, "row 4": "true"}, {"a": "7", "2": "7"}, n_without_id=1)
    assert labels == expected


def test_labels_are_read_from_csv(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("id;label;group\na;1;x\nb;;x\n")
    assert read_labels(path, group="group") == Labels({"a": "1"}, {"a": "x", "b": "x"})


@pytest.mark.parametrize(
    ("rows", "key", "group", "code"),
    [
        pytest.param(rows_of(1), "ok", None, "no_labels", id="no such field"),
        pytest.param(
            rows_of(1, "TRUE", 0), "label", None, "label_conflict", id="two labels of nobody in particular"
        ),
        pytest.param(
            [CaseError("unreadable_row", "row 1")], "label", None, "unreadable_label", id="unreadable row"
        ),
    ],
)
def test_unusable_file_of_labels_raises(rows: list[Any], key: str, group: str | None, code: str) -> None:
    with pytest.raises(LabelError, match=code):
        read_labels("l.jsonl", key, group, rows)


TWO_LABELS = "If an id has two labels, correct one, or name who gave each in `annotator`"


@pytest.mark.parametrize(
    ("name", "text", "code", "message"),
    [
        pytest.param(
            "l.csv",
            "id,label\na,1\nb,0,x\n",
            "unreadable_label",
            "line 3: 3 cells, but the header has 2",
            id="one row",
        ),
        pytest.param(
            "l.csv",
            "id,label\na,1\na,0\n",
            "label_conflict",
            f"row 2: 'a' has two labels, '1' and '0'. {TWO_LABELS}",
            id="one conflict",
        ),
        pytest.param(
            "l.csv",
            "id,label\na,1\na,0\nb,1\nb,0\nb,1\n",
            "label_conflict",
            "2 faults: row 2: 'a' has two labels, '1' and '0'; row 4: 'b' has two labels, '1' and '0'. "
            + TWO_LABELS,
            id="two conflicts",
        ),
        pytest.param(
            "l.csv",
            "id,label\na,1\na,0\nb,1,x\nc,1\n",
            "unreadable_label",
            "2 faults: row 2: 'a' has two labels, '1' and '0'; line 4: 3 cells, but the header has 2. "
            + TWO_LABELS,
            id="a conflict and a row",
        ),
        pytest.param(
            "l.jsonl",
            '{"id": "a", "label": 1}\n[1]\n{"id": "b"\n',
            "unreadable_label",
            "2 faults: line 2: a row must be a JSON object, not list; "
            "line 3: not JSON (column 11: Expecting ',' delimiter)",
            id="lines of JSON",
        ),
        pytest.param(
            "l.csv",
            "id,label\n" + "a,1,\n" * 10,
            "unreadable_label",
            "10 faults: "
            + "; ".join(f"line {number}: 3 cells, but the header has 2" for number in range(2, 12)),
            id="ten rows, all of them named",
        ),
        pytest.param(
            "l.csv",
            "id,label\n" + "a,1,\n" * 13,
            "unreadable_label",
            "13 faults: "
            + "; ".join(f"line {number}: 3 cells, but the header has 2" for number in range(2, 12))
            + "; and 3 more",
            id="thirteen rows",
        ),
    ],
)
def test_one_message_names_all_faults_of_a_file_of_labels(
    tmp_path: Path, name: str, text: str, code: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(LabelError) as raised:
        read_labels(path)
    assert (raised.value.code, raised.value.message) == (code, f"{path}: {message}")


def test_one_message_names_all_labels_that_cannot_be_read() -> None:
    with pytest.raises(LabelError) as raised:
        labels_for("one", Labels({"a": float("inf"), "b": 1, "c": [1]}))
    assert raised.value.message == (
        "2 faults: a: the label inf is neither a boolean nor a number; "
        "c: the label [1] is neither a boolean nor a number"
    )


@pytest.mark.parametrize(
    ("judge", "vocabulary", "message"),
    [
        pytest.param(
            "one",
            None,
            "'supported' (3 rows), 'maybe' (1 row): not a number, yes or no, true or false, or pass or fail",
            id="a judge whose labels nobody declared",
        ),
        pytest.param(
            "one",
            LabelVocabulary({"no": 0.0, "supported": 1.0}, 0.5),
            "'maybe' (1 row): not a label of one ('no', 'supported')",
            id="a judge with declared labels",
        ),
        pytest.param(
            "groundedness",
            None,
            "'supported' (3 rows), 'maybe' (1 row): not a label of groundedness ('ungrounded', "
            "'incorrect', 'incomplete', 'grounded', 'nothing_to_ground')",
            id="a built-in judge",
        ),
    ],
)
def test_one_message_counts_the_words_that_nobody_declared(
    judge: str, vocabulary: LabelVocabulary | None, message: str
) -> None:
    labels = Labels(
        dict(zip("abcdef", ["supported", "maybe", "supported", "no", "supported", None], strict=True))
    )
    with pytest.raises(LabelError) as raised:
        labels_for(judge, replace(labels, vocabulary=vocabulary))
    remedy = (
        "; correct the label, choose its judge with --judge, or name the prompt file that defines it with "
        "--judge-file"
    )
    assert (raised.value.code, raised.value.message) == ("unreadable_label", message + remedy)


def test_verdicts_without_score_or_label_and_earlier_ones_are_counted_by_reason() -> None:
    scores = {"b": 0.0, "unlabelled": 0.5, "not applicable": None, "a": 1.0}
    verdicts = [
        verdict("a", 0.0),  # judged again
        *(verdict(case_id, score) for case_id, score in scores.items()),
        *(error(case_id, "timeout") for case_id in "cde"),
        error("row 9", "unreadable_row", judge=""),
        verdict("a", 0.25, judge="two"),
    ]
    first, second = join(verdicts, Labels(dict.fromkeys("abcdeX", 1)))
    rows = [(row.case_id, row.verdict.score, row.human_label.number) for row in first.labelled_rows]
    assert rows == [("b", 0.0, 1.0), ("a", 1.0, 1.0)]
    assert first.counts == {
        "n_error": 3, "n_not_applicable": 1, "n_unlabelled": 1, "n_label_not_applicable": 0,
        "n_unjudged": 1, "n_repeated": 1,
    }  # fmt: skip
    assert (second.counts["n_unjudged"], second.judge) == (5, "two")


CODES = ("timeout", "missing_field")


@given(
    st.lists(
        st.tuples(
            st.integers(0, 9).map(str),
            st.sampled_from(["one", "two"]),
            st.sampled_from([0.0, 1.0, None, *CODES]),
        )
    ),
    st.dictionaries(st.integers(0, 12).map(str), st.sampled_from([0, 1, None])),
)
def test_every_verdict_is_counted_exactly_once(
    rows: list[tuple[str, str, Any]], labels: dict[str, Any]
) -> None:
    verdicts = [
        error(case_id, result, judge=judge) if result in CODES else verdict(case_id, result, judge=judge)
        for case_id, judge, result in rows
    ]
    for judged_rows in join(verdicts, Labels(labels)):
        n_excluded = sum(judged_rows.counts.values()) - judged_rows.counts["n_unjudged"]
        n_verdicts = sum(judge == judged_rows.judge for _, judge, _ in rows)
        assert len(judged_rows.labelled_rows) + n_excluded == n_verdicts


def verdicts_with_keys(*keys: str) -> list[Verdict]:
    """Verdicts on a case, written in this order: with "!" errors; the letter is the key, "-" for none."""
    verdicts: list[Verdict] = []
    for place, key in enumerate(keys):
        keyless = error("a", "timeout") if "!" in key else verdict("a", place / 10)
        verdicts.append(keyless.model_copy(update={"key": None if "-" in key else key[0]}))
    return verdicts


@pytest.mark.parametrize(
    ("keys", "counts"),
    [
        pytest.param(["k!", "k"], 1, id="error, then verdict"),
        pytest.param(["k", "k!"], 0, id="verdict, then error"),  # a table that is appended to keeps no order
        pytest.param(["k!", "k", "k!"], 1, id="verdict between errors"),
        pytest.param(["k", "k"], 1, id="two verdicts"),
        pytest.param(
            ["k", "m!"], 1, id="error of a changed case"
        ),  # the case or the judge was changed: there is no verdict on what it is now
        pytest.param(["k", "-!"], 0, id="error without a key"),
        pytest.param(["-", "k!"], 0, id="verdict without a key"),
    ],
)
def test_verdict_counts_rather_than_an_error_and_the_newer_of_two(keys: list[str], counts: int) -> None:
    verdicts = verdicts_with_keys(*keys)
    other_verdicts = [verdict("b", 1.0), verdict("a", 1.0, judge="two"), error("b", "timeout", judge="two")]
    latest = latest_verdicts([*other_verdicts, *verdicts])
    assert [verdict_of_case for verdict_of_case in latest if verdict_of_case not in other_verdicts] == [
        verdicts[counts]
    ]
    assert sum(latest.n_repeated.values()) == len(keys) - 1
    assert len(latest) == len(other_verdicts) + 1
    assert set(map(id, other_verdicts)) <= set(map(id, latest))


def test_verdicts_without_a_case_id_are_all_kept() -> None:
    anonymous = verdict("a", 1.0).model_copy(update={"case_id": None})
    latest = latest_verdicts([anonymous, anonymous])
    assert ([*latest], latest.n_repeated, latest.n_cases) == ([anonymous, anonymous], {}, 2)


def test_unreadable_lines_of_a_verdict_file_become_case_errors(tmp_path: Path) -> None:
    good = verdict("a", 1.0)
    line = good.model_dump_json()
    (tmp_path / "v.jsonl").write_text(f'{line}\n{{"judge": "one"}}\n{line[:40]}')
    first, *faults = read_verdicts(tmp_path / "v.jsonl")
    assert first == good
    assert [fault.code for fault in faults if isinstance(fault, CaseError)] == ["unreadable_row"] * 2


YES, NO, PARTLY, NA = ("yes", 1.0), ("no", 0.0), ("partly", 0.5), ("cannot tell", None)
SUPPORT = LabelVocabulary(
    {"not supported": 0.0, "partly supported": 0.5, "supported": 1.0, "cannot tell": None}, 0.5
)
ANSWERS = LabelVocabulary({"no": 0.0, "partly": 0.5, "yes": 1.0, "cannot tell": None}, 0.5)
REVERSED = LabelVocabulary({"Yes": 0.0, "No": 1.0}, 0.5)


def labelled_verdicts(*pairs: tuple[str, float | None]) -> list[Verdict]:
    """Verdicts with a label and its score each."""
    return [labelled(str(place), *pair) for place, pair in enumerate(pairs)]


def test_a_prompt_file_knows_labels_that_no_verdict_has() -> None:
    scale = Choices({"supported": 1, "cannot tell": None, "not supported": 0})
    rubric = load_rubric("groundedness", scale=scale, levels={}, not_applicable=(), threshold=0.7)
    assert rubric_vocabulary(rubric) == LabelVocabulary(
        {"not supported": 0.0, "supported": 1.0, "cannot tell": None}, 0.7
    )
    assert rubric_vocabulary(load_rubric("confidence_grounding", scale=Scale(worst=0, best=1))).scores == {}
    scores = rubric_vocabulary(load_rubric("groundedness")).scores
    assert (scores["incomplete"], scores["nothing_to_ground"]) == (0.75, None)


@pytest.mark.parametrize(
    ("text", "number", "word"),
    [
        pytest.param("SUPPORTED.", 1.0, "supported", id="other case and a full stop"),
        pytest.param("“partly-supported”", 0.5, "partly supported", id="quoted and hyphenated"),
        pytest.param({"one": "Supported"}, 1.0, "supported", id="label for this judge"),
        pytest.param({"two": "Supported"}, None, None, id="label for another judge"),
        pytest.param("yes", 1.0, None, id="yes as 1"),
    ],
)
def test_people_use_the_judges_labels_booleans_or_numbers(
    text: object, number: float | None, word: str | None
) -> None:
    labels = Labels({"a": text}, vocabulary=SUPPORT)
    assert labels_for("one", labels).by_case == {"a": HumanLabel(number, word)}


@pytest.mark.parametrize(
    ("vocabulary", "texts", "numbers"),
    [
        pytest.param(REVERSED, ["Yes", "No"], [0.0, 1.0], id="yes and no reversed"),
        pytest.param(LabelVocabulary({"1": 0.0, "0": 1.0}), [0, 1], [1.0, 0.0], id="1 and 0 reversed"),
        pytest.param(
            LabelVocabulary({"true": 0.0, "false": 1.0}),
            [False, True],
            [1.0, 0.0],
            id="true and false reversed",
        ),
    ],
)
def test_yes_1_or_true_is_the_judges_label_where_it_has_one(
    vocabulary: LabelVocabulary, texts: Sequence[object], numbers: Sequence[float]
) -> None:
    labels = Labels(dict(zip("ab", texts, strict=True)), vocabulary=vocabulary)
    human_labels = labels_for("one", labels).by_case
    assert [human_labels[case_id].number for case_id in "ab"] == numbers


@pytest.mark.parametrize(
    ("texts", "vocabulary", "unknown"),
    [
        pytest.param(
            ["supported", "yes"],
            SUPPORT,
            "'yes' \\(1 row\\): not a label of one",
            id="yes is not 1 among labels",
        ),
        pytest.param(
            ["No", "Yes"], LabelVocabulary({"No": 1.0}), "'Yes'", id="yes is unknown where no is a label"
        ),  # the judge may mean 0 by it
        pytest.param(
            ["unsupported"],
            SUPPORT,
            "'not supported', 'partly supported', 'supported', 'cannot tell'",
            id="unknown word",
        ),
    ],
)
def test_an_unknown_word_is_an_error_that_lists_the_labels(
    texts: Sequence[str], vocabulary: LabelVocabulary, unknown: str
) -> None:
    with pytest.raises(LabelError, match=f"unreadable_label: .*{unknown}"):
        labels_for("one", Labels(dict(zip("ab", texts, strict=False)), vocabulary=vocabulary))


def test_not_applicable_is_counted_on_either_side_and_never_scored() -> None:
    judge_labels = {"both": NA, "judge": NA, "people": YES, "none": YES, "scored": YES, "no": NO}
    verdicts = [labelled(case_id, label, score) for case_id, (label, score) in judge_labels.items()]
    verdicts.append(error("error", "timeout"))
    people = {"both": "Cannot tell", "judge": "yes", "people": "cannot_tell", "scored": "no", "no": "no"}
    people |= {"error": "yes", "unjudged": "cannot tell"}
    (judged_rows,) = join(verdicts, Labels(people, vocabulary=ANSWERS))
    rows = [(row.case_id, row.human_label.number, row.human_label.word) for row in judged_rows.labelled_rows]
    assert rows == [("scored", 0.0, "no"), ("no", 0.0, "no")]
    assert judged_rows.counts == {
        "n_not_applicable": 2, "n_label_not_applicable": 1, "n_unlabelled": 1, "n_error": 1, "n_unjudged": 1,
        "n_repeated": 0,
    }  # fmt: skip
    pairs = [(row.human_label.word, row.judge_label) for row in judged_rows.worded_rows]
    assert pairs[:3] == [("cannot tell", "cannot tell"), ("yes", "cannot tell"), ("cannot tell", "yes")]
    assert pairs[3:] == [("no", "yes"), ("no", "no")]


@pytest.mark.parametrize(
    ("people", "threshold"),
    [
        pytest.param({"a": True, "b": 0}, 1.0, id="booleans"),
        pytest.param({"a": "1", "b": "false"}, 1.0, id="texts of numbers"),
        pytest.param({"a": 0.9, "b": 0.2}, None, id="grades"),
        pytest.param({"a": 1, "b": 0, "unjudged": 3}, None, id="grades of which those judged are 0 and 1"),
    ],
)
def test_numbers_and_booleans_are_not_paired_with_labels(
    people: Mapping[str, Any], threshold: float | None
) -> None:
    (judged_rows,) = join([labelled("a", *YES), labelled("b", *NO)], Labels(people))
    assert (len(judged_rows.labelled_rows), judged_rows.worded_rows) == (2, [])
    assert judged_rows.default_label_threshold == threshold


def test_a_judge_that_answers_with_numbers_is_measured_on_the_scores_of_words() -> None:
    verdicts = [
        *labelled_verdicts(YES, PARTLY, NO),
        *(verdict(case_id, 0.8, judge="two") for case_id in "012"),
    ]
    labels = Labels({"0": "yes", "1": "partly", "2": "no"}, vocabulary=ANSWERS)
    in_words, in_numbers = join(verdicts, labels)
    for judged_rows in (in_words, in_numbers):
        assert [row.human_label.number for row in judged_rows.labelled_rows] == [1.0, 0.5, 0.0]
    assert (len(in_words.worded_rows), in_numbers.worded_rows) == (3, [])


@pytest.mark.parametrize(
    ("labels_of_people", "expected"),
    [
        pytest.param([1.0, "true", 0], 1.0, id="two of three agree"),
        pytest.param([1, 0], None, id="as many for as against"),
        pytest.param([1, None, None], None, id="most could not tell"),
    ],
)
def test_the_label_that_most_people_gave_counts(labels_of_people: list[Any], expected: object) -> None:
    rows = [row | {"annotator": f"p{place}"} for place, row in enumerate(rows_of(*labels_of_people))]
    labels = read_labels("l.jsonl", rows=[*rows, {"id": "b", "label": 1}])
    assert labels.by_case.get("a") == expected
    assert labels.reviewed_ids == {"a", "b"}


@pytest.mark.parametrize(
    ("labels_of_people", "message"),
    [
        pytest.param([1, 0], r"such as 'a' \(1, 0\)", id="as many for as against"),
        pytest.param([None, 1, None], r"such as 'a' \(1\)", id="most could not tell"),
    ],
)
def test_file_in_which_people_agree_on_no_case_is_refused(labels_of_people: list[Any], message: str) -> None:
    rows = [row | {"annotator": f"p{place}"} for place, row in enumerate(rows_of(*labels_of_people))]
    with pytest.raises(LabelError, match=f"label_conflict: .*{message}"):
        read_labels("l.jsonl", rows=rows)


@pytest.mark.parametrize(
    ("rows", "by_case", "annotators"),
    [
        pytest.param(rows_of(None, 1, ""), {"a": 1}, {}, id="rows of nobody without a label"),
        pytest.param(
            [row | {"metadata": {"annotator": f"p{place}"}} for place, row in enumerate(rows_of(1, 0, 0))],
            {"a": 0},
            {"p0": {"a": 1}, "p1": {"a": 0}, "p2": {"a": 0}},
            id="people in the metadata",
        ),
    ],
)
def test_rows_on_one_case_are_one_label_of_each_person(
    rows: list[Any], by_case: Mapping[str, Any], annotators: Mapping[str, Any]
) -> None:
    labels = read_labels("l.jsonl", rows=rows)
    assert (labels.by_case, labels.annotators) == (by_case, annotators)


def test_row_of_a_person_who_could_not_tell_conflicts_with_a_label_of_the_same_person() -> None:
    with pytest.raises(LabelError, match="label_conflict"):
        read_labels("l.jsonl", rows=[row | {"annotator": "p"} for row in rows_of(1, None)])


@pytest.mark.parametrize(
    ("cases", "n_same_context"),
    [
        pytest.param([("a", "x"), ("b", "x"), ("c", "y")], 2, id="two cases"),
        pytest.param([("a", "x"), ("a", "x"), ("b", "y")], 0, id="two people's rows on one case"),
        pytest.param([("a", "x"), ("a", "x"), ("b", "x")], 2, id="two rows on one of two cases"),
    ],
)
def test_cases_that_share_a_context_are_counted(cases: list[tuple[str, str]], n_same_context: int) -> None:
    rows: list[dict[str, Any]] = []
    for place, (case_id, context) in enumerate(cases):
        rows.append({"id": case_id, "label": 1, "annotator": place, "context": context})
    assert read_labels("l.jsonl", rows=rows).n_same_context == n_same_context


def test_raw_numbers_among_words_are_refused() -> None:
    labels = Labels({"a": 1, "b": "grounded"})
    with pytest.raises(LabelError, match=r"'1'.*not a label of groundedness"):
        labels_for("groundedness", labels)


def test_numbers_of_a_column_with_gaps_are_the_labels_in_digits() -> None:
    vocabulary = LabelVocabulary({"1": 0.0, "0": 1.0}, 1.0)
    assert [vocabulary.find_label(value) for value in (1.0, 0.0, 0.5)] == ["1", "0", None]


def test_the_annotator_zero_is_a_person() -> None:
    rows = [{"id": "a", "label": 1, "annotator": 0}, {"id": "a", "label": 1, "annotator": 1}]
    assert set(read_labels("labels", rows=rows).annotators) == {"0", "1"}
