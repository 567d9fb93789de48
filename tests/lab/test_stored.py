"""Collections on disk behave like those in memory."""

from __future__ import annotations

import subprocess
import sys
from array import array
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundjudge.lab.stored import StoredList, StoredMapping, name_ranks

# Hypothesis leaves out halves of surrogate pairs unless they are asked for.
TEXTS = st.text(st.characters())
VALUES = st.none() | st.booleans() | st.floats(allow_nan=False) | TEXTS | st.lists(st.integers())


@given(st.lists(st.tuples(TEXTS, VALUES)), TEXTS)
def test_a_mapping_is_a_dict(items: list[tuple[str, Any]], other_key: str) -> None:
    stored, expected = StoredMapping(), dict[str, Any]()
    for key, value in items:
        stored[key] = value
        expected[key] = value
    assert list(stored.items()) == list(expected.items())
    assert (len(stored), stored == expected) == (len(expected), True)
    assert stored.get(other_key) == expected.get(other_key)
    assert stored.setdefault(other_key, 1) == expected.setdefault(other_key, 1)
    del stored[other_key], expected[other_key]
    assert stored == expected
    with pytest.raises(KeyError):
        del stored[other_key]


def test_what_one_thread_stored_another_one_reads() -> None:
    stored = StoredMapping()
    stored["1"] = "supported"
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(stored.get, "1").result() == "supported"


@given(st.lists(VALUES))
def test_a_list_is_a_list(items: list[Any]) -> None:
    stored = StoredList[Any]()
    for item in items:
        stored.append(item)
    assert (list(stored), len(stored)) == (items, len(items))
    assert [stored[place] for place in range(-len(items), len(items))] == items * 2
    assert stored[1:3] == items[1:3]
    with pytest.raises(IndexError):
        stored[len(items)]


def test_a_list_can_be_gone_through_twice_at_once() -> None:
    stored = StoredList[int]()
    for item in range(3):
        stored.append(item)
    assert [(first, second) for first in stored for second in stored][4] == (1, 1)


@given(st.lists(TEXTS))
def test_ranks_are_places_among_the_sorted_names(names: list[str]) -> None:
    places = {name: place for place, name in enumerate(sorted(set(names)))}
    assert name_ranks(names) == array("q", [places[name] for name in names])


FULL_DISK = """
import resource
from groundjudge.lab.stored import StoredList, StoredMapping, name_ranks

resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))  # no file may be larger
text = "a" * 100_000
stored_list, stored_mapping = StoredList(), StoredMapping()
uses = (
    lambda: [stored_list.append(text) for _ in range(100)],
    lambda: stored_mapping.update({str(number): text for number in range(100)}),
    lambda: name_ranks(f"{number}{text}" for number in range(100)),
)
for use in uses:
    try:
        use()
    except OSError as error:
        print(error)
"""


def test_a_full_disk_is_an_error_with_a_remedy() -> None:
    process = subprocess.run(  # noqa: S603
        [sys.executable, "-c", FULL_DISK], check=True, capture_output=True, text=True
    )
    remedy = "set TMPDIR to a folder with more space"
    assert [line.partition("): ")[2] for line in process.stdout.splitlines()] == [remedy] * 3
