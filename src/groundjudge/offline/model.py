"""The offline judge as a model: it answers a request from the request's case, and calls no language model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from groundjudge.case.case import Case
from groundjudge.errors import ModelError
from groundjudge.evidence.sources import Passage
from groundjudge.offline.alignment import read_sources
from groundjudge.offline.case_texts import SOURCES, query_text, source_texts
from groundjudge.offline.claims import Claim, read_claims
from groundjudge.replies import PartReading, Reading
from groundjudge.replies.completeness import sentences_to_rate
from groundjudge.replies.reply import NOT_DECIDED, Reply
from groundjudge.replies.shares import write_shares
from groundjudge.replies.value import label_of
from groundjudge.replies.weighted import is_weighable
from groundjudge.rubric.load import load_rubric, names
from groundjudge.rubric.rubric import Request, Rubric
from groundjudge.scale import DIGITS
from groundjudge.verdict import __version__, passes

LIMITS = "The offline judge passes only what one sentence of the source says in nearly the same words."

STATES_NOTHING = 0.9
"""The score of a response that claims nothing, where a judge has no value for that: a greeting is fine."""

HIGHEST_UNDECIDED = 0.8
"""What is not decided scores less than this and less than the threshold: .8 is the least that is backed."""

MAX_QUOTED = 160
"""Characters of a sentence that a reason shows."""

MAX_NAMED = 3
"""Sentences, and missing words of each, that a reason names."""

MAX_WORD = 40
"""Characters of a word that a reason shows."""

DECIMALS = 2
"""Decimals of a value on a scale of 0 to 1 that is no scale of whole numbers."""

BELOW = 0.9
"""How near to the threshold a claim comes whose words are all found, but not one after the other."""


@dataclass(frozen=True)
class OfflineModel:
    """Looks the sentences of a response up in its sources."""

    name: str = "offline"

    @property
    def limits(self) -> str:
        """What a result of it is to be read with."""
        return LIMITS

    @property
    def identity(self) -> str:
        """The name and the version of the library, which decide on its replies."""
        return f"{self.name} {__version__}"

    def check_rubric(self, rubric: Rubric) -> None:
        """Make sure that a rubric judges whether a response is grounded, and shows in what.

        Raises:
            ModelError: `offline_cannot_judge`.
        """
        path = rubric.prompt.path
        if not rubric.is_bundled and rubric.prompt.front_matter.offline is None:
            message = (
                f"{path}: the offline judge looks sentences up in a source, and does not know what "
                f"{rubric.name} judges: if that is whether a response is grounded, write `offline: "
                f"groundedness` into the front matter (or another of {', '.join(names())}); otherwise "
                "give it a language model"
            )
            raise ModelError("offline_cannot_judge", message, path)
        if SOURCES.isdisjoint(prompt_input.field for prompt_input in rubric.inputs):
            message = (
                f"{path}: the offline judge looks a response up in a source, and {rubric.name} shows none of "
                f"{', '.join(sorted(SOURCES))}: give it a language model"
            )
            raise ModelError("offline_cannot_judge", message, path)

    async def acomplete(self, request: Request) -> Reply:
        """Reply in the judge's format."""
        rubric, case = request.rubric, request.case
        # In the prompt's order: texts are numbered in the reason, and the same in every process.
        fields = tuple(prompt_input.field for prompt_input in rubric.inputs)
        texts = source_texts(case, fields, needs_context=_needs_context(rubric))
        sources = read_sources(texts, case.response_text)
        claims = read_claims(case.response_text, sources, query_text(case, fields))
        if rubric.format.part_names:
            reading = _read_passage(rubric, case, claims, texts)
            is_decided = passes(rubric.format.score(reading, rubric.scale) or 0.0, rubric.threshold)
        else:
            reading = _read_response(rubric, case, claims, texts)
            is_decided = all(claim.finding in {"backed", "claims nothing"} for claim in claims)
        limits = f"({LIMITS})"
        if rubric.format.parts_are_sentences:  # a scorecard has no place for a reason beside its quotes
            limits = f"{reading.reason} {limits}"
        return Reply(rubric.write(reading), warnings=() if is_decided else (NOT_DECIDED,), limits=limits)


@cache
def _is_about_context(name: str) -> bool:
    """Whether a judge of the library looks for its source in the context alone, even if that is empty."""
    return not load_rubric(name).not_applicable


def _needs_context(rubric: Rubric) -> bool:
    return _is_about_context(rubric.prompt.front_matter.offline or rubric.name)


def _read_response(rubric: Rubric, case: Case, claims: Sequence[Claim], texts: Sequence[str]) -> Reading:
    """What is said of a response: it is worth as much as the sentence with the lowest score."""
    real_claims = [claim for claim in claims if claim.finding != "claims nothing"]
    value: float | None = None
    label = rubric.scale.without_score or ""
    shares = ""
    if real_claims:
        weakest = min(real_claims, key=lambda claim: _score_of(rubric, claim))
        value, label = _value_of(rubric, weakest)
        shares = _shares_of(rubric, value, _score_of(rubric, weakest))
    elif rubric.not_applicable:
        value = rubric.not_applicable[0]
    elif rubric.scale.without_score is None:
        value, label = _value_of(rubric, Claim("", "backed", STATES_NOTHING))
    parts: list[PartReading] = []
    if rubric.format.parts_are_sentences:
        to_rate = sentences_to_rate([claim.sentence for claim in claims], case.response_text)
        for claim in claims:
            if claim.sentence in to_rate:
                parts.append(_sentence_part(rubric, claim, texts))
    level = label_of(value, rubric.levels) or ""
    return Reading(value, _reason_of(claims, texts), tuple(parts), level, label=label, shares=shares)


def _sentence_part(rubric: Rubric, claim: Claim, texts: Sequence[str]) -> PartReading:
    """A sentence with its value, and the sentences of the source that say it or are most like it."""
    if claim.finding == "claims nothing":
        return PartReading(
            claim.sentence, None, _finding_of(claim, texts), (), rubric.scale.without_score or ""
        )
    value, label = _value_of(rubric, claim)
    quotes: tuple[str, ...] = ()
    if rubric.scale.score(value) > 0:
        quotes = tuple(_text_of(passage, texts) for passage in claim.passages)
    return PartReading(claim.sentence, value, _finding_of(claim, texts), quotes, label)


def _read_passage(rubric: Rubric, case: Case, claims: Sequence[Claim], texts: Sequence[str]) -> Reading:
    """How much of the reference stands in the returned passage, and how much of the passage in the reference.

    A sentence that is not found counts as missing, so that both are at least what is said.
    """
    passage = [case.response_text]
    facts = read_claims(case.reference or "", read_sources(passage, case.reference or ""))
    parts: list[PartReading] = []
    for name in rubric.format.part_names:
        found, where = (facts, passage) if name.casefold() == "recall" else (claims, texts)
        real_claims = [claim for claim in found if claim.finding != "claims nothing"]
        length = sum(len(claim.sentence) for claim in real_claims)
        length_backed = sum(len(claim.sentence) for claim in real_claims if claim.finding == "backed")
        score = length_backed / length if length else 0.0
        value = rubric.scale.worst + score * (rubric.scale.best - rubric.scale.worst)
        parts.append(PartReading(name, round(value, DIGITS), _reason_of(found, where)))
    return Reading(None, parts=tuple(parts))


def _score_of(rubric: Rubric, claim: Claim) -> float:
    """The score of a claim: what is not decided stays below the threshold, by how much of it was found."""
    if claim.finding == "backed":
        return claim.score
    return BELOW * claim.score * min(rubric.threshold, HIGHEST_UNDECIDED)


def _value_of(rubric: Rubric, claim: Claim) -> tuple[float, str]:
    """The value of a claim on the judge's scale and its label, rounded away from the threshold."""
    is_backed = claim.finding == "backed"
    scale, score = rubric.scale, _score_of(rubric, claim)
    if scale.choices:
        scores = {label: choice for label, choice in scale.choices.items() if choice is not None}
        if not is_backed:
            scores = {
                label: choice for label, choice in scores.items() if choice < rubric.threshold
            } or scores
        label = min(scores, key=lambda label: (abs(scores[label] - score), scores[label]))
        return scores[label], label
    size = abs(scale.best - scale.worst)
    step = 1.0 if scale.integer else 10.0 ** (math.floor(math.log10(size)) - DECIMALS)
    direction = 1 if is_backed else -1
    n_steps = math.ceil(round(score * size / step, DIGITS)) if is_backed else math.floor(score * size / step)
    sign = 1 if scale.best > scale.worst else -1
    value = round(scale.worst + sign * n_steps * step, DIGITS)
    while value in rubric.not_applicable:
        value = round(value + sign * direction * step, DIGITS)
    return value, ""


def _shares_of(rubric: Rubric, value: float, score: float) -> str:
    """Shares of the value and of an end of the scale whose mean is the score; "" where none are stated."""
    scale = rubric.scale
    if rubric.weighted != "stated" or scale.choices or not is_weighable(scale):
        return ""
    stated = scale.score(value)
    other_end = scale.worst if stated > score else scale.best
    distance = scale.score(other_end) - stated
    other_share = (score - stated) / distance if distance else 0.0
    shares = {f"{value:.0f}": 1 - other_share}
    if other_share:
        shares[f"{other_end:.0f}"] = other_share
    return write_shares({name: round(share, DIGITS) for name, share in shares.items()}, scale, rubric.levels)


def _reason_of(claims: Sequence[Claim], texts: Sequence[str]) -> str:
    """What was found, the sentences that are not decided first."""
    real_claims = [claim for claim in claims if claim.finding != "claims nothing"]
    if not real_claims:
        return "Nothing is stated that could be looked up."
    undecided = [claim for claim in real_claims if claim.finding != "backed"]
    shown = undecided or real_claims
    lines = [_finding_of(claim, texts, named=True) for claim in shown[:MAX_NAMED]]
    if len(shown) > MAX_NAMED:
        lines.append(f"{len(shown) - MAX_NAMED} more sentences like these.")
    return " ".join(lines)


def _finding_of(claim: Claim, texts: Sequence[str], *, named: bool = False) -> str:
    """What was found of a sentence; `named` if it does not stand beside it."""
    sentence = f" {_in_quotes(claim.sentence)}" if named else ""
    if claim.finding == "claims nothing":
        return "Nothing is stated that could be looked up."
    places = ", ".join(_place_of(passage, texts) for passage in claim.passages)
    if claim.finding == "backed":
        return f"In the source:{sentence or ' this'} stands in {places}."
    missing = ", ".join(word[:MAX_WORD] for word in claim.missing[:MAX_NAMED])
    if claim.finding == "refuted":
        return f"The source does speak of {missing}:{sentence} {places}."
    if not claim.passages:
        return f"Not in nearly these words: ask a model.{sentence} The source has none of its words."
    difference = (
        f"it lacks: {missing}" if missing else "it has the same words in another order, or more between them"
    )
    return f"Not in nearly these words: ask a model.{sentence} Nearest: {places}; {difference}."


def _place_of(passage: Passage, texts: Sequence[str]) -> str:
    """A sentence of a text and where it stands, texts being counted from 1 as in the prompts."""
    document, start, end = passage
    return f"text {document + 1} ({start} to {end}): {_in_quotes(_text_of(passage, texts))}"


def _text_of(passage: Passage, texts: Sequence[str]) -> str:
    return texts[passage.document][passage.start : passage.end]


def _in_quotes(text: str) -> str:
    """A text on one line in quotation marks, cut if it is long."""
    text = " ".join(text.split())
    return f"“{text if len(text) <= MAX_QUOTED else f'{text[: MAX_QUOTED - 1]}…'}”"
