"""Long texts take memory in proportion to their length, by a small factor."""

from __future__ import annotations

import tracemalloc

from groundjudge.offline.support import index

SENTENCE = "The tower was completed in 1889, is visited by {0} people and stands {1} metres tall. "
# What making a text ready may take for each of its characters, and did take several times over.
MOST_BYTES = 20


def test_making_a_long_text_ready_takes_few_bytes_for_each_of_its_characters() -> None:
    text = "".join(SENTENCE.format(number % 97, number % 89) for number in range(1200))
    index([text])  # fills the caches, which hold no more for a longer text
    tracemalloc.start()
    sources = index([text])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(sources.singles) == 1200
    assert peak < MOST_BYTES * len(text)
