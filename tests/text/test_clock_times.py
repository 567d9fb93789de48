"""Times of day are found on both clocks in any spelling."""

from __future__ import annotations

import pytest

from groundjudge.text.words import clock_times, spell_out_dates

TIMES = [
    pytest.param("at 9 am", "9:00 am", id="am"),
    pytest.param("at 9 PM", "21:00 pm", id="capitals"),
    pytest.param("at 9 P.M., not later", "21:00 pm", id="capitals with points"),
    pytest.param("at 6.12 PM", "18:12 pm", id="a point between hour and minute"),
    pytest.param("at 12:30 am", "0:30 am", id="midnight"),
    pytest.param("at 13:30", "13:30", id="the clock of 24 hours"),
    pytest.param("at 13:30 pm", "13:30", id="pm too much"),
    pytest.param("at 13.30 p.m.", "13:30", id="pm too much, with points"),
    pytest.param("at 21 pm", "21:00", id="pm too much, without minutes"),
    pytest.param("at 0:30 am", "0:30", id="am too much"),
    pytest.param("at 00:30 am", "0:30", id="am too much, two zeros"),
    pytest.param("at 13:30 am", "", id="the wrong half"),
    pytest.param("at 24:30 pm", "", id="no hour"),
    pytest.param("in 2013:30 pm", "", id="part of a number"),
    pytest.param("from 9:00 to 17:00", "17:00 9:00", id="an hour that a later one explains"),
    pytest.param("at 9:00", "", id="an hour that nothing explains"),
]


@pytest.mark.parametrize(("text", "keys"), TIMES)
def test_clock_times(text: str, keys: str) -> None:
    times = clock_times(spell_out_dates(text))

    assert " ".join(time.key for time in times) == keys
