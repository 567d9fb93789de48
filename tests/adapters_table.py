"""What every adapter is tested with: judges, cases, the model's replies, and the verdicts they give.

Each row is a judge, a case, and the model's reply. Every entry point must give the same verdict as
`Judge.judge`, field by field, except for the time that it took.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

import formatter
from any_options import load_any
from decision_models import (
    REFUSAL,
    Answer,
    answer_to,
    reply_of,
    sure_of,
    sure_of_the_best,
    sure_of_the_worst,
)

from groundjudge import (
    Choices,
    GroundjudgeError,
    ModelError,
    Reply,
    Scale,
    Usage,
    Verdict,
    cascade,
    load,
    names,
)
from groundjudge.decisions.inquiry import inquiry_of
from groundjudge.decisions.question import Question
from groundjudge.decisions.way import DecisionWay
from groundjudge.replies import Scorecard
from groundjudge.rubric.rubric import TEXT
from groundjudge.types import AnyJudge, Request

RAG: Mapping[str, Any] = {
    "query": "When does the library open?",
    "context": [
        "The library opens at 9:00 on weekdays.",
        "Tours cost 4.50 euros.",
    ],
    "response": "It opens at 9:00 on weekdays. Tours cost 4.50 euros.",
    "reference": "The library opens at 9:00 on weekdays.",
}
PLAY: Mapping[str, Any] = {
    "query": "none",
    "agent_name": "Mira",
    "profile": "Mira keeps the lighthouse of Vessa.",
    "conversation": "Who are you?",
    "answers": ["I keep the light."],
    "response": "I keep the lighthouse.",
}
SENTENCES = [("It opens at 9:00 on weekdays.", "The library opens at 9:00 on weekdays.", 10.0)]


Rule: TypeAlias = Callable[[Question], Answer]
"""How a decision model answers."""


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes:
        judge: the judge's name, or a name in `OTHERS`.
        answer: the model's reply to every request, or the error that it raises; of a panel or a cascade, one
            for each vote; of a judge that searches, one to each search, in which {} is the first sentence
            that is shown, and one to the last request; of a decision model, a rule from each question to its
            answer.
        case: changes to the default case; a field that is None is removed.
    """

    judge: str
    answer: str | Reply | ModelError | tuple[str | ModelError, ...] | Rule
    case: Mapping[str, Any] | None = None


RIGHT = {"response": "It opens at 9:00 on weekdays [1]. Tours cost 4.50 euros [2]."}
WRONG = {"response": "It opens at 9:00 on weekdays [2]. Tours cost 4.50 euros [7]."}

DOWN = ModelError("server", "server: message of the endpoint")
LABELS: Mapping[str, Any] = {
    "scale": Choices({"supported": 1, "partly supported": 0.5, "not supported": 0, "unclear": None}),
    "levels": {},
    "not_applicable": (),
}
OTHERS: Mapping[str, Mapping[str, Any]] = {
    "labels": LABELS,
    "cards": {
        "reply": Scorecard(),
        "scale": Scale(worst=0, best=10),
        "passes": "weakest",
        "threshold": 0.6,
        "levels": {},
        "not_applicable": (),
    },
    "repeats": {"repeats": 3, "max_reasks": 0},
    "all repeats": {"repeats": 4, "max_reasks": 0, "stop": "never", "rule": "median"},
    "labels of repeats": {**LABELS, "repeats": 3},
}
"""Options that make another judge of groundedness."""

BY_DECISIONS = {f"{name} by decisions": name for name in names()}
"""The library's judges with a decision model."""

CITED = "citations"
"""The judge that checks citations."""

SEARCHED = "searched"
"""The judge that searches the source: each document is more than its window."""

JUDGES = [*names(), *OTHERS, "cascade", *BY_DECISIONS, CITED, SEARCHED]

ENDPOINT_CODES = (
    *("timeout", "connection", "rate_limited", "quota"),
    *("auth", "bad_request", "not_found", "refused", "server", "too_long"),
)
"""The codes of a model's errors."""


def votes(*scores: object) -> tuple[str | ModelError, ...]:
    """The replies of the votes of a panel or a cascade; an error stands for a vote that fails."""
    replies: list[str | ModelError] = []
    for score in scores:
        if isinstance(score, ModelError):
            replies.append(score)
        else:
            replies.append(f"<S1>for {score}</S1>{formatter.sure(score)}")
    return tuple(replies)


def half_sure(question: Question) -> Answer:
    """Half of the probability on the best option, some on the one before it, and the rest on the first."""
    if question.id.startswith("e"):
        return sure_of_the_best(question)
    probabilities = [0.0] * len(question.options)
    probabilities[0], probabilities[-2], probabilities[-1] = 0.1, 0.4, 0.5
    return answer_to(question, probabilities)


def claims_nothing(question: Question) -> Answer:
    """The first option, which is "not applicable" where there is such an option."""
    return sure_of(question, 0)


def declines(question: Question) -> Answer:
    """A refusal of every question."""
    assert question.id
    return REFUSAL


def says_nothing(question: Question) -> Answer:
    """No answer to any question but those of evidence."""
    return sure_of(question, 0) if question.id.startswith("e") else None


def miscounts(question: Question) -> Answer:
    """Probabilities that do not add up to 1."""
    return answer_to(question, [0.3] * len(question.options))


USED = Usage(prompt_tokens=100, completion_tokens=10)
TOO_LONG = ModelError("too_long", "too_long: message of the endpoint")
DECISIONS: tuple[ModelError | Rule, ...] = (
    *(sure_of_the_best, half_sure, sure_of_the_worst, claims_nothing),
    *(declines, says_nothing, miscounts, TOO_LONG, DOWN),
)
TABLE = [
    *(Row(judge, answer) for judge in BY_DECISIONS for answer in DECISIONS),
    *(Row("groundedness", formatter.tags(level, f"because {level}")) for level in range(1, 6)),
    Row("groundedness", formatter.tags(4, "an empty context"), {"context": []}),
    Row("groundedness", Reply(formatter.tags(5, "<b>tags</b> & {braces} of its own"), usage=USED)),
    Row("groundedness", "<S1>divided</S1><S2>4</S2><S3>1: 0, 2: 38, 3: 0, 4: 55, 5: 7</S3>"),
    Row("groundedness", "<S1>as likely as 2</S1><S2>4</S2><S3>1: 0, 2: 50, 3: 0, 4: 50, 5: 0</S3>"),
    Row("groundedness", "<S1>not the likeliest</S1><S2>4</S2><S3>1: 0, 2: .6, 3: 0, 4: .4, 5: 0</S3>"),
    Row("groundedness", "<S1>most likely a greeting</S1><S2>4</S2><S3>1: 0, 2: 0, 3: 51, 4: 49, 5: 0</S3>"),
    Row("groundedness", "<S1>surely a greeting</S1><S2>1</S2><S3>1: 0, 2: 0, 3: 100, 4: 0, 5: 0</S3>"),
    Row("groundedness", "<S1>rather a greeting</S1><S2>2</S2><S3>1: 0, 2: 40, 3: 60, 4: 0, 5: 0</S3>"),
    Row("groundedness", "<S1>surely grounded</S1><S2>1</S2><S3>1: 0, 2: 0, 3: 0, 4: 0, 5: 100</S3>"),
    Row("groundedness", "It has <S3>1: 0, 2: 0, 3: 0, 4: 50, 5: 50</S3>.<S1>a document's</S1><S2>4</S2>"),
    Row("groundedness", Reply("<S1>no sum</S1><S2>2</S2><S3>1: 9, 2: 8, 3: 0, 4: 1, 5: 0</S3>", usage=USED)),
    Row("groundedness", "<S1>no shares</S1><S2>4</S2>"),
    Row("groundedness", Reply(formatter.tags(5, "two choices"), other_texts=(formatter.tags(1, "no"),))),
    Row("groundedness", Reply(formatter.tags(1, "two choices"), other_texts=(formatter.tags(5, "no"),))),
    Row("groundedness", Reply(formatter.tags(5, "twice"), other_texts=(formatter.tags(5, "twice"),))),
    Row("groundedness", "<S1>left open</S1><S2>4"),
    Row("groundedness", "<S2>9</S2>"),
    Row("groundedness", "<S2>4.5</S2>"),
    Row("groundedness", "<S2>good</S2>"),
    Row("groundedness", "<S2>3 or 4</S2>"),
    Row("groundedness", Reply("Looks good to me.", usage=USED)),
    Row("groundedness", ""),
    Row("groundedness", Reply("", refusal="No.")),
    Row("groundedness", Reply("<S1>this resp", finish_reason="length")),
    Row("groundedness", Reply(formatter.sure(4), finish_reason="abort")),
    Row("groundedness", "", {"response": " "}),
    Row("groundedness", "", {"context": None}),
    *(Row("groundedness", ModelError(code, f"{code}: message of the endpoint")) for code in ENDPOINT_CODES),
    *(Row("confidence_grounding", formatter.json_object(value, f"so {value}")) for value in (0.3, 0.5)),
    Row("confidence_grounding", "{'reasoning': 'repaired', 'score': 0.8,}"),
    Row("confidence_grounding", '{"score": null}'),
    Row("statement_groundedness", formatter.numbered([("1", "-", 10), ("1-2", "-", 10)], 95)),
    Row("statement_groundedness", formatter.numbered([("1", "-", 10), ("2", "4.50 | not 5", 4)], 20)),
    Row("statement_groundedness", formatter.numbered([("1", "-", 10), ("-", "no tours", 0)], 5)),
    Row("statement_groundedness", formatter.numbered([("-", "-", "NO CLAIM"), ("2, 1", "-", 7.5)], 60)),
    Row("statement_groundedness", formatter.numbered([("-", "-", "NO CLAIM")] * 2, 100)),
    Row("statement_groundedness", formatter.numbered([("1", "-", 10), ("2", "contradicts ALL", 10)], 10)),
    Row("statement_groundedness", formatter.numbered([("1", "-", 10), ("-", "no evidence", 5)], 50)),
    Row("statement_groundedness", formatter.numbered([("1", "-", 10), ("3", "no such number", 5)], 50)),
    Row("statement_groundedness", Reply("1 | 1 | no ALL | 8\n2 | 2 | - | 10", usage=USED)),
    Row("statement_groundedness", formatter.numbered([("1", "one of two", 10)], 95)),
    Row("statement_groundedness", Reply("1 | 1 | - | 10\n2 | 2 | it was c", finish_reason="length")),
    Row("statement_groundedness", "1 | 1 | - | 10\n2 | 2 | no score\nALL | 60"),
    *(Row(CITED, formatter.numbered([("1", "-", 10), ("2", "-", 10)], 95), case) for case in (RIGHT, WRONG)),
    Row(CITED, formatter.numbered([("1", "-", 10), ("2", "not 5", 2)], 10), RIGHT),
    Row(CITED, formatter.numbered([("1", "-", 10), ("2", "no markers", 10)], 95)),
    Row(CITED, formatter.numbered([("-", "no documents", 0)] * 2, 5), {**RIGHT, "context": []}),
    Row(CITED, formatter.numbered([("-", "-", "NO CLAIM")] * 2, 100), RIGHT),
    Row(CITED, "", {"response": " "}),
    Row(CITED, "not in lines", RIGHT),
    Row(SEARCHED, ("1 | {}\n2 | -", formatter.numbered([("1", "-", 10), ("2", "-", 10)], 95))),
    Row(SEARCHED, ("1 | -\n2 | {}", formatter.numbered([("1", "-", 10), ("-", "no tours", 0)], 5))),
    Row(SEARCHED, ("1 | -\n2 | -", formatter.numbered([("-", "-", "NO CLAIM")] * 2, 100))),
    Row(SEARCHED, ("1 | {}\n2 | -", "not in lines")),
    Row(SEARCHED, ("not in lines", "")),
    Row("cards", formatter.scorecard([*SENTENCES, ("Tours cost 4.50 euros.", "NOTHING FOUND", 0)])),
    Row("cards", formatter.scorecard([*SENTENCES, ("Tours cost 4.50 euros.", "Tours cost 5", 2.5)])),
    Row("cards", formatter.scorecard(SENTENCES)),
    Row("cards", "Statement Sentence: A.\nScore: 5"),
    Row("passage_quality", formatter.adjacent((4, 0.7), (2, 0.5), "why")),
    Row("passage_quality", "RECALL_Formula: (2 * 0.5) + (4 * 0.5)\nPRECISION_Formula: (5 * 1.0)"),
    Row("passage_quality", "RECALL_Formula: (2 * 0.5) + (3 * 0.4)\nPRECISION_Formula: (5 * 1.0)"),
    Row("passage_quality", "RECALL_Formula: (2 * 1.0)"),
    Row("passage_quality", "", {"reference": None}),
    Row("passage_quality", "", {"response": None}),
    *(Row("knowledge_hallucination", formatter.banded(value, f"at {value}")) for value in (20, 55.5)),
    Row("knowledge_hallucination", "Analysis: a worse level\nLevel: severe\nScore: 72"),
    Row("knowledge_hallucination", "Analysis: a better level\nLevel: no_hallucination\nScore: 10"),
    Row("knowledge_hallucination", "Analysis: a fraction or a percentage\nScore: 0.8"),
    Row("knowledge_hallucination", "Analysis: nearly nothing\nLevel: severe\nScore: 0.8"),
    Row("knowledge_hallucination", formatter.banded(90, "no answers known"), {"answers": None}),
    Row("knowledge_hallucination", "", {"profile": " "}),
    *(Row("labels", f"<S1>so {label}</S1><S2>{label}</S2>") for label in LABELS["scale"].choices),
    Row("labels", "<S2>mostly supported</S2>"),
    Row("repeats", votes(5, 4, 1)),
    Row("repeats", votes(2, 5, 2)),  # of which the mean would pass
    Row("repeats", votes(5, DOWN, 4)),
    Row("repeats", votes(5, 3, 1)),
    Row("repeats", votes(3, 5, 3)),
    Row("repeats", votes(DOWN, DOWN, DOWN)),
    Row("all repeats", votes(5, 5, 4, 1)),
    Row("all repeats", votes(5, 5, 1, 1)),
    Row("labels of repeats", votes("supported", "not supported", "supported")),
    Row("cascade", votes(5, 1)),
    Row("cascade", votes(1, 5)),
    Row("cascade", votes(4, 2)),
    Row("cascade", votes(2, 3)),
    Row("cascade", votes(3, 5)),
    Row("cascade", votes(DOWN, 4)),
    Row("cascade", votes(4, DOWN)),
    Row("cascade", votes(DOWN, DOWN)),
    Row("cascade", votes(5, 5), {"response": " "}),
]


def case_of(number: int, row: Row) -> dict[str, Any]:
    """The row's case; its response, unless blank, contains the number of the row."""
    case = dict(PLAY) if row.judge.startswith("knowledge_hallucination") else dict(RAG)
    case.update(row.case or {})
    if case["response"] and case["response"].strip():
        case["response"] += f" [{number}]"
    case["id"] = f"case {number}"
    return {field: value for field, value in case.items() if value is not None}


ROWS: dict[str, dict[int, Row]] = {name: {} for name in JUDGES}
CASES: dict[str, list[dict[str, Any]]] = {name: [] for name in JUDGES}
for row_number, table_row in enumerate(TABLE):
    ROWS[table_row.judge][row_number] = table_row
    CASES[table_row.judge].append(case_of(row_number, table_row))


class Script:
    """A model that gives each row the answer in the table; `vote` is the index of its judge in a cascade."""

    def __init__(self, judge: str, vote: int | None = None) -> None:
        self.rows = ROWS[judge]
        self.vote = vote
        self.name = "script" if vote is None else f"script {vote}"
        self.way = DecisionWay() if judge in BY_DECISIONS else TEXT

    async def acomplete(self, request: Request) -> Reply:
        _, _, number = request.case.response_text.rpartition("[")
        answer: Any = self.rows[int(number.rstrip("]"))].answer
        if isinstance(answer, tuple):
            answers: tuple[Any, ...] = answer  # pyright: ignore[reportUnknownVariableType]
            answer = answers[self.vote_of(request)]
        if request.sentences and request.sentences.shown and isinstance(answer, str):
            answer = answer.format(min(request.sentences.shown))
        if isinstance(answer, ModelError):
            raise ModelError(answer.code, answer.message)
        if isinstance(answer, str):
            return Reply(answer)
        if isinstance(answer, Reply):
            return answer
        return Reply(reply_of(inquiry_of(request).questions, answer, "systemone"), usage=USED)

    def vote_of(self, request: Request) -> int:
        """The index of the vote that a request is for; of a judge that searches, 0 for a search, or 1."""
        if request.rubric.window is not None:
            return 1
        return request.repeat if self.vote is None else self.vote


Fields: TypeAlias = dict[str, Any]
"""A verdict as JSON data, without its latency."""


def fields_of(verdict: Verdict) -> Fields:
    """All fields of a verdict except its latency.

    An error that occurred before the first call is reduced to its code: adapters add to its message.
    """
    data = verdict.model_dump(mode="json", exclude={"latency_s"})
    if data["error"] and not verdict.attempts:
        data["error"] = data["error"]["code"]
    return data


def judge_of(name: str) -> AnyJudge:
    if name == "cascade":
        judges = [load("groundedness", model=Script(name, vote), max_reasks=0) for vote in (0, 1)]
        return cascade(judges, until=(0.1, 0.9))
    if name == CITED:
        return load("statement_groundedness", model=Script(name), citations=True)
    if name == SEARCHED:
        return load("statement_groundedness", model=Script(name), window=10)
    if name in OTHERS:
        return load_any("groundedness", model=Script(name), **OTHERS[name])
    return load_any(BY_DECISIONS.get(name, name), model=Script(name))


@cache
def expected_verdicts(name: str) -> list[Fields]:
    """The verdicts of the judge itself."""
    judge = judge_of(name)
    return [fields_of(verdict_of(judge, case)) for case in CASES[name]]


def verdict_of(judge: AnyJudge, case: Any) -> Verdict:
    """The verdict that the judge returns, or raises with its error."""
    return outcome(lambda: judge.judge(case))


def outcome(call: Callable[[], Verdict]) -> Verdict:
    """What a call returns, or the verdict of the error that it raises."""
    try:
        return call()
    except GroundjudgeError as error:
        verdict = error.verdict
    assert verdict
    return verdict


@dataclass(frozen=True)
class Exchange:
    """What an application was given and returned; `metadata` is what the framework keeps beside it.

    `reference` is what a data set has of the right outputs.
    """

    id: str
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    reference: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def inputs_with_id(self) -> dict[str, Any]:
        """The inputs, by whose `id` an application finds its outputs."""
        return {"id": self.id, **self.inputs}

    @property
    def row(self) -> dict[str, Any]:
        """All in one mapping."""
        row = {**self.inputs_with_id, **self.reference, **self.outputs}
        if self.metadata:
            row["metadata"] = self.metadata
        return row


SIDES = {"response": "outputs", "context": "outputs", "reference": "reference"}


def exchange_of(case: Mapping[str, Any]) -> Exchange:
    """A case as the exchange with an application that returns its response and its context."""
    sides: dict[str, dict[str, Any]] = {"inputs": {}, "outputs": {}, "reference": {}}
    for name, value in case.items():
        if name != "id":
            sides[SIDES.get(name, "inputs")][name] = value
    return Exchange(case["id"], **sides)


def exchanges(name: str) -> list[Exchange]:
    """The judge's rows of the table."""
    return [exchange_of(case) for case in CASES[name]]
