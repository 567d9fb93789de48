"""The lexical baseline as a model: it reads the request's case, and no language model is called."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean

from groundjudge.case.case import Case
from groundjudge.errors import ModelError
from groundjudge.offline.claims import answers_of, claims, makes_no_claim
from groundjudge.offline.facts import facts_of
from groundjudge.offline.reasons import reason, reason_beside_quotes, reason_of_sentence
from groundjudge.offline.sources import SOURCES, query_text, source_texts, tool_texts
from groundjudge.offline.support import DIGITS, SUPPORTED, PassageIndex, Support, index
from groundjudge.replies import PartReading, Reading
from groundjudge.replies.completeness import sentences_to_rate
from groundjudge.replies.reply import Reply
from groundjudge.replies.value import label_of
from groundjudge.rubric.load import load_rubric, names
from groundjudge.rubric.rubric import Request, Rubric
from groundjudge.text.languages import is_unknown_language
from groundjudge.verdict import __version__, passes

LIMITS = "words were compared, no language model was called: a paraphrase is out of its reach"
NOTICE = f"(Offline baseline: {LIMITS}.)"
LEVELS = ("ungrounded", "incorrect", "nothing_to_ground", "incomplete", "grounded")

# With less support, and more of the content of each claim missing, a response is about something else.
UNRELATED, FOREIGN = 0.12, 0.5
# The score of a response without a claim, where the judge has no value for that.
STATES_NOTHING = 0.9
# Below this, a sentence has no more in common with the source than any other sentence has.
NOTHING_FOUND = 0.05
# Judges of sentences pass from 6 of 10: one that may as well be backed as not is lifted from 0.5 to 0.6.
EVEN = math.log(0.6) / math.log(0.5)


@dataclass(frozen=True)
class OfflineModel:
    """Compares a response with its sources by words, numbers and negations."""

    name: str = "offline"

    @property
    def limits(self) -> str:
        """What a result of it is to be read with."""
        return f"offline baseline: {LIMITS}"

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
                f"{path}: the offline baseline compares words, and does not know what {rubric.name} judges: "
                "if that is whether a response is grounded, write `offline: groundedness` into the front "
                f"matter (or another of {', '.join(names())}); else give it a language model"
            )
            raise ModelError("offline_cannot_judge", message, path)
        if SOURCES.isdisjoint(prompt_input.field for prompt_input in rubric.inputs):
            message = (
                f"{path}: the offline baseline compares a response with a source, and {rubric.name} shows "
                f"none of {', '.join(sorted(SOURCES))}: give it a language model"
            )
            raise ModelError("offline_cannot_judge", message, path)

    async def acomplete(self, request: Request) -> Reply:
        """Reply in the judge's format."""
        rubric = request.rubric
        # In the prompt's order: texts are numbered in the reason, and the same in every process.
        shown_fields = tuple(prompt_input.field for prompt_input in rubric.inputs)
        reading = _reading(rubric, request.case, shown_fields)
        text = rubric.write(reading)
        # A scorecard has no place for a reason beside a quote: it goes with the reply.
        limits = reading.reason if rubric.format.parts_are_sentences else NOTICE
        warnings: tuple[str, ...] = ()
        sources = source_texts(request.case, shown_fields, needs_context=False)
        if any(is_unknown_language(source) for source in (request.case.response_text, *sources)):
            warnings = ("offline_language",)
        return Reply(text, warnings=warnings, limits=limits)


@cache
def _treatment(name: str) -> tuple[bool, bool]:
    """How a judge of the library is treated: whether it needs a context, and is played in a role."""
    rubric = load_rubric(name)
    in_role = any(prompt_input.field == "profile" for prompt_input in rubric.inputs)
    return not _is_graded(rubric), in_role


def _is_graded(rubric: Rubric) -> bool:
    """Whether a rubric has the levels of groundedness."""
    return set(LEVELS) <= set(rubric.levels.values())


def _reading(rubric: Rubric, case: Case, shown_fields: Collection[str]) -> Reading:
    """What the reply says: the format writes of it what it has a place for."""
    offline = rubric.prompt.front_matter.offline
    needs_context, in_role = _treatment(rubric.name if offline is None else offline)
    sources = index(source_texts(case, shown_fields, needs_context=needs_context))
    tools = index(tool_texts(case)) if "context" in shown_fields else None
    query = query_text(case, shown_fields)
    if rubric.format.part_names:
        # The headline follows from the parts, and nothing is written of the response as a whole.
        answers = answers_of(case.response_text, sources, tools, query)
        named_parts = [_named_part(name, rubric, case, sources, answers) for name in rubric.format.part_names]
        return Reading(None, parts=tuple(named_parts))
    all_claims = claims(case.response_text, sources, tools, query)
    real_claims = [claim for claim in all_claims if not makes_no_claim(claim)]
    value = _value(rubric, real_claims, in_role=in_role)
    parts: list[PartReading] = []
    if rubric.format.parts_are_sentences:
        to_rate = sentences_to_rate([claim.sentence for claim in all_claims], case.response_text)
        rated_claims = [claim for claim in all_claims if claim.sentence in to_rate] or all_claims
        low_claims: list[Support] = []
        for claim in rated_claims:
            part = _sentence_part(rubric, claim)
            parts.append(part)
            if _is_low(rubric, claim, part):
                low_claims.append(claim)
        findings = reason_beside_quotes(low_claims)
    else:
        findings = reason(real_claims)
    level = label_of(value, rubric.levels) or ""
    return Reading(value, f"{findings} {NOTICE}".lstrip(), tuple(parts), level, label=_label(rubric, value))


def _level(real_claims: Sequence[Support]) -> str:
    """The level of groundedness that claims deserve."""
    if not real_claims:
        return "nothing_to_ground"
    score = _score(real_claims)
    if score < UNRELATED and all(claim.missing_share > FOREIGN for claim in real_claims):
        return "ungrounded"
    if score < SUPPORTED:
        return "incorrect"
    return "grounded" if all(claim.is_whole for claim in real_claims) else "incomplete"


def _value(rubric: Rubric, real_claims: Sequence[Support], *, in_role: bool) -> float | None:
    """The value of the whole response on the judge's scale."""
    if _is_graded(rubric):
        level = _level(real_claims)
        return next(value for value, label in rubric.levels.items() if label == level)
    if real_claims:
        # What contradicts a document is not made good by what agrees with it.
        contradicted_scores = [claim.score for claim in real_claims if claim.contradictions]
        return _value_of_score(rubric, min(_score(real_claims, in_role=in_role), *contradicted_scores, 1.0))
    if rubric.not_applicable:
        return rubric.not_applicable[0]
    if rubric.scale.without_score is not None:
        return None
    return _value_of_score(rubric, STATES_NOTHING)


def _score(real_claims: Sequence[Support], *, in_role: bool = False) -> float:
    """Halfway between the weakest claim and the geometric mean of all by their length.

    So many claims that hold cannot outweigh one that does not. In a role it is the quadratic mean: moods and
    manners need no backing, so what is backed counts most.
    """
    scores = [claim.score for claim in real_claims]
    lengths = [claim.length for claim in real_claims]
    if in_role:
        return math.sqrt(fmean((score**2 for score in scores), lengths))
    mean_logarithm = fmean(map(math.log, scores), lengths)
    return math.exp((mean_logarithm + math.log(min(scores))) / 2)


def _sentence_part(rubric: Rubric, claim: Support) -> PartReading:
    """A sentence of the response with its value and its evidence; one that claims nothing has neither."""
    if makes_no_claim(claim):
        return PartReading(claim.sentence, None, reason([]), (), _label(rubric, None))
    is_backed = bool(claim.quote) and claim.score >= NOTHING_FOUND
    value = _value_of_score(rubric, claim.score**EVEN if is_backed else 0.0)
    quotes = (claim.quote,) if is_backed else ()
    return PartReading(claim.sentence, value, reason_of_sentence(claim), quotes, _label(rubric, value))


def _is_low(rubric: Rubric, claim: Support, part: PartReading) -> bool:
    """Whether a sentence is below the pass mark, and nothing but a quote stands beside it.

    Where the pass mark is higher than what the baseline ever gives, a sentence without a fault is left out.
    """
    if part.value is None or not part.quotes or (claim.is_whole and not claim.missing):
        return False
    return not passes(rubric.scale.score(part.value), rubric.threshold)


def _named_part(
    name: str, rubric: Rubric, case: Case, sources: PassageIndex, answers: Mapping[str, Support]
) -> PartReading:
    """The part of that name: what the response has of the reference for recall, else the other way round."""
    if name.casefold() == "recall":
        where = "the returned passage"
        facts = facts_of(case.reference or "", index([case.response_text]), is_reference=True)
    else:
        where = "the reference"
        facts = facts_of(case.response_text, sources, answers)
    score = 0.0
    if facts:
        score = sum(fact.length * fact.score for fact in facts) / sum(fact.length for fact in facts)
    return PartReading(name, _value_of_score(rubric, score), f"{reason(facts, where)} {NOTICE}")


def _label(rubric: Rubric, value: float | None) -> str:
    """The label of a value, on a scale of labels; otherwise ""."""
    scale = rubric.scale
    return (scale.without_score or "") if value is None else scale.nearest(value)


def _value_of_score(rubric: Rubric, score: float) -> float:
    """The value on the judge's scale for a score: the nearest that does not mean "nothing to judge"."""
    scale = rubric.scale
    if scale.choices:
        return scale.choices[scale.nearest(score)] or 0.0
    digits = 0
    if not scale.integer:
        digits = max(0, DIGITS - math.floor(math.log10(abs(scale.best - scale.worst))))
    value = round(scale.worst + score * (scale.best - scale.worst), digits)
    most_steps = len(rubric.not_applicable) + 1
    nearest_steps = sorted(range(-most_steps, most_steps + 1), key=abs)
    near_values = (round(value + n_steps * 10.0**-digits, digits) for n_steps in nearest_steps)
    return next(near for near in near_values if scale.holds(near) and near not in rubric.not_applicable)
