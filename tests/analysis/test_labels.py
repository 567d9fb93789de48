"""Labels: read from files, and joined with verdicts so that every verdict is counted once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from make_verdicts import error, verdict

from groundjudge.analysis.labels import LabelError, Labels, join, label_of, number_of, read_labels
from groundjudge.errors import CaseError
from groundjudge.runs.verdict_file import last_of_each, read_verdicts


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (True, 1.0), (False, 0.0), (1, 1.0), (0, 0.0), ("1", 1.0), ("0", 0.0), ("true", 1.0),
        (" False ", 0.0), ("Yes", 1.0), ("no", 0.0), (3, 3.0), ("2.5", 2.5),
        (None, None), ("", None), ("  ", None),
    ],
)  # fmt: skip
def test_boolean_number_or_their_text_is_a_label(value: object, number: float | None) -> None:
    assert number_of(value, "a") == number


@pytest.mark.parametrize("value", ["maybe", "supported", "nan", float("inf"), [1], {"a": 1}])
def test_unreadable_label_raises_an_error_that_names_the_case(value: object) -> None:
    with pytest.raises(LabelError, match="case 7") as caught:
        number_of(value, "case 7")
    assert caught.value.code == "unreadable_label"


@pytest.mark.parametrize(
    ("judge", "value", "label"),
    [
        ("groundedness", 5, 1.0),
        ("groundedness", 2, 0.25),
        ("groundedness", 3, None),  # not applicable
        ("groundedness", None, None),
        ("confidence_grounding", 0.8, 0.8),
        ("statement_groundedness", [9, 10], 0.95),
        ("statement_groundedness", 7, 0.7),
        ("passage_quality", {"recall": 5, "precision": 3}, 2 / 3),  # 2 * 1 * 0.5 / 1.5
        ("knowledge_hallucination", 74, 0.74),
        ("somebody's own", 0.5, 0.5),
    ],
)
def test_label_on_the_judges_scale_becomes_a_score(judge: str, value: object, label: float | None) -> None:
    assert label_of({judge: value}, judge, "a") == (None if label is None else pytest.approx(label))


@pytest.mark.parametrize(
    ("judge", "value"),
    [("groundedness", each) for each in (6, [4, 5], "good")] + [("statement_groundedness", [9, None])],
)
def test_label_off_the_judges_scale_raises_an_error_that_names_the_case(judge: str, value: object) -> None:
    with pytest.raises(LabelError, match="case 7"):
        label_of({judge: value}, judge, "case 7")


def test_labels_and_groups_are_read_from_any_field_of_row_or_metadata(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {"id": "a", "ok": 1, "claim": 7},
        {"id": 2, "metadata": {"ok": 0, "claim": 7}},
        {"ok": None, "claim": None},
        {"ok": "true"},
    )
    found = read_labels(path, "ok", "claim")
    assert found == Labels({"a": 1, "2": 0, "row 4": "true"}, {"a": "7", "2": "7"})


def test_labels_are_read_from_csv(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("id;label;group\na;1;x\nb;;x\n")
    assert read_labels(path, group="group") == Labels({"a": "1"}, {"a": "x", "b": "x"})


@pytest.mark.parametrize(
    ("rows", "key", "group", "code"),
    [
        ([{"id": "a", "label": 1}], "ok", None, "no_labels"),
        ([{"id": "a", "label": 1}], "label", "claim", "no_labels"),
        ([{"id": "a", "label": 1}, {"id": "a", "label": 0}], "label", None, "label_conflict"),
        (["{"], "label", None, "unreadable_label"),
    ],
)
def test_unusable_file_of_labels_raises(
    tmp_path: Path, rows: list[Any], key: str, group: str | None, code: str
) -> None:
    with pytest.raises(LabelError) as caught:
        read_labels(written(tmp_path, *rows), key, group)
    assert caught.value.code == code


def test_verdicts_without_score_or_label_are_counted_by_reason() -> None:
    verdicts = [
        verdict("a", 1.0),
        verdict("b", 0.0),
        verdict("unlabelled", 0.5),
        verdict("not applicable", None),
        error("c", "timeout"),
        error("d", "missing_field"),
        error("e", "refused"),
        error("row 9", "unreadable_row", judge=""),
        verdict("a", 0.25, judge="two"),
    ]
    one, two = join(verdicts, Labels(dict.fromkeys("abcdeX", 1)))
    assert [(row.case_id, row.verdict.score, row.people.number) for row in one.labelled] == [
        ("a", 1.0, 1.0),
        ("b", 0.0, 1.0),
    ]
    assert one.counts == {
        "n_error": 2, "n_missing": 1, "n_not_applicable": 1, "n_unlabelled": 1, "n_label_not_applicable": 0,
        "n_unjudged": 1, "n_repeated": 0,
    }  # fmt: skip
    assert (two.counts["n_unjudged"], two.judge) == (5, "two")


@given(
    st.lists(
        st.tuples(
            st.integers(0, 9).map(str),
            st.sampled_from(["one", "two"]),
            st.sampled_from([0.0, 1.0, None, "timeout", "missing_field"]),
        )
    ),
    st.dictionaries(st.integers(0, 12).map(str), st.sampled_from([0, 1, None])),
)
def test_every_verdict_is_counted_exactly_once(
    rows: list[tuple[str, str, Any]], labels: dict[str, Any]
) -> None:
    verdicts = [
        error(case_id, result, judge=judge)
        if isinstance(result, str)
        else verdict(case_id, result, judge=judge)
        for case_id, judge, result in rows
    ]
    for found in join(verdicts, Labels(labels)):
        others = sum(found.counts.values()) - found.counts["n_unjudged"]
        assert len(found.labelled) + others == sum(judge == found.judge for _, judge, _ in rows)


def test_last_of_several_verdicts_on_a_case_counts() -> None:
    (found,) = join([error("a", "timeout"), verdict("b", 0.0), verdict("a", 1.0)], Labels({"a": 1, "b": 1}))
    assert [row.verdict.score for row in found.labelled] == [0.0, 1.0]
    assert (found.counts["n_repeated"], found.counts["n_error"]) == (1, 0)


def test_verdicts_without_a_case_id_are_all_kept() -> None:
    anonymous = verdict("a", 1.0).model_copy(update={"case_id": None})
    assert last_of_each([anonymous, anonymous]) == ([anonymous, anonymous], 0)


def test_unreadable_lines_of_a_verdict_file_become_case_errors(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    good = verdict("a", 1.0)
    path.write_text(f'{good.model_dump_json()}\n{{"judge": "one"}}\n{good.model_dump_json()[:40]}')
    first, second, third = read_verdicts(path)
    assert first == good
    assert isinstance(second, CaseError)
    assert "status" in second.message
    assert isinstance(third, CaseError)


def written(folder: Path, *rows: Any) -> Path:
    path = folder / "labels.jsonl"
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return path
