"""Edits that make a right response wrong: a judge must notice each of them.

They are deterministic, and leave a case alone rather than make an edit of doubtful effect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from itertools import pairwise

from groundjudge.case.case import Case, Document
from groundjudge.case.shapes import text_of
from groundjudge.lab.probe import edit, facts
from groundjudge.lab.probe.edit import Edit, with_response
from groundjudge.text.negations import negated_at
from groundjudge.text.patterns import compile_when_used
from groundjudge.text.sentences import Span, sentences

# The share of a sentence's words that must be backed for it to count as a statement of fact.
MIN_STATED = 0.5

# Words of quantity or frequency, each with a stronger one.
HEDGES: Mapping[str, str] = {
    r"\b(?<!for )(?:[Ss]ome|(?<!the )[Mm]ost)(?! (?:times|days|hours|weeks|months|years|about|is)\b)"
    r"(?= (?:of|(?:[a-z]+ )?[a-z-]+s\b))": "all",
    r"\b(?:usually|sometimes|often|mostly|normally)\b": "always",
    "大多数|大部分|(?<![大一几])部分(?!时间)|有些": "所有",
    "有时候?|通常|往往|经常": "总是",
}
_ALL = compile_when_used(r"\b(?:all|always)\b|所有|全部|总是", re.IGNORECASE)

# What must not precede the verb to negate: the verb might not be the main one.
_HINDERS = compile_when_used(
    r"\b(?:which|that|who|whose|if|unless|when|where|while|because|although|though|whether|as|since|how|what|than"
    r"|before|after|until|not|never)\b|[,;:?!？]"
    "|如果|若|假如|要是|当|除非|因为|虽然|什么|谁|哪|怎么|是否|吗",
    re.IGNORECASE,
)
_VERB = compile_when_used(
    r"(?<=\s)(?:is|are|was|were|can|will|must|may|should)(?=\s)"
    r"(?!\s+(?:not|no|never|only|also|at|about|more|less|just|still|neither|nothing|either)\b)"
    r"|(?<=[a-z]\s)(?:open|close|cost|take|begin|include|require|last|contain|serve|allow|arrive|depart|belong|live"
    r"|keep|weigh|provide|lead|offer|need)s(?=\s)"
    r"|(?<![不没无可有所的])(?:可以|需要|必须|允许|提供|包括|包含|属于|接受|位于)(?![的者商以]|是)"
)
_DENIABLE = "is|are|was|were|does|do|did|has|have|should|must"
# Words after a denial for which the sentence without it would mean little.
_NOT_THESE = "only|yet|just|all|every|always|necessarily|hesitate|worry|mind|know|sure"
# Denials, each with the text that replaces it.
_DENIALS: Mapping[str, str] = {
    rf"\b({_DENIABLE}|may|will|can) not(?! (?:{_NOT_THESE}))(?=\s)": r"\1",
    rf"\b({_DENIABLE})n['’]t(?! (?:{_NOT_THESE}))(?= )": r"\1",
    r"\bcan(?:not|['’]t)(?= )": "can",
    "不(?=可以|需要|允许|提供|包括|包含|接受|属于|开放|收取)|不(?=能|会)(?!不?[能会]不)": "",
    "不得|不可(?!以)": "可以",
}

# How a response that corrects something begins.
_DENIES = compile_when_used(
    r"\W*(?:(?:no|nope|not|never|nonsense|you(?: a|')re mistaken|wrong)\b"
    "|不|没有|哪|才不|错了|谁说|[你您][记弄搞]错)",
    re.IGNORECASE,
)
# What is between two names when one of them does something to the other.
_ACTION_BETWEEN = compile_when_used(
    r"^\s(?:[a-z]+\s){0,2}(?:teaches|taught|hired|hires|sold|sells|gave|lent|lends|beat|defeated|trains|trained|coaches"
    r"|coached|replaced|replaces|succeeded|informs|supervises|helps|helped|paid|invites|invited|asked|asks|told)"
    r"(?:\s(?!and\b|or\b)[\w-]+){0,6}(?<!\s(?:in|at|on|of))\s$"
    "|^[^，。、；和与跟同及]{0,6}(?:教|卖|借|送|雇|打败|战胜|接替|代替|顶替|替|通知|指导|推荐|邀请|培训|采访|协助)"
    "[^，。、；和与跟同及]{0,5}$"
)


def fact_exchanged(exchange: facts.Exchange, case: Case) -> Case | None:
    """Exchange a fact of the response."""
    new_response = exchange(case.response_text, edit.backing_text(case), edit.all_text(case))
    return with_response(case, new_response)


def sentence_edited(exchange: facts.Exchange, case: Case) -> Case | None:
    """Edit the first sentence that states something backed and can be edited."""
    response = case.response_text
    source = edit.backing_text(case)
    case_text = edit.all_text(case)
    for span in sentences(response):
        is_question = span.text.endswith(("?", "？"))
        if is_question or edit.stated_share(span.text, source) < MIN_STATED:
            continue
        new_sentence = exchange(span.text, source, case_text)
        if new_sentence and new_sentence != span.text:
            return with_response(case, response[: span.start] + new_sentence + response[span.end :])
    return None


def negation_added(sentence: str, _: str, __: str) -> str | None:
    """Negate the first verb of a sentence; None if it may not be the main verb."""
    verb = _VERB.search(sentence)
    if verb is None or negated_at(sentence):
        return None
    before = sentence[: verb.start()]
    if _HINDERS.search(before):
        return None
    return before + _negate_verb(verb[0]) + sentence[verb.end() :]


def negation_removed(sentence: str, _: str, __: str) -> str | None:
    """Remove the only negation of a sentence."""
    if len(negated_at(sentence)) != 1:
        return None  # with two, one may undo the other
    if re.search(r"\bif\b|如果|若", sentence):
        return None  # under a condition, both sentences may be true
    for pattern, replacement in _DENIALS.items():
        new_sentence = re.sub(pattern, replacement, sentence, count=1)
        if new_sentence != sentence:
            return new_sentence
    return None


def some_made_all(sentence: str, source: str, _: str) -> str | None:
    """Turn a part into the whole: some, most, usually -> all, always. The source must have the same word."""
    if _ALL.search(sentence):
        return None
    for pattern, whole in HEDGES.items():
        hedge = re.search(pattern, sentence)
        if hedge is None or hedge[0].lower() not in source.lower():
            continue
        new_word = whole.capitalize() if hedge[0][0].isupper() else whole
        return sentence[: hedge.start()] + new_word + sentence[hedge.end() :]
    return None


def roles_exchanged(sentence: str, source: str, _: str) -> str | None:
    """Swap two names in a sentence if one does something to the other."""
    for first, second in pairwise(facts.backed_names(sentence, source)):
        between = sentence[first.end() : second.start()]
        if first[0] != second[0] and _ACTION_BETWEEN.search(between):
            return sentence[: first.start()] + second[0] + between + first[0] + sentence[second.end() :]
    return None


def tool_result_contradicted(case: Case) -> Case | None:
    """Exchange a number or time of the response that only tool results have."""
    tool_results: list[Document] = []
    other_documents: list[Document] = []
    for document in case.context or ():
        if document.kind == "tool":
            tool_results.append(document)
        else:
            other_documents.append(document)
    tool_backing = edit.backing_text(case.replace(context=tuple(tool_results)))
    other_backing = edit.backing_text(case.replace(context=tuple(other_documents)))
    case_text = edit.all_text(case)
    for exchange in (facts.number, facts.date, facts.unit):
        new_response = exchange(case.response_text, tool_backing, case_text)
        if new_response and new_response != exchange(case.response_text, other_backing, case_text):
            return with_response(case, new_response)
    return None


def another_answer(case: Case) -> Case | None:
    """Replace the response by the answer to another question."""
    return with_response(case, edit.unrelated_text("elsewhere", case))


def premise_followed(case: Case) -> Case | None:
    """Replace a response that corrects a false premise by agreement."""
    has_question = re.search(r"[?？]", text_of(case.conversation, "user"))
    if not has_question or not _DENIES.match(case.response_text):
        return None
    return with_response(case, edit.text_in_language("agreement", case))


def profile_changed(case: Case) -> Case | None:
    """Exchange a fact of the profile, so that the response contradicts it."""
    profile = case.profile or ""
    other_backing = edit.backing_text(case.replace(profile=None))
    case_text = edit.all_text(case)
    for exchange in (facts.number, facts.date, facts.unit, facts.name):
        new_profile = exchange(profile, case.response_text, case_text)
        # A fact that the conversation also backs would still be right.
        if new_profile and not exchange(profile, other_backing, case_text):
            return case.replace(profile=new_profile)
    return None


def needed_sentence_removed(case: Case) -> Case | None:
    """Remove the sentence of the passage that has most in common with the query and the reference."""
    response = case.response_text
    spans = sentences(response)
    if len(spans) < 2:  # noqa: PLR2004  a passage must be left
        return None
    reference = case.reference or ""
    candidates = [span for span in spans if edit.stated_share(span.text, reference) >= MIN_STATED]
    if not candidates:
        return None

    def relevance(span: Span) -> tuple[float, int]:
        return edit.stated_share(case.query_text, span.text), len(span.text)

    removed = max(candidates, key=relevance)
    before = response[: removed.start].rstrip()
    after = response[removed.end :].lstrip()
    between = edit.text_in_language("between_sentences", case)
    return with_response(case, f"{before}{between}{after}".strip())


# The edits by name. For courtesy, order and form see `neutral_edits`.
EDITS: Mapping[str, Edit] = {
    "number": Edit(partial(fact_exchanged, facts.number)),
    "unit": Edit(partial(fact_exchanged, facts.unit)),
    "date": Edit(partial(fact_exchanged, facts.date)),
    "name": Edit(partial(fact_exchanged, facts.name)),
    "negation_added": Edit(partial(sentence_edited, negation_added)),
    "negation_removed": Edit(partial(sentence_edited, negation_removed)),
    "some_made_all": Edit(partial(sentence_edited, some_made_all)),
    "roles_exchanged": Edit(partial(sentence_edited, roles_exchanged)),
    "sentence_invented": Edit(partial(edit.with_unrelated_sentence, "invented"), unless="profile reference"),
    "tool_result_contradicted": Edit(tool_result_contradicted, needs="context"),
    "another_answer": Edit(another_answer, unless="profile"),
    "invented_in_role": Edit(partial(edit.with_unrelated_sentence, "invented_in_role"), needs="profile"),
    "premise_followed": Edit(premise_followed, needs="profile conversation"),
    "profile_changed": Edit(profile_changed, needs="profile"),
    "needed_sentence_removed": Edit(needed_sentence_removed, needs="query reference", unless="context"),
    "irrelevant_sentence_added": Edit(
        partial(edit.with_unrelated_sentence, "elsewhere"), needs="reference", unless="context"
    ),
}


def _negate_verb(verb: str) -> str:
    if verb == "can":
        return "cannot"
    if verb == "必须":
        return "不必"
    if verb == "位于":
        return "不在"
    if not verb.isascii():
        return f"不{verb}"
    if verb in {"is", "was"} or not verb.endswith("s"):
        return f"{verb} not"
    return f"does not {verb[:-1]}"
