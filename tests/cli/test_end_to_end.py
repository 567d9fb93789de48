"""All judges at an endpoint that misbehaves in every way: each row gets its due, and no other is touched."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from bundled_judges import EVERY_FIELD, reply_of
from command_line import FileOf, Invoke, verdicts_in, words
from standin_openai import Answer, Cut, Raw, StandIn, Status, Text, refuses

from groundjudge import Verdict, load, load_rubric, names

SOON = 0.01
GOOD = {name: reply_of(load_rubric(name), "It opens at nine.", 0.75) for name in names()}
CUT_OFF = {name: Text(reply[: len(reply) // 2], finish_reason="length") for name, reply in GOOD.items()}
PLANS: Mapping[str, tuple[Callable[[str], Sequence[Answer]], str | None, int]] = {
    # what the endpoint answers for a judge (the last answer for ever), the error's code, the attempts
    "good": (lambda judge: [GOOD[judge]], None, 1),
    "malformed-once": (lambda judge: ["Looks fine to me.", GOOD[judge]], None, 2),
    "malformed": (lambda _: ["Looks fine to me."], "no_verdict", 2),
    "truncated-once": (lambda judge: [CUT_OFF[judge], GOOD[judge]], None, 2),
    "truncated": (lambda judge: [CUT_OFF[judge]], "truncated", 2),
    "apology": (lambda _: ["I'm sorry, but I can't help with that."], "no_verdict", 2),
    "refusal": (lambda _: [Text(None, refusal="I will not judge this.")], "refused", 2),
    "interrupted-once": (
        lambda judge: [Text(GOOD[judge], finish_reason="insufficient_system_resource"), GOOD[judge]],
        None,
        2,
    ),
    "interrupted": (lambda judge: [Text(GOOD[judge], finish_reason="abort")], "interrupted", 2),
    "filtered": (lambda judge: [Text(GOOD[judge], finish_reason="content_filter")], "refused", 2),
    "empty": (lambda _: [""], "empty", 2),
    "busy-once": (lambda judge: [Status(429, retry_after=SOON), GOOD[judge]], None, 1),
    "busy": (lambda _: [Status(429, retry_after=SOON)], "rate_limited", 1),
    "fault-once": (lambda judge: [Status(500, retry_after=SOON), GOOD[judge]], None, 1),
    "cut-once": (lambda judge: [Cut(), GOOD[judge]], None, 1),
    "no-json": (lambda _: [Raw(b"<html>")], "server", 1),
    "bad-request": (lambda _: [Status(400, "The prompt is odd.")], "bad_request", 1),
    "too-long": (lambda _: [Status(400, "The prompt is too long.")], "too_long", 1),
}
PLAN_NAMES = {plan.replace("-", ""): plan for plan in PLANS}
"""The plans by their names without hyphens, as they stand in a response."""


def row(plan: str) -> dict[str, Any]:
    return {
        **EVERY_FIELD,
        "id": plan,
        "response": f"It opens at nine [](plan={plan.replace('-', '')};).",
    }


class Endpoint:
    """Answers each judge and row by the row's plan, and takes no temperature."""

    def __init__(self) -> None:
        self.n_requests: Counter[tuple[str, str]] = Counter()
        self._judge_of: dict[str, str] = {}
        for name in names():
            instructions = load(name, model=print).rubric.ask(row("good")).messages[0]["content"]
            self._judge_of[instructions] = name

    def __call__(self, body: dict[str, Any]) -> Answer:
        if "temperature" in body:
            return refuses("temperature")
        judge = self._judge_of[body["messages"][0]["content"]]
        match = re.search(r"plan=([\w-]+);", body["messages"][1]["content"])
        assert match
        plan = PLAN_NAMES[match[1]]
        make_answers, _, _ = PLANS[plan]
        answers = make_answers(judge)
        n_earlier = self.n_requests[judge, plan]
        self.n_requests[judge, plan] += 1
        if n_earlier < len(answers):
            return answers[n_earlier]
        return answers[-1]


def check(verdict: Verdict, plan: str) -> None:
    _, code, attempts = PLANS[plan]
    error_code = verdict.error.code if verdict.error else None
    assert (error_code, verdict.attempts) == (code, attempts), verdict
    assert verdict.case_id == plan
    if code:
        assert (verdict.status, verdict.score, verdict.passed) == ("error", None, None)
    else:
        assert verdict.status == "ok"
        assert verdict.score == pytest.approx(0.75)
        assert verdict.reply == GOOD[verdict.judge]
        assert verdict.usage is not None
        assert verdict.usage.prompt_tokens == 10 * attempts
        assert verdict.model == "stand-in"


def test_run_gives_every_row_its_due(
    command: Invoke, file_of: FileOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [row(plan) for plan in PLANS]
    cases = file_of(*rows[:3], "{not json", *rows[3:], {"id": "bare", "response": "r"})
    with StandIn(Endpoint()) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        result = command("run", cases, "--model", "openai:m", "--out", "verdicts.jsonl")
    assert result.exit_code == 1, result.output
    verdicts = verdicts_in(Path("verdicts.jsonl").read_text())
    assert len(verdicts) == len(names()) * (len(PLANS) + 1) + 1
    for verdict in verdicts:
        if verdict.case_id in PLANS:
            check(verdict, str(verdict.case_id))
    (unreadable,) = (verdict for verdict in verdicts if not verdict.judge)
    assert unreadable.error is not None
    assert unreadable.error.code == "unreadable_row"
    assert "line 4" in unreadable.error.message
    missing = [verdict.error.code for verdict in verdicts if verdict.case_id == "bare" and verdict.error]
    assert missing == ["missing_field"] * len(names())
    n_ok = sum(code is None for _, code, _ in PLANS.values())
    table = [line[:5] for line in words(result.output)]
    for name in names():
        assert [name, "0.750", str(n_ok), str(len(PLANS) + 1 - n_ok), "0"] in table, result.output
