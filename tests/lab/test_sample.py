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
    verdicts: list[Verdict] = []
    for kind, n in counts.items():
        for place in range(n):
            case_id = f"{kind}-{place}"
            score = {"passed": 0.9, "failed": 0.4 * place / n}.get(kind)
            verdicts.append(error(case_id, "timeout") if kind == "error" else verdict(case_id, score))
    return verdicts


def count_drawn(verdicts: list[Verdict], n: int) -> dict[str, tuple[int, int]]:
    """The rows and the drawn units of each stratum."""
    return {stratum.name: (stratum.rows, len(stratum.drawn)) for stratum in draw(verdicts, n).strata}


@pytest.mark.parametrize(
    ("counts", "n", "expected"),
    [
        pytest.param(
            {"passed": 900, "failed": 100},
            100,
            {"passed": (900, 62), LOWER: (50, 19), HIGHER: (50, 19)},
            id="failed rows in two halves",
        ),
        pytest.param(
            {"passed": 900, "failed": 100},
            50,
            {"passed": (900, 35), "failed": (100, 15)},
            id="too few labels for two halves",
        ),
        pytest.param(
            {"passed": 990, "failed": 10},
            100,
            {"passed": (990, 90), "failed": (10, 10)},
            id="too few failed rows for two halves",
        ),
        pytest.param(
            {"passed": 500, "error": 480, "na": 20},
            100,
            {"passed": (500, 73), "error": (480, 22), "not applicable": (20, 5)},
            id="errors and not applicable",
        ),
        pytest.param({"error": 30}, 10, {"error": (30, 10)}, id="errors only"),
    ],
)
def test_every_stratum_gets_its_share_of_the_labels(
    counts: dict[str, int], n: int, expected: dict[str, tuple[int, int]]
) -> None:
    assert count_drawn(rows(**counts), n) == expected


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
    assert sum(stratum.probability * stratum.rows for stratum in sample.strata) == pytest.approx(50)
    weights = [1 / probability for probability in sample.probabilities.values()]
    assert sum(weights) == pytest.approx(sample.rows)


def test_every_row_of_a_stratum_is_drawn_as_often_as_its_probability_says() -> None:
    verdicts = rows(passed=60, failed=15)
    counts: Counter[str] = Counter()
    for seed in range(200):
        counts.update(draw(verdicts, 30, seed=seed).ids)
    for case_id, probability in (("passed-0", 20 / 60), ("failed-0", 10 / 15)):
        assert counts[case_id] / 200 == pytest.approx(probability, abs=0.1)


def test_the_order_of_the_rows_and_the_name_of_the_draw_tell_nothing_of_the_strata() -> None:
    sample = draw(rows(passed=200, failed=60), 50)
    units = tuple((case_id,) for case_id in sorted(sample.ids))
    single_stratum = sample.strata[0].model_copy(update={"drawn": units})
    unstratified = sample.model_copy(update={"strata": (single_stratum,)})
    assert (unstratified.ids, unstratified.id) == (sample.ids, sample.id)


def test_cases_of_other_contents_give_the_draw_another_name() -> None:
    first = draw([verdict(f"c{place}", 0.9, key=f"j-a{place}") for place in range(30)], 30)
    second = draw([verdict(f"c{place}", 0.9, key=f"j-b{place}") for place in range(30)], 30)
    assert first.ids == second.ids
    assert first.id != second.id


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"units": 0}, id="no units"),
        pytest.param({"units": 3}, id="more drawn than units"),
        pytest.param({"rows": 4}, id="more units than rows"),
        pytest.param({"drawn": ()}, id="nothing drawn"),
        pytest.param(None, id="an empty file"),
    ],
)
def test_what_is_no_sample_or_does_not_add_up_is_refused(
    tmp_path: Path, change: dict[str, Any] | None
) -> None:
    path = tmp_path / "sample.json"
    data = draw(rows(passed=40), 20).model_dump(mode="json")
    data["strata"][0] |= change or {}
    path.write_text(json.dumps(data) if change else "")
    with pytest.raises(LabelError, match=r"unreadable_sample.*was not written by `groundjudge label` \([^:]"):
        read_sample(path)


def test_groups_are_drawn_whole_and_lie_where_their_worst_row_lies() -> None:
    verdicts = rows(passed=60, failed=10)
    groups = {verdict.case_id or "": str(place % 35) for place, verdict in enumerate(verdicts)}
    sample = draw(verdicts, 20, groups=groups)
    strata = [(stratum.name, stratum.rows, stratum.units) for stratum in sample.strata]
    assert sorted(strata) == [("failed", 20, 10), ("passed", 50, 25)]
    assert len(sample.ids) == 40
    for stratum in sample.strata:
        for unit in stratum.drawn:
            assert len({groups[case_id] for case_id in unit}) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"n": 9}, "from 10 to 40", id="too few labels"),
        pytest.param(
            {"n": 20, "double": 21},
            "`double`: 21 rows cannot be labelled twice: only 20",
            id="more labelled twice than drawn",
        ),
        pytest.param(
            {"n": 20, "judge": "other"}, "no verdicts by 'other': choose from one", id="unknown judge"
        ),
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
