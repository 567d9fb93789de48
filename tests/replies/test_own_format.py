"""A format of ten lines, by somebody else. As "own" it runs through the other tables of this folder, too."""

from __future__ import annotations

import pytest
from own_format import Stamp
from read_replies import SCALES, outcome

from groundjudge import load_rubric

HOSTILE = (
    pytest.param("no_verdict", "<think>@@5@@", id="thoughts that never end"),
    pytest.param("no_verdict", "So <!-- @@5@@", id="a comment that never ends"),
    pytest.param("ambiguous", "</think>\n@@5@@\n</think>", id="the end of thoughts that never began"),
    pytest.param("ambiguous", '"It is so. @@5@@"', id="quoted whole"),
    pytest.param("ambiguous", 'It says "@@5@@"', id="a quoted verdict"),
    pytest.param("ambiguous", "It says ` @@5@@ @@1@@", id="two verdicts"),
    pytest.param("ambiguous", "@@5@@ No, one.", id="a correction behind it"),
    pytest.param("ambiguous", "@@5 or 4@@", id="two values in one place"),
    pytest.param("out_of_scale", "@@7@@", id="a value off the scale"),
    pytest.param("empty", "<think>@@5@@</think>", id="a verdict in thoughts only"),
    pytest.param(4, "@@your Score@@: @@4 (incomplete)@@", id="an echo of the prompt ahead of the verdict"),
)


@pytest.mark.parametrize(("expected", "text"), HOSTILE)
def test_format_of_ones_own_has_every_protection(expected: object, text: str) -> None:
    assert outcome("own", text) == expected


@pytest.mark.parametrize(
    ("code", "finish_reason"), [("truncated", "length"), ("refused", "content_filter"), ("interrupted", "?")]
)
def test_format_of_ones_own_reads_no_reply_that_is_not_finished(code: str, finish_reason: str) -> None:
    assert outcome("own", "@@5@@", finish_reason=finish_reason) == code


def test_identity_depends_on_the_name_of_a_format_and_the_reading_but_not_on_its_module(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def identity(name: str, module: str) -> str:
        reply_format = type(name, (Stamp,), {"__module__": module})()
        return load_rubric("groundedness", reply=reply_format, scale=SCALES["own"]).identity

    assert identity("Stamp", "here") == identity("Stamp", "elsewhere") != identity("Seal", "here")
    before = identity("Stamp", "here")
    monkeypatch.setattr("groundjudge.rubric.rubric.READING_VERSION", 0)
    assert identity("Stamp", "here") != before
