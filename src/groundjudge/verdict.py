"""A verdict: a traceable score, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Annotated, Any, Literal, Protocol, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer, computed_field

__version__ = "0.1.0"
"""The version of the library; every verdict names it."""


# Characters to try encoding at a time: encoding a long text as a whole would copy it.
_PIECE = 1 << 16


def well_formed(text: str) -> str:
    """Replace lone surrogates in a text with U+FFFD, because neither JSON nor UTF-8 can represent them."""
    if text.isascii() or not _has_surrogate(text):  # nearly always, and it saves a copy
        return text
    # UTF-16 joins the two halves of one character, which JSON may escape separately: "\ud83d\ude00".
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _has_surrogate(text: str) -> bool:
    try:
        for start in range(0, len(text), _PIECE):
            text[start : start + _PIECE].encode("utf-16")
    except UnicodeEncodeError:
        return True
    return False


String: TypeAlias = Annotated[str, AfterValidator(well_formed), PlainSerializer(well_formed, return_type=str)]
"""Any text. Invalid Unicode is repaired when the text arrives, or at the latest when it is written."""

Score = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]

NO_REASONS = "(a decision model gives no reasons)"
"""The end of the reason of a decision model's verdict; the probabilities come before it."""

Passes: TypeAlias = Literal["score", "weakest"]
"""Which score decides whether a verdict passes: the headline, or the lowest score of its parts."""

Weighted: TypeAlias = bool | Literal["stated"]
"""Whether a score is a mean over all values: weighted by stated shares, or by token probabilities."""

# 0.7 + 0.1 is 0.7999999999999999, and must reach a threshold of 0.8.
DIGITS_COMPARED = 9
"""Decimal places used to compare a score with a threshold."""

MIN_SHARE_SHOWN = 0.005
"""The lowest probability that an explanation shows: a lower one would appear as 0%."""


class Frozen(BaseModel):
    """An immutable value."""

    # Building validators when a class is first used halves the import time.
    model_config = ConfigDict(frozen=True, defer_build=True)


CitationFinding: TypeAlias = Literal[
    "supported", "wrong_document", "unsupported", "dangling", "no_claim", "unchecked"
]
"""Whether a cited document supports its sentence; `dangling`: there is no such document; `unchecked`: it is
not known which documents support the sentence."""

BORNE_OUT = 0.5
"""The lowest score of a sentence that its evidence supports."""


class Usage(Frozen):
    """Tokens as the endpoint counted them.

    Attributes:
        prompt_tokens: those of the prompts, cached ones included.
        completion_tokens: those of the replies, reasoning included.
        cached_tokens: prompt tokens that the provider read from its cache, usually at a lower price; None if
            it did not say.
        reasoning_tokens: reply tokens that the model spent on reasoning; None if it did not say.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None

    @property
    def total_tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def counts(self) -> dict[str, Any]:
        """The tokens under the names that LangChain and LangSmith give them."""
        counts: dict[str, Any] = {
            "input_tokens": self.prompt_tokens,
            "output_tokens": self.completion_tokens,
            "total_tokens": self.total_tokens,
        }
        if self.cached_tokens is not None:
            counts["input_token_details"] = {"cache_read": self.cached_tokens}
        if self.reasoning_tokens is not None:
            counts["output_token_details"] = {"reasoning": self.reasoning_tokens}
        return counts

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cached_tokens=_sum_of_counts(self.cached_tokens, other.cached_tokens),
            reasoning_tokens=_sum_of_counts(self.reasoning_tokens, other.reasoning_tokens),
        )


def _sum_of_counts(first: int | None, second: int | None) -> int | None:
    """Add two counts; None if neither is known."""
    if first is None:
        return second
    if second is None:
        return first
    return first + second


class Evidence(Frozen):
    """A quote that was found: `case.context[document].content[start:end]` is the source's own text.

    They are equal except for white space, hyphens in words, quotation marks, dashes, digits of other scripts
    and case, and `exact` is True. In verdicts of earlier versions it may be False. `number` is the number of
    the source's sentence, if the judge names sentences by number; None if a quote was looked up.
    """

    quote: String
    document: int
    start: int
    end: int
    exact: bool
    number: int | None = None


class Part(Frozen):
    """One of several scores in a verdict: "recall", or a sentence of the response.

    Attributes:
        name: the part's name, or the sentence.
        number: the number of the sentence in the response; None if sentences are not numbered.
        start: where the sentence begins in the text of the response; None without a number.
        end: where it ends.
        value: the number on the judge's own scale; None for a label that means "not applicable", and for a
            sentence that claims nothing.
        score: 0..1, 1 is best; None if the value is None.
        label: the label that the judge chose, on a scale of labels.
        reason: the judge's explanation, as the model wrote it.
        evidence: the quotes that were found in the context.
        warnings: `evidence_not_found` if a quote that the score needs is in none of the documents.
        distribution: how probable each value is, without values of probability 0; its keys are as for a
            `Verdict`. None if unknown.
        confidence: how certain that distribution is, as for a `Verdict`; None without one.
    """

    name: String
    number: int | None = None
    start: int | None = None
    end: int | None = None
    value: Finite | None = None
    score: Score | None = None
    label: String | None = None
    reason: String = ""
    evidence: tuple[Evidence, ...] = ()
    warnings: tuple[String, ...] = ()
    distribution: Mapping[String, Score] | None = None
    confidence: Score | None = None

    @property
    def borne_out_by(self) -> tuple[int, ...]:
        """The documents whose sentences support it; () for a score below one half: they contradict it."""
        if self.score is None or not passes(self.score, BORNE_OUT):
            return ()
        return tuple(dict.fromkeys(evidence.document for evidence in self.evidence))

    @property
    def value_text(self) -> str:
        """The label, or the number on the judge's own scale, as text."""
        if self.label:
            return self.label
        if self.value is None:
            return "no claim"
        return f"{self.value:g}"


class Citation(Frozen):
    """A document that a marker in a response cites: "[1, 2]" is two citations.

    Attributes:
        text: what it is called there: "1", or a title.
        start: where the marker begins in the text of the response.
        end: where it ends.
        sentence: the number of its sentence, from 1.
        documents: the indices of the documents with that name, usually one; () if there is none.
        finding: whether they support the sentence; None if no judge has checked.
        right: the documents that do, if these do not.
        note: what is wrong with it, as in "[2] does not say this; [1] does"; "" if no fault is known.
    """

    text: String
    start: int
    end: int
    sentence: int
    documents: tuple[int, ...] = ()
    finding: CitationFinding | None = None
    right: tuple[int, ...] = ()
    note: String = ""


class Failure(Frozen):
    """Why a row has no score: the code and the message of the error."""

    code: String
    message: String


class PromptId(Frozen):
    """Which prompt was used: its name and version, and the hash of the whole file."""

    name: String
    version: String
    sha256: String


Status: TypeAlias = Literal["ok", "not_applicable", "error"]


class Judgement(Frozen):
    """What a verdict and a vote have in common; the fields are described in `Verdict`."""

    judge: String
    status: Status
    score: Score | None = None
    weakest: Score | None = None
    value: Finite | None = None
    label: String | None = None
    passed: bool | None = None


class Vote(Judgement):
    """One of the votes behind a verdict; its fields mean the same as those of a verdict."""

    model: String | None = None
    prompt: PromptId | None = None
    usage: Usage | None = None
    reply: String | None = None
    error: Failure | None = None


class Verdict(Judgement):
    """One judge's result for one case.

    Attributes:
        judge: the judge's name.
        status: "ok"; "not_applicable" (nothing to judge, no score); "error" (see `error`, no score).
        score: the headline score, 0..1, 1 is best (grounded, complete, no hallucination); if a verdict has
            parts, it summarises them; None unless status is "ok".
        scores: further scores by their names, 0..1, such as the mean and the lowest one of the sentences; {}
            unless status is "ok".
        weakest: the lowest score of the parts, if that decides (`passes: weakest` in the prompt file); None
            for judges whose headline decides, and unless status is "ok".
        value: the number on the judge's own scale, if there is a single one; for a label, its score.
        label: the label that the judge chose, or the name of the level or band.
        passed: whether the deciding score reaches the threshold or, for a panel, what the majority says; True
            if the judge found nothing to judge; None for an error and for a response that was left out.
        reason: the judge's explanation, as the model wrote it.
        citations: what the response cites, if the judge was asked to check it.
        parts: the scores that make up the headline score. An error has those that a decision model gave.
        warnings: codes of what looked odd in the reply; they never change the score.
        usage: tokens of all attempts together; None when the model reported none.
        attempts: how many times the model was asked.
        retries: how many requests were sent again, after a rate limit, a server error or a lost connection.
        latency_s: seconds from the first request to the last reply.
        model: the name of the model that answered.
        reply: the raw text of the last reply; all replies of a decision model that was asked several times.
        key: the judge's `identity`, and a hash of the case; metadata counts only if the prompt shows it.
        library: the version of groundjudge.
        expected: with `weighted` or a decision model, the probability-weighted mean of the values, on the
            judge's own scale.
        distribution: with `weighted` or a decision model, how probable each value is; None if unknown. On a
            scale of labels, the keys are the labels; on a scale of numbers, they are the numbers as text,
            such as "4", even if the verdict has a label. Shares that are stated for levels have the levels'
            labels as keys.
        confidence: how certain the distribution is: 1 if one of n values has all of it, 0 if all are equally
            probable: (n * largest - 1) / (n - 1). With several parts, that of the least certain one; None
            without a distribution.
        votes: the votes of a panel or a cascade, in the order in which they were requested; () for a single
            judge.
        spread: for a panel, the standard deviation of the votes' deciding scores; None without votes.
        agreement: for a panel, the share of the votes in the largest group that agrees, 0..1; None if no vote
            says anything.
        decided_after: how many votes were requested; None without votes.
        decided_by: for a cascade, the judge and the model whose verdict is final, as in
            "groundedness@gpt-6-luna"; None for an error, and without a cascade.
    """

    scores: Mapping[String, Score] = Field(default_factory=dict)
    reason: String = ""
    parts: tuple[Part, ...] = ()
    citations: tuple[Citation, ...] = ()
    warnings: tuple[String, ...] = ()
    error: Failure | None = None
    usage: Usage | None = None
    attempts: int = 0
    retries: int = 0
    latency_s: Finite = 0.0
    model: String | None = None
    prompt: PromptId | None = None
    reply: String | None = None
    case_id: String | None = None
    key: String | None = None
    library: String = __version__
    expected: Finite | None = None
    distribution: Mapping[String, Score] | None = None
    confidence: Score | None = None
    votes: tuple[Vote, ...] = ()
    spread: Finite | None = None
    agreement: Score | None = None
    decided_after: int | None = None
    decided_by: String | None = None

    def __repr_args__(self) -> list[tuple[str | None, Any]]:
        """Return what `repr` and `str` show: one line, without reason, parts and reply."""
        arguments: list[tuple[str | None, Any]] = [("judge", self.judge), ("status", self.status)]
        if self.score is not None:
            arguments.append(("score", self.score))
        if self.label is not None:
            arguments.append(("label", self.label))
        if self.error:
            arguments.append(("error", self.error.code))
        return arguments

    @property
    def case_hash(self) -> str:
        """The hash of the case in `key`; "" if there is none."""
        if not self.key:
            return ""
        return self.key.rpartition("-")[2]

    @property
    def explanation(self) -> str:
        """The error, or else the reason, the probabilities, and a line for each part, the weakest first.

        It is never empty: promptfoo, for example, shows a failure without a reason as passed.
        """
        if self.error:
            return f"{self.error.code}: {self.error.message}"
        if self.status == "not_applicable":
            label = self.label or "no claim"
            return "\n".join([f"Not applicable ({label}). {self.reason}".strip(), *self._probability_lines])
        reason = self.reason.strip()
        part_lines: list[str] = []
        for part in sorted(self.parts, key=_score_for_order):
            line = _line_of(part)
            if line:
                part_lines.append(line)
        if not reason and not part_lines:
            reason = self._outcome
        # Frameworks without a place for probabilities show them here.
        lines = [reason, *self._probability_lines, *part_lines]
        return "\n".join(line for line in lines if line)

    @property
    def _probability_lines(self) -> list[str]:
        """A line with the probabilities, the highest first; no line if one value has all of it."""
        if self.reason.endswith(NO_REASONS):  # which names them
            return []
        entries: list[str] = []
        for name, share in sorted((self.distribution or {}).items(), key=itemgetter(1), reverse=True):
            if share >= MIN_SHARE_SHOWN:
                entries.append(f"{name}: {100 * share:.0f}%")
        if len(entries) < 2:  # noqa: PLR2004
            return []
        return [f"How probable each value is: {', '.join(entries)}."]

    @property
    def _outcome(self) -> str:
        """What to say without a reason."""
        facts: list[str] = []
        if self.label:
            facts.append(self.label)
        facts.append("no score" if self.score is None else f"score {self.score:.4g}")
        facts.append("passed" if self.passed else "not passed")
        return f"No reason given: {', '.join(facts)}."

    @computed_field  # type: ignore[prop-decorator]  # pydantic's way; mypy does not know it
    @property
    def signature(self) -> String:
        """What to quote with the score, so that others can reproduce it."""
        prompt = "?|sha:?"
        if self.prompt:
            prompt = f"{self.prompt.version}|sha:{self.prompt.sha256[:12]}"
        model = self.model or "?"
        return f"{self.judge}@{prompt}|model:{model}|groundjudge:{self.library}"


class NamedScore(Frozen):
    """One of a verdict's scores, as an evaluation framework shows it.

    Attributes:
        name: the judge's name for the headline; for a part the judge's and the part's ("passage_recall").
        part: the part's name; "weakest" for the lowest score of the parts; "" for the headline.
        score: 0..1; None unless the verdict's status is "ok".
        value: the label, or else the number on the judge's scale.
        explanation: why, in one text.
    """

    name: String
    part: String = ""
    score: Score | None = None
    value: float | String | None = None
    explanation: String = ""


def score_names(judge: str, part_names: Iterable[str]) -> dict[str, str]:
    """Return the public names of a judge's scores by the names of the parts; the headline's part is ""."""
    # The recall of "passage_quality" is "passage_recall".
    stem = judge.removesuffix("_quality")
    names = {"": judge}
    for part_name in part_names:
        names[part_name] = f"{stem}_{part_name}"
    if "mean" in names:  # the name of the mean of an experiment's verdicts
        names["mean"] = f"{stem}_sentence_mean"
    return names


def named_scores(
    verdict: Verdict, part_names: Iterable[str], name: str | None = None
) -> tuple[NamedScore, ...]:
    """Return the headline score of a verdict, and one score for each of the parts that its judge always has.

    The name "weakest" means the part with the lowest score, and a name in the verdict's `scores` means
    that score. The scores are named after the judge, or after `name` if it is given.

    A verdict without a score (an error, not applicable) also has all of them, each with the score None. A
    verdict that lacks a part has None for that part.
    """
    parts: dict[str, Verdict | Part] = {"": verdict}
    if verdict.status == "ok":  # an error may have some parts, which mean nothing without the others
        for part in verdict.parts:
            parts[part.name] = part
        for score_name in verdict.scores:  # a sentence may have the same name
            parts[score_name] = verdict
        weakest = weakest_part(verdict.parts)
        if weakest:
            # With this name, nothing else says which part it is.
            parts["weakest"] = weakest.model_copy(update={"reason": _line_of(weakest)})
        elif verdict.weakest is not None:
            parts["weakest"] = verdict  # a blank response that is scored 0 has no parts
    headline_explanation = verdict.explanation
    scores: list[NamedScore] = []
    for part_name, score_name in score_names(name or verdict.judge, part_names).items():
        score: float | None = None
        value: float | str | None = None
        explanation = headline_explanation
        scored = parts.get(part_name)
        if scored:
            score = verdict.scores.get(part_name, scored.score)
            value = scored.value if scored.label is None else scored.label
        if isinstance(scored, Part):
            # Never empty, for the same reason as `Verdict.explanation`.
            explanation = scored.reason.strip() or _line_of(scored)
        scores.append(
            NamedScore(name=score_name, part=part_name, score=score, value=value, explanation=explanation)
        )
    return tuple(scores)


def weakest_part(parts: Iterable[Part]) -> Part | None:
    """Return the first part with the lowest score; None if no part has a score."""
    scored_parts = [part for part in parts if part.score is not None]
    if not scored_parts:
        return None
    return min(scored_parts, key=_score_for_order)


class Scored(Protocol):
    """What has the scores of a judgement."""

    @property
    def score(self) -> float | None:
        """The headline."""
        ...

    @property
    def weakest(self) -> float | None:
        """The lowest score of the parts, if that decides."""
        ...


def deciding_score(judgement: Scored) -> float | None:
    """Return the score that thresholds apply to: the weakest part's if it decides, else the headline."""
    return judgement.score if judgement.weakest is None else judgement.weakest


def sum_costs(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return what several verdicts took together, as fields of one: usage, attempts and retries."""
    usages = [verdict.usage for verdict in verdicts if verdict.usage]
    return {
        # Not a usage of 0, which would mean that the calls were free.
        "usage": sum(usages, Usage()) if usages else None,
        "attempts": sum(verdict.attempts for verdict in verdicts),
        "retries": sum(verdict.retries for verdict in verdicts),
    }


def fields_of_votes(votes: Sequence[Verdict]) -> dict[str, Any]:
    """Return what votes are, and took together, as fields of the verdict that comes from them."""
    models = dict.fromkeys(vote.model or "?" for vote in votes)
    return {
        "votes": tuple(Vote.model_validate(vote, from_attributes=True) for vote in votes),
        "decided_after": len(votes),
        **sum_costs(votes),
        "model": "+".join(models),
    }


def passing_fields(
    score: float | None, parts: Iterable[Part], by: Passes, threshold: float
) -> dict[str, Any]:
    """Return the fields that say whether a verdict passes: by its weakest part's score, if that decides."""
    weakest = None
    if by == "weakest" and score is not None:
        # A blank response that is scored 0 has no parts, only its headline.
        lowest_part = weakest_part(parts)
        weakest = lowest_part.score if lowest_part else score
    deciding = score if weakest is None else weakest
    return {"weakest": weakest, "passed": deciding is None or passes(deciding, threshold)}


def passes(score: float, threshold: float) -> bool:
    """Return whether a score reaches a threshold: the only place where one is applied."""
    return round_score(score) >= threshold


def passes_anew(verdict: Verdict, threshold: float) -> bool | None:
    """Return whether a verdict passes a threshold that was set after it was given; None for an error."""
    if verdict.score is None:
        return verdict.passed
    return passes_by(verdict, vote_scores_of(verdict), threshold)


def passes_by(judgement: Scored, vote_scores: Sequence[float | None], threshold: float) -> bool:
    """Return whether a judgement with a score passes a threshold: by a majority of votes if there are any."""
    if not vote_scores:
        return passes(deciding_score(judgement) or 0.0, threshold)
    n_passed = sum(score is not None and passes(score, threshold) for score in vote_scores)
    return n_passed > len(vote_scores) / 2


def vote_scores_of(verdict: Verdict) -> tuple[float | None, ...]:
    """Return the deciding scores of the votes whose majority decides; () if no votes do."""
    if verdict.decided_by is not None:  # in a cascade one verdict is final
        return ()
    return tuple(map(deciding_score, verdict.votes))


def round_score(score: float) -> float:
    """Return a score as it is compared with thresholds: without the rounding errors of sums and means."""
    return round(score, DIGITS_COMPARED)


def _score_for_order(part: Part) -> float:
    # A sentence that claims nothing is as good as the best ones: it comes after what went wrong.
    return 1.0 if part.score is None else part.score


def _line_of(part: Part) -> str:
    # A part without a reason has no colon after it.
    return f"{part.name} ({part.value_text}): {part.reason}".rstrip(": ")
