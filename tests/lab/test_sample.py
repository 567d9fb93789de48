"""Which rows are drawn for people to label."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from make_verdicts import error, verdict

from groundjudge import Verdict
from groundjudge.lab.labels import LabelError
from groundjudge.lab.sample import HIGHER, LOWER, allocation, draw, read_sample, save_sample


def rows(**counts: int) -> list[Verdict]:
    """So many verdicts of each kind, with ids that say which."""
    made: list[Verdict] = []
    for kind, n in counts.items():
        for place in range(n):
            case_id = f"{kind}-{place}"
            score = {"passed": 0.9, "failed": 0.4 * place / n}.get(kind)
            made.append(error(case_id, "timeout") if kind == "error" else verdict(case_id, score))
    return made


def drawn(verdicts: list[Verdict], n: int) -> dict[str, tuple[int, int]]:
    """The rows and the drawn units of each stratum."""
    return {one.name: (one.rows, len(one.drawn)) for one in draw(verdicts, n).strata}


@pytest.mark.parametrize(
    ("counts", "n", "expected"),
    [
        ({"passed": 900, "failed": 100}, 100, {"passed": (900, 62), LOWER: (50, 19), HIGHER: (50, 19)}),
        ({"passed": 900, "failed": 100}, 50, {"passed": (900, 35), "failed": (100, 15)}),
        ({"passed": 990, "failed": 10}, 100, {"passed": (990, 90), "failed": (10, 10)}),
        ({"passed": 500, "error": 480, "na": 20}, 100,
         {"passed": (500, 73), "error": (480, 22), "not applicable": (20, 5)}),
        ({"error": 30}, 10, {"error": (30, 10)}),
    ],
)  # fmt: skip
def test_every_stratum_gets_its_share_of_the_labels(
    counts: dict[str, int], n: int, expected: dict[str, tuple[int, int]]
) -> None:
    assert drawn(rows(**counts), n) == expected


@given(st.dictionaries(st.sampled_from("abcd"), st.integers(1, 60), min_size=1), st.data())
def test_labels_add_up_and_no_stratum_is_left_out(sizes: dict[str, int], data: st.DataObject) -> None:
    least = sum(min(5, size) for size in sizes.values())
    n = data.draw(st.integers(least, sum(sizes.values())))
    counts = allocation(sizes, n)
    assert sum(counts.values()) == n
    assert all(min(5, size) <= counts[name] <= size for name, size in sizes.items())


def test_the_same_seed_draws_the_same_rows_in_whatever_order_the_verdicts_are() -> None:
    verdicts = rows(passed=200, failed=60, error=9)
    first = draw(verdicts, 50, double=10, seed=3)
    random.Random(1).shuffle(verdicts)  # noqa: S311  no secret
    assert draw(verdicts, 50, double=10, seed=3) == first
    assert draw(verdicts, 50, double=10, seed=4).ids != first.ids
    assert len(first.ids) == len(set(first.ids)) == 50
    assert set(first.double) < set(first.ids)


def test_the_probabilities_of_all_rows_sum_to_the_number_of_labels() -> None:
    sample = draw(rows(passed=200, failed=60, error=9), 50)
    assert sum(one.probability * one.rows for one in sample.strata) == pytest.approx(50)
    assert sum(1 / each for each in sample.probabilities.values()) == pytest.approx(sample.rows)


def test_every_row_of_a_stratum_is_drawn_as_often_as_its_probability_says() -> None:
    verdicts = rows(passed=60, failed=15)
    counts = Counter(case_id for seed in range(400) for case_id in draw(verdicts, 30, seed=seed).ids)
    for case_id, probability in (("passed-0", 20 / 60), ("failed-0", 10 / 15)):
        assert counts[case_id] / 400 == pytest.approx(probability, abs=0.1)


def test_the_order_of_the_rows_and_the_name_of_the_draw_tell_nothing_of_the_strata() -> None:
    sample = draw(rows(passed=200, failed=60), 50)
    ids = [each for stratum in sample.strata for unit in stratum.drawn for each in unit]
    stratum = sample.strata[0].model_copy(update={"drawn": tuple((each,) for each in sorted(ids))})
    other = sample.model_copy(update={"strata": (stratum,)})
    assert (other.ids, other.id) == (sample.ids, sample.id)


def test_cases_of_other_contents_give_the_draw_another_name() -> None:
    one, other = (
        draw([verdict(f"c{place}", 0.9, key=f"j-{text}{place}") for place in range(30)], 30)
        for text in ("a", "b")
    )
    assert (one.ids, one.id == other.id) == (other.ids, False)


@pytest.mark.parametrize("change", [{"units": 0}, {"units": 3}, {"rows": 4}, {"drawn": ()}, None])
def test_what_is_no_sample_or_does_not_add_up_is_refused(
    tmp_path: Path, change: dict[str, Any] | None
) -> None:
    path, told = tmp_path / "sample.json", draw(rows(passed=40), 20).model_dump(mode="json")
    told["strata"][0] |= change or {}
    path.write_text(json.dumps(told) if change else "")
    with pytest.raises(LabelError, match=r"unreadable_sample.*not what `groundjudge label` wrote \([^:]"):
        read_sample(path)


def test_groups_are_drawn_whole_and_lie_where_their_worst_row_lies() -> None:
    verdicts = rows(passed=60, failed=10)
    groups = {one.case_id or "": str(place % 35) for place, one in enumerate(verdicts)}
    sample = draw(verdicts, 20, groups=groups)
    strata = [(one.name, one.rows, one.units) for one in sample.strata]
    assert sorted(strata) == [("failed", 20, 10), ("passed", 50, 25)]
    assert len(sample.ids) == 40
    assert all(len({groups[each] for each in unit}) == 1 for one in sample.strata for unit in one.drawn)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 9}, "from 10 to 40"),
        ({"n": 20, "double": 21}, "`double`: 21 of 20"),
        ({"n": 20, "judge": "other"}, "no verdict by 'other': it can be one"),
    ],
)
def test_what_cannot_be_drawn_is_an_error_that_says_what_can(options: dict[str, Any], message: str) -> None:
    with pytest.raises(LabelError, match=message):
        draw(rows(passed=20, failed=20), **options)


def test_of_several_judges_one_has_to_be_named() -> None:
    verdicts = [*rows(passed=20), *(verdict(f"c{place}", 0.9, judge="other") for place in range(9))]
    with pytest.raises(LabelError, match="name the `judge`, one of: one, other"):
        draw(verdicts, 9)
    assert draw(verdicts, 9, judge="other").rows == 9


def test_a_sample_is_read_as_it_was_written(tmp_path: Path) -> None:
    sample = draw(rows(passed=40), 20, double=5)
    save_sample(tmp_path / "sample.json", sample)
    assert read_sample(tmp_path / "sample.json") == sample
