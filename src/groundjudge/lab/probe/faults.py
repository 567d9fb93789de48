"""Edits that make a right response wrong: a judge must notice each of them.

They are deterministic and rather leave a case alone than make an edit of doubtful effect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from itertools import pairwise

from groundjudge.case.case import Case
from groundjudge.case.shapes import text_of
from groundjudge.lab.probe import edit, facts
from groundjudge.lab.probe.edit import Edit, with_response
from groundjudge.text.sentences import Span, sentences
from groundjudge.text.words import negated_at

# The share of a sentence's words that must be backed before it is taken for a statement of fact.
LEAST_STATED = 0.5

# Words of quantity or frequency, each with one that claims more.
HEDGES: Mapping[str, str] = {
    r"\b(?<!for )(?:[Ss]ome|(?<!the )[Mm]ost)(?! (?:times|days|hours|weeks|months|years|about|is)\b)"
    r"(?= (?:of|(?:[a-z]+ )?[a-z-]+s\b))": "all",
    r"\b(?:usually|sometimes|often|mostly|normally)\b": "always",
    "大多数|大部分|(?<![大一几])部分(?!时间)|有些": "所有",
    "有时候?|通常|往往|经常": "总是",
}
_ALL = re.compile(r"\b(?:all|always)\b|所有|全部|总是", re.IGNORECASE)

# What must not be before the verb that is negated: the verb might not be the main one.
_HINDERS = re.compile(
    r"\b(?:which|that|who|whose|if|unless|when|where|while|because|although|though|whether|as|since|how|what|than"
    r"|before|after|until|not|never)\b|[,;:?!？]"
    "|如果|若|假如|要是|当|除非|因为|虽然|什么|谁|哪|怎么|是否|吗",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"(?<=\s)(?:is|are|was|were|can|will|must|may|should)(?=\s)"
    r"(?!\s+(?:not|no|never|only|also|at|about|more|less|just|still|neither|nothing|either)\b)"
    r"|(?<=[a-z]\s)(?:open|close|cost|take|begin|include|require|last|contain|serve|allow|arrive|depart|belong|live"
    r"|keep|weigh|provide|lead|offer|need)s(?=\s)"
    r"|(?<![不没无可有所的])(?:可以|需要|必须|允许|提供|包括|包含|属于|接受|位于)(?![的者商以]|是)"
)
_DENIABLE = "is|are|was|were|does|do|did|has|have|should|must"
# What a denial may be about, so that the sentence without it would mean little.
_NOT_THESE = "only|yet|just|all|every|always|necessarily|hesitate|worry|mind|know|sure"
# Denials, each with what is left of them.
_DENIALS: Mapping[str, str] = {
    rf"\b({_DENIABLE}|may|will|can) not(?! (?:{_NOT_THESE}))(?=\s)": r"\1",
    rf"\b({_DENIABLE})n['’]t(?! (?:{_NOT_THESE}))(?= )": r"\1",
    r"\bcan(?:not|['’]t)(?= )": "can",
    "不(?=可以|需要|允许|提供|包括|包含|接受|属于|开放|收取)|不(?=能|会)(?!不?[能会]不)": "",
    "不得|不可(?!以)": "可以",
}

# How a response begins that sets something right.
_DENIES = re.compile(
    r"\W*(?:(?:no|nope|not|never|nonsense|you(?: a|')re mistaken|wrong)\b"
    "|不|没有|哪|才不|错了|谁说|[你您][记弄搞]错)",
    re.IGNORECASE,
)
# What is between two names where one of them does something to the other.
_DEED = re.compile(
    r"^\s(?:[a-z]+\s){0,2}(?:teaches|taught|hired|hires|sold|sells|gave|lent|lends|beat|defeated|trains|trained|coaches"
    r"|coached|replaced|replaces|succeeded|informs|supervises|helps|helped|paid|invites|invited|asked|asks|told)"
    r"(?:\s(?!and\b|or\b)[\w-]+){0,6}(?<!\s(?:in|at|on|of))\s$"
    "|^[^，。、；和与跟同及]{0,6}(?:教|卖|借|送|雇|打败|战胜|接替|代替|顶替|替|通知|指导|推荐|邀请|培训|采访|协助)"
    "[^，。、；和与跟同及]{0,5}$"
)


def exchanged(exchange: facts.Exchange, case: Case) -> Case | None:
    """A fact of the response exchanged."""
    return with_response(case, exchange(case.response_text, edit.backing(case), edit.everything(case)))


def sentence_edited(exchange: facts.Exchange, case: Case) -> Case | None:
    """The first sentence edited that states something backed and can be."""
    response, source = case.response_text, edit.backing(case)
    for span in sentences(response):
        new = exchange(span.text, source, edit.everything(case)) if _states(span, source) else None
        if new and new != span.text:
            return with_response(case, response[: span.start] + new + response[span.end :])
    return None


def negation_added(sentence: str, _: str, __: str) -> str | None:
    """The sentence with its first verb negated; None if that may not be the main verb."""
    found = _VERB.search(sentence)
    if found is None or negated_at(sentence) or _HINDERS.search(sentence[: found.start()]):
        return None
    return sentence[: found.start()] + _negated(found[0]) + sentence[found.end() :]


def negation_removed(sentence: str, _: str, __: str) -> str | None:
    """The sentence without its only negation."""
    if len(negated_at(sentence)) != 1 or re.search(r"\bif\b|如果|若", sentence):
        return None
    new = (re.sub(pattern, left, sentence, count=1) for pattern, left in _DENIALS.items())
    return next((each for each in new if each != sentence), None)


def some_made_all(sentence: str, source: str, _: str) -> str | None:
    """A part made the whole: some, most, usually -> all, always. The source must have the very word."""
    for pattern, whole in HEDGES.items():
        found = re.search(pattern, sentence)
        if found and not _ALL.search(sentence) and found[0].lower() in source.lower():
            written = whole.capitalize() if found[0][0].isupper() else whole
            return sentence[: found.start()] + written + sentence[found.end() :]
    return None


def roles_exchanged(sentence: str, source: str, _: str) -> str | None:
    """The sentence with two names in each other's place, if one does something to the other."""
    for one, other in pairwise(facts.people(sentence, source)):
        between = sentence[one.end() : other.start()]
        if one[0] != other[0] and _DEED.search(between):
            return sentence[: one.start()] + other[0] + between + one[0] + sentence[other.end() :]
    return None


def tool_result_contradicted(case: Case) -> Case | None:
    """A number or time that only tool results have, exchanged in the response."""
    documents = case.context or ()
    kinds = ([each for each in documents if (each.kind == "tool") is is_tool] for is_tool in (True, False))
    tools, others = (edit.backing(case.replace(context=tuple(kind))) for kind in kinds)
    for exchange in (facts.number, facts.date, facts.unit):
        new = exchange(case.response_text, tools, edit.everything(case))
        if new and new != exchange(case.response_text, others, edit.everything(case)):
            return with_response(case, new)
    return None


def another_answer(case: Case) -> Case | None:
    """The answer to another question in place of the response."""
    return with_response(case, edit.unrelated("elsewhere", case))


def premise_followed(case: Case) -> Case | None:
    """Agreement in place of a response that sets a false premise right."""
    is_asked = re.search(r"[?？]", text_of(case.conversation, "user"))
    denies = _DENIES.match(case.response_text)
    return with_response(case, edit.text_in_language("agreement", case)) if denies and is_asked else None


def profile_changed(case: Case) -> Case | None:
    """A fact of the profile exchanged, so that the response contradicts it."""
    profile, elsewhere = case.profile or "", edit.backing(case.replace(profile=None))
    for exchange in (facts.number, facts.date, facts.unit, facts.name):
        new = exchange(profile, case.response_text, edit.everything(case))
        if new and not exchange(profile, elsewhere, edit.everything(case)):
            return case.replace(profile=new)
    return None


def needed_sentence_removed(case: Case) -> Case | None:
    """The sentence of the passage that has most of the query and of the reference left out."""
    response, spans = case.response_text, sentences(case.response_text)
    needed = [span for span in spans if edit.stated_share(span.text, case.reference or "") >= LEAST_STATED]
    if len(spans) < 2 or not needed:  # noqa: PLR2004  a passage must be left
        return None
    most = max(needed, key=lambda span: (edit.stated_share(case.query_text, span.text), len(span.text)))
    kept = response[: most.start].rstrip(), response[most.end :].lstrip()
    return with_response(case, edit.text_in_language("between_sentences", case).join(kept).strip())


# The edits by name. Courtesy, order and form are not theirs: see `neutral_edits`.
EDITS: Mapping[str, Edit] = {
    **{name: Edit(partial(exchanged, getattr(facts, name))) for name in ("number", "unit", "date", "name")},
    "negation_added": Edit(partial(sentence_edited, negation_added)),
    "negation_removed": Edit(partial(sentence_edited, negation_removed)),
    "some_made_all": Edit(partial(sentence_edited, some_made_all)),
    "roles_exchanged": Edit(partial(sentence_edited, roles_exchanged)),
    "sentence_invented": Edit(partial(edit.appended, "invented"), unless="profile reference"),
    "tool_result_contradicted": Edit(tool_result_contradicted, needs="context"),
    "another_answer": Edit(another_answer, unless="profile"),
    "invented_in_role": Edit(partial(edit.appended, "invented_in_role"), needs="profile"),
    "premise_followed": Edit(premise_followed, needs="profile conversation"),
    "profile_changed": Edit(profile_changed, needs="profile"),
    "needed_sentence_removed": Edit(needed_sentence_removed, needs="query reference", unless="context"),
    "irrelevant_sentence_added": Edit(
        partial(edit.appended, "elsewhere"), needs="reference", unless="context"
    ),
}


def _states(span: Span, source: str) -> bool:
    """Whether a sentence states something that the source has."""
    return not span.text.endswith(("?", "？")) and edit.stated_share(span.text, source) >= LEAST_STATED


def _negated(verb: str) -> str:
    if not verb.isascii():
        return {"必须": "不必", "位于": "不在"}.get(verb, f"不{verb}")
    if verb in {"is", "was"} or not verb.endswith("s"):
        return "cannot" if verb == "can" else f"{verb} not"
    return f"does not {verb[:-1]}"
