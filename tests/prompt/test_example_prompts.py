"""The judges in examples/: prompt files without code, which render a case and read their replies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scripted_model import ScriptedModel

from groundjudge import load

EXAMPLES = Path(__file__).parents[2] / "examples"
CASE = {"query": "When?", "context": "The pool opens at 7.", "response": "At 8.", "reference": "At 7 sharp."}
ROWS: dict[str, tuple[str, str, Any]] = {
    "a label at the end": (
        "final_verdict",
        "It says 7.\n\nFinal verdict: Inconsistent",
        ("Inconsistent", 0.0, False),
    ),
    "a number in a labelled line": ("rubric_grader", "Feedback: nearly.\n[RESULT] 4", ("good", 0.75, True)),
    "a label in a tag": ("risk", "<why>It says 8.</why><risk>Yes</risk>", ("yes", 0.0, False)),
    "a label in JSON": ("pass_fail", '{"REASONING": ["It says 8."], "SCORE": "FAIL"}', ("FAIL", 0.0, False)),
    "words behind a label": ("final_verdict", "Final verdict: Consistent or not", "unknown_label"),
    "another maximum": ("rubric_grader", "[RESULT] 4/10", "ambiguous"),
    "JSON that is cut off": ("pass_fail", '{"SCORE": "PASS", "REASONING": ["but it', "no_verdict"),
}


@pytest.mark.parametrize(("name", "reply", "expected"), ROWS.values(), ids=ROWS)
def test_example_judge_renders_a_case_and_reads_a_reply(name: str, reply: str, expected: Any) -> None:
    model = ScriptedModel(reply)
    verdict = load(EXAMPLES / f"{name}.prompty", model=model).evaluate(CASE)
    prompt = " ".join(message["content"] for message in model.asked[0].messages)
    assert "At 8." in prompt
    assert ("The pool opens at 7." in prompt) or name == "rubric_grader"
    outcome = (verdict.label, verdict.score, verdict.passed)
    assert (verdict.error.code if verdict.error else outcome) == expected
