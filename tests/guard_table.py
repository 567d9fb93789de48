"""What every guard is tested with: the drafts of an application, what its judge says of them, what goes out.

The application answers a question about opening hours after a tool has said when the library opens. A judge's
reply depends on the word that a draft begins with, and has a word of its own that must not be seen anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from formatter import sure

from groundjudge import Reply
from groundjudge.judging.guard import NOTE, Outcome
from groundjudge.types import Request

QUERY = "When does the library open?"
SOURCE = "The library opens at 9:00 on weekdays."
FALLBACK = "I do not know."
WORD = "judgeword"
EARLIER = (("user", "Hello!"), ("assistant", "Hello, how can I help?"))
"""The turn before, in the row with several turns."""

REPLIES: Mapping[str, Reply | Exception] = {
    "good": Reply(f"<S1>{WORD}</S1>{sure(5)}"),
    "bad": Reply(f"<S1>{WORD} is wrong</S1>{sure(1)}"),
    "nothing": Reply(f"<S1>{WORD}</S1>{sure(3)}"),
    "refused": Reply("", refusal=WORD),
    "cut": Reply(f"<S1>{WORD}", finish_reason="length"),
    "late": TimeoutError(WORD),
    "unread": Reply(f"{WORD} looks good to me."),
}


def judge(request: Request) -> Reply:
    """The model of the judge; it also checks that the judge sees the query, and no note."""
    assert request.case.query_text == QUERY
    assert NOTE not in str(request.messages)
    reply = REPLIES[request.case.response_text.partition(" ")[0]]
    if isinstance(reply, Exception):
        raise reply
    return reply


@dataclass(frozen=True)
class Row:
    """An application's drafts, and what must go out.

    Attributes:
        drafts: what the application's model answers, in order.
        reason: why something goes out.
        response: what goes out.
        uses_tool: whether a tool is called first; the context is empty otherwise.
        turns: the turns before.
        options: settings of the guard.
    """

    drafts: Sequence[str]
    reason: str
    response: str
    uses_tool: bool = True
    turns: Sequence[tuple[str, str]] = ()
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def rejected(self) -> list[str]:
        """What must not be seen anywhere."""
        return [NOTE[:40], WORD, *(draft for draft in self.drafts if draft not in {" ", self.response})]


ROWS: Mapping[str, Row] = {
    "good": Row(["good one"], "passed", "good one"),
    "bad then good": Row(["bad one", "good two"], "regenerated", "good two"),
    "bad twice": Row(["bad one", "bad two"], "fallback", FALLBACK),
    "bad twice, then good": Row(
        ["bad one", "bad two", "good three"], "regenerated", "good three", options={"retries": 2}
    ),
    "bad, no retries": Row(["bad one"], "fallback", FALLBACK, options={"retries": 0}),
    "bad, then nothing to ground": Row(["bad one", "nothing two"], "regenerated", "nothing two"),
    "bad, then not judged": Row(["bad one", "refused two"], "not_judged", FALLBACK),
    "judge refuses": Row(["refused one"], "not_judged", FALLBACK),
    "judge is cut off": Row(["cut one"], "not_judged", FALLBACK),
    "judge times out": Row(["late one"], "not_judged", FALLBACK),
    "judge cannot be read": Row(["unread one"], "not_judged", FALLBACK),
    "judge refuses, allowed": Row(
        ["refused one"], "not_judged", "refused one", options={"on_error": "allow"}
    ),
    "nothing to ground": Row(["nothing one"], "not_applicable", "nothing one"),
    "blank answer": Row([" "], "not_judged", FALLBACK),
    "blank answer, left out": Row([" "], "not_applicable", " ", options={"empty_response": "not_applicable"}),
    "blank context": Row(["bad one", "good two"], "regenerated", "good two", uses_tool=False),
    "several turns": Row(["bad one", "good two"], "regenerated", "good two", turns=EARLIER),
    "observed": Row(["bad one"], "observed", "bad one", options={"mode": "observe"}),
    "observed, not judged": Row(["refused one"], "not_judged", "refused one", options={"mode": "observe"}),
}


@dataclass
class Seen:
    """What a guard decided."""

    outcomes: list[Outcome] = field(default_factory=list[Outcome])

    def options(self, row: Row) -> Any:
        """The options of a guard."""
        settings = {"model": judge, "fallback": FALLBACK, "max_reasks": 0, "on_outcome": self.outcomes.append}
        return {**settings, **row.options}

    def check(self, row: Row, response: object) -> None:
        """Compare the decision with the row."""
        (outcome,) = self.outcomes
        assert (outcome.reason, response) == (row.reason, row.response)
        assert [str(draft.response) for draft in outcome.drafts] == [*row.drafts]
        assert outcome.replaced == (row.response == FALLBACK)
        for word in row.rejected:
            assert word not in str(outcome.summary)


@dataclass(frozen=True)
class Turn:
    """The messages that an application adds in one turn, and what a guard makes of them.

    Attributes:
        messages: pairs of a sort and a text: "ai", "user", "tool", or "call", a message that calls the tool
            and has that text beside the call.
        judged: the response that the judge sees; None: there is no answer yet.
    """

    messages: Sequence[tuple[str, str]]
    judged: str | None

    @property
    def is_good(self) -> bool:
        """Whether the judge lets the turn out."""
        return self.judged is None or "bad" not in self.judged


TURNS: Mapping[str, Turn] = {
    "one answer, good": Turn([("ai", "good one")], "good one"),
    "one answer, bad": Turn([("ai", "bad one")], "bad one"),
    "two answers, the first bad": Turn([("ai", "bad one"), ("ai", "good two")], "bad one\n\ngood two"),
    "two answers, the last bad": Turn([("ai", "good one"), ("ai", "bad two")], "good one\n\nbad two"),
    "two answers, good": Turn([("ai", "good one"), ("ai", "good two")], "good one\n\ngood two"),
    "the same answer twice": Turn([("ai", "good one"), ("ai", "good one")], "good one"),
    "a blank answer behind a bad one": Turn([("ai", "bad one"), ("ai", " ")], "bad one"),
    "text beside a call": Turn([("call", "bad aside"), ("tool", SOURCE), ("ai", "good one")], "good one"),
    "text beside a call, and a bad answer": Turn(
        [("call", "good aside"), ("tool", SOURCE), ("ai", "bad one")], "bad one"
    ),
    "an answer before a call": Turn(
        [("ai", "bad one"), ("call", ""), ("tool", SOURCE), ("ai", "good two")], "bad one\n\ngood two"
    ),
    "an answer before a call that is open": Turn([("ai", "bad one"), ("call", "aside")], "bad one"),
    "a call alone": Turn([("call", "")], None),
    "text beside a call alone": Turn([("call", "bad aside")], None),
    "a result alone behind a bad answer": Turn(
        [("call", ""), ("tool", SOURCE), ("ai", "bad one"), ("tool", SOURCE)], "bad one"
    ),
    "a question that the application asks itself": Turn(
        [("ai", "bad one"), ("user", "Is that bad?"), ("ai", "good two")], "bad one\n\ngood two"
    ),
    "a question that the application repeats": Turn(
        [("ai", "bad one"), ("user", QUERY), ("ai", "good two")], "bad one\n\ngood two"
    ),
    "another role": Turn([("critic", "bad one"), ("ai", "good two")], "bad one\n\ngood two"),
}
"""Every message that the application adds is judged, but for text beside calls, which goes nowhere."""


def judge_words(request: Request) -> Reply:
    """The model of a judge that rejects what has the word "bad" anywhere."""
    is_bad = "bad" in request.case.response_text
    return REPLIES["bad" if is_bad else "good"]  # type: ignore[return-value]
