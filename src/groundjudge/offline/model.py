"""The offline judge as a model: it answers from the request's case, and calls no language model."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from groundjudge.case.case import Case
from groundjudge.case.shapes import text_of
from groundjudge.citations import without_markers
from groundjudge.errors import ModelError
from groundjudge.offline.alignment import as_compared, read_sources
from groundjudge.offline.claims import Claim, Finding, read_claims
from groundjudge.replies import PartReading, Reading
from groundjudge.replies.distribution import values_of
from groundjudge.replies.reply import NOT_DECIDED, Reply
from groundjudge.replies.shares import write_shares
from groundjudge.replies.value import label_of
from groundjudge.rubric.load import load_rubric, names
from groundjudge.rubric.rubric import Request, Rubric
from groundjudge.scale import DIGITS
from groundjudge.text.printable import one_line
from groundjudge.verdict import __version__, passes

LIMITS = (
    "The offline judge passes a statement only if one sentence of the source says the same thing in "
    "nearly the same words."
)

SOURCES = frozenset({"answers", "context", "profile", "query", "reference"})
"""The fields of a case that can support a response."""

STATES_NOTHING = 0.9
"""The score of a response that claims nothing, if a judge has no value for that: a greeting is fine."""

HIGHEST_UNDECIDED = 0.6
"""Undecided claims score at most this, and less than the threshold: supported ones score at least .8."""

BELOW = 0.9
"""The share of the threshold that a claim scores if its words are all found, but not in sequence."""

MAX_SHOWN = 160
"""How many characters of a text a reason shows."""

MAX_NAMED = 3
"""How many sentences, and missing words of each, a reason names."""

NOTHING_STATED = "It states nothing that could be looked up."


@dataclass(frozen=True)
class OfflineModel:
    """Look the sentences of a response up in its sources."""

    name: str = "offline"
    never_waits: ClassVar[bool] = True
    limits: ClassVar[str] = LIMITS

    @property
    def identity(self) -> str:
        """The name and the version of the library, which determine its replies."""
        return f"{self.name} {__version__}"

    def check_rubric(self, rubric: Rubric) -> None:
        """Make sure that a rubric judges whether a response is grounded, and shows the source.

        Raises:
            ModelError: `offline_cannot_judge`.
        """
        path, fault = rubric.prompt.path, ""
        if not rubric.is_bundled and rubric.prompt.front_matter.offline is None:
            all_names = ", ".join(names())
            fault = (
                "does not say what it judges: if it judges whether a response is grounded, add `offline: "
                f"groundedness` to the front matter (or another of {all_names})"
            )
        elif SOURCES.isdisjoint(prompt_input.field for prompt_input in rubric.inputs):
            fault = f"shows none of {', '.join(sorted(SOURCES))}"
        elif rubric.window is not None:
            fault = "has a `window`, which it does not need: it reads sources of any length"
        if fault:
            message = f"{path}: the offline judge looks a response up in a source, but {rubric.name} {fault}"
            raise ModelError("offline_cannot_judge", f"{message}; or use a language model", path)

    async def acomplete(self, request: Request) -> Reply:
        """Reply in the judge's format."""
        rubric, case = request.rubric, request.case
        texts = _source_texts(rubric, case)
        query = text_of(case.query or case.conversation, "user")
        response = case.response_text
        claims = read_claims(response, read_sources(texts, response, query), query, without_markers(case))
        limits = f"({LIMITS})"
        if rubric.format.part_names:
            reading = _read_passage(rubric, case, claims)
            is_decided = passes(rubric.format.score(reading, rubric.scale) or 0.0, rubric.threshold)
        else:
            is_decided = all(claim.finding != "undecided" for claim in claims)
            if rubric.format.parts_are_sentences:
                reading = _rate_sentences(request, claims)
                limits = f"{reading.reason} {limits}"  # it has no place for a reason next to its quotes
            else:
                reading = _rate_response(rubric, claims)
        return Reply(rubric.write(reading), warnings=() if is_decided else (NOT_DECIDED,), limits=limits)


def _source_texts(rubric: Rubric, case: Case) -> list[str]:
    """Return the texts that must support the response.

    They are the first of these that the prompt shows and the case has: the context; the reference; profile
    and answers; the query and the results of tools.
    """
    # In the prompt's order: texts are numbered in the reason, and the same in every process.
    fields = [prompt_input.field for prompt_input in rubric.inputs]
    # If a search found nothing, there may be nothing else that could support a response.
    if "context" in fields and case.context is not None and (case.context or _needs_context(rubric)):
        return [document.content for document in case.context]
    messages = case.response if isinstance(case.response, tuple) else ()
    tool_results = [message.content for message in messages if message.role == "tool"]
    steps: Sequence[Mapping[str, Sequence[str]]] = (
        {"reference": [case.reference or ""]},
        {"profile": [case.profile or ""], "answers": case.answers or ()},
        {"query": [text_of(case.query, "")], "response": tool_results},
    )
    for texts_by_field in steps:
        texts = [text for field in fields for text in texts_by_field.get(field, ()) if text.strip()]
        if texts:
            return texts
    return []


def _needs_context(rubric: Rubric) -> bool:
    """Whether only the context can support a response: the judge has no value for "nothing to ground"."""
    like = rubric.prompt.front_matter.offline
    return not (rubric if like is None else load_rubric(like)).not_applicable


def _rate_sentences(request: Request, claims: Sequence[Claim]) -> Reading:
    """Rate each sentence of a response, with the source's sentences that say it or are most like it.

    The judge's format writes their text or, if they are numbered, their numbers.
    """
    rubric = request.rubric
    numbered = () if request.sentences is None else request.sentences.source
    numbers = {(sentence.document, sentence.start): number for number, sentence in enumerate(numbered, 1)}
    parts: list[PartReading] = []
    whole = 1.0
    for claim in claims:
        value: float | None = None
        label = rubric.scale.without_score or ""
        if claim.finding != "claims nothing":
            score, value, label = _rate(rubric, claim)
            whole = min(whole, score)
        quotes = tuple(source.text for source in claim.sources)
        places = [(source.document, source.start) for source in claim.sources]
        sources = tuple(numbers[place] for place in places if place in numbers)
        parts.append(PartReading(claim.sentence, value, _finding_of(claim), quotes, label, sources=sources))
    known_whole = None if request.sentences is None else whole
    return Reading(None, _reason_of(claims), tuple(parts), whole=known_whole)


def _rate_response(rubric: Rubric, claims: Sequence[Claim]) -> Reading:
    """Rate a response as a whole: like the sentence with the lowest score."""
    ratings = [_rate(rubric, claim) for claim in claims if claim.finding != "claims nothing"]
    value: float | None = None
    label = rubric.scale.without_score or ""
    shares = ""
    if not ratings and rubric.not_applicable:
        value = rubric.not_applicable[0]
    elif ratings or rubric.scale.without_score is None:
        without_claims = _rate(rubric, Claim("", "backed", STATES_NOTHING))
        score, value, label = min(ratings, default=without_claims)
        shares = _shares_of(rubric, value, score)
    level = label_of(value, rubric.levels) or ""
    return Reading(value, _reason_of(claims), level=level, label=label, shares=shares)


def _read_passage(rubric: Rubric, case: Case, claims: Sequence[Claim]) -> Reading:
    """Measure how much of the reference is in the returned passage, and how much of this in the reference.

    A sentence of the reference that is not found counts as missing, which only lowers recall; a passage with
    a sentence that is not found does not pass.
    """
    reference = case.reference or ""
    facts = read_claims(reference, read_sources([case.response_text], reference))
    parts: list[PartReading] = []
    for name in rubric.format.part_names:
        # Recall: the reference's sentences in the passage; precision: the passage's in the reference.
        looked_up = facts if name.casefold() == "recall" else claims
        lengths = Counter[Finding]()
        for claim in looked_up:
            lengths[claim.finding] += sum(map(str.isalnum, as_compared(claim.sentence)))
        length = lengths["backed"] + lengths["undecided"]
        score = lengths["backed"] / length if length else 0.0
        if looked_up is claims and lengths["undecided"]:
            # One wrong sentence of many would pass: half the threshold keeps the harmonic mean below it.
            score *= rubric.threshold / 2
        value = rubric.scale.worst + score * (rubric.scale.best - rubric.scale.worst)
        parts.append(PartReading(name, round(value, DIGITS), _reason_of(looked_up)))
    return Reading(None, parts=tuple(parts))


def _rate(rubric: Rubric, claim: Claim) -> tuple[float, float, str]:
    """Return the score of a claim, its value on the judge's scale, and its label.

    Backed claims pass, the others stay below the threshold: they are rounded away from it.
    """
    scale = rubric.scale
    is_backed = claim.finding == "backed"
    share = 1.0 if is_backed else min(BELOW * rubric.threshold, HIGHEST_UNDECIDED)
    # Cut, not rounded: .499 would become .5, and pass.
    score = math.floor(round(claim.score * share * 100, DIGITS)) / 100
    if is_backed:
        score = max(score, rubric.threshold)
    ranked_labels: list[tuple[bool, float, float, str]] = []
    for label, choice in scale.choices.items():
        if choice is not None:
            is_on_wrong_side = (choice >= rubric.threshold) is not is_backed
            # Of two equally near ones, the worse one.
            ranked_labels.append((is_on_wrong_side, abs(choice - score), choice, label))
    if ranked_labels:
        *_, choice, label = min(ranked_labels)
        return score, choice, label
    value = round(scale.worst + score * (scale.best - scale.worst), DIGITS)
    # Away from the threshold: up on a rising scale if it is supported.
    step = 1 if is_backed is (scale.best > scale.worst) else -1
    if scale.integer:
        value = float(math.ceil(value) if step > 0 else math.floor(value))
    while value in rubric.not_applicable:  # which would leave a claim unjudged
        value += step
    return score, value, ""


def _shares_of(rubric: Rubric, value: float, score: float) -> str:
    """Return shares of the value and of an end of the scale that average to the score; "" for no shares."""
    scale = rubric.scale
    if rubric.weighted != "stated" or scale.choices or not values_of(scale):
        return ""
    stated = scale.score(value)
    end = scale.worst if stated > score else scale.best
    # x * end + (1 - x) * stated = score, solved for x.
    share = 0.0 if stated == score else (score - stated) / (scale.score(end) - stated)
    shares = {f"{end:.0f}": round(share, DIGITS), f"{value:.0f}": 1 - round(share, DIGITS)}
    return write_shares(shares, scale, rubric.levels)


def _reason_of(claims: Sequence[Claim]) -> str:
    """Say what was found: for the undecided sentences, or else for all."""
    undecided = [claim for claim in claims if claim.finding == "undecided"]
    backed = [claim for claim in claims if claim.finding == "backed"]
    # What needs a look comes first; what is fine is named only if there is nothing else.
    named = (undecided or backed)[:MAX_NAMED]
    return " ".join(map(_finding_of, named)) or NOTHING_STATED


def _finding_of(claim: Claim) -> str:
    """Say what was found for a sentence, and where; texts are counted from 1 as in the prompts."""
    if claim.finding == "claims nothing":
        return NOTHING_STATED
    places: list[str] = []
    for source in claim.sources:
        place = f"text {source.document + 1} ({source.start} to {source.end})"
        places.append(f"{place}: {_in_quotes(source.text)}")
    where = ", ".join(places)
    sentence = _in_quotes(claim.sentence)
    if claim.finding == "backed":
        return f"Backed: {sentence} by {where}."
    missing = ", ".join(word[:MAX_SHOWN] for word in claim.missing[:MAX_NAMED])
    lacks = f"it lacks: {missing}" if missing else "it has these words in another order or with others"
    nearest = f"Nearest: {where}; {lacks}." if where else "The source has none of its words."
    return f"Not found in nearly the same words; ask a model. {sentence} {nearest}"


def _in_quotes(text: str) -> str:
    """Return a text on one line in quotation marks, cut if it is long."""
    text = one_line(text)
    return f"“{text}”" if len(text) <= MAX_SHOWN else f"“{text[: MAX_SHOWN - 1]}…”"
