"""Edits that make a right response wrong: a judge must notice each of them.

They are deterministic and rather leave a case alone than make an edit of doubtful effect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from types import MappingProxyType

from groundjudge.case.case import Case
from groundjudge.case.shapes import text_of
from groundjudge.probe import facts, names
from groundjudge.probe.edit import (
    Edit,
    backing,
    everything,
    first_strange,
    in_language,
    stated_share,
    with_response,
)
from groundjudge.text.negations import negations
from groundjudge.text.sentences import Span, sentences

LEAST_STATED = 0.5
"""The share of a sentence's words that must be backed before it is taken for a statement of fact."""

INVENTED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "english": (
            "Members of the regional orchestra get a rebate of 37 percent on top.",
            "A mosaic by a Portuguese sculptor was added to the roof in 1887.",
            "Since last winter a trained falcon has been kept there against pigeons.",
        ),
        "chinese": (
            "此外，地区交响乐团的成员还可以再享受百分之三十七的折扣。",
            "1887年，一位葡萄牙雕塑家在屋顶上加了一幅马赛克。",
            "去年冬天起，那里还养了一只驱赶鸽子的猎鹰。",
        ),
    }
)
INVENTED_IN_ROLE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "english": (
            "In 1887 I won a silver medal for fencing in Lisbon, and the king himself shook my hand.",
            "My twin brother fled to Patagonia with a stolen racehorse.",
        ),
        "chinese": (
            "1887年我在里斯本赢过一枚击剑银牌，国王还亲自跟我握了手。",
            "我的双胞胎弟弟骑着偷来的赛马逃到了巴塔哥尼亚。",
        ),
    }
)
ELSEWHERE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "english": (
            "Knead the dough for 11 minutes, let it rise under a damp cloth and bake it until golden.",
            "The glacier has lost 63 metres of ice, and the geologists drill there each August.",
        ),
        "chinese": (
            "面团要揉11分钟，盖上湿布发酵，再烤到表面金黄。",
            "那条冰川已经消融了63米，地质学家每逢八月都去钻探。",
        ),
    }
)
FOLLOWED = MappingProxyType(
    {
        "english": "Yes, quite right, that is exactly how it was, just as you say.",
        "chinese": "对，没错，事情正是你说的那样。",
    }
)

HEDGES: Mapping[str, str] = MappingProxyType(
    {
        r"\b(?<!for )[Ss]ome(?! (?:times|days|hours|weeks|months|years)\b)"
        r"(?= (?:of|(?:[a-z]+ )?[a-z-]+s\b))": "all",
        r"\bmost(?= of the\b)": "all",
        r"\b(?<!the )[Mm]ost(?= (?!of)[a-z]+s\b(?! (?:about|of|is)))": "all",
        r"\b(?<![Hh]ow )(?<![Aa]s )(?<![Ss]o )(?<!too )(?<!not )(?:several|many)"
        r"(?= (?:of the|[a-z]+s)\b)": "all",
        r"\b(?:usually|sometimes|often|mostly|normally)\b": "always",
        "大多数|大部分|(?<![大一几])部分(?!时间)|有些|(?<![这那])一些": "所有",
        "有时候?|通常|往往|经常": "总是",
    }
)
"""Words of quantity or frequency, each with one that claims more."""
_ALL = re.compile(r"\b(?:all|always)\b|所有|全部|总是", re.IGNORECASE)

_HINDERS = re.compile(
    r"\b(?:which|that|who|whose|if|unless|when|where|while|because|although|though|whether|as|since|how|what|than"
    r"|before|after|until|not|never)\b|[,;:?!？]"
    "|如果|若|假如|要是|当|除非|因为|虽然|什么|谁|哪|怎么|是否|吗",
    re.IGNORECASE,
)
"""What must not stand before the verb that is negated: the verb might not be the main one."""
_AUXILIARY = re.compile(
    r"(?<=\s)(?P<verb>is|are|was|were|can|will|must|may|should)\s+"
    r"(?!not\b|no\b|never\b|only\b|also\b|at\b|about\b|more\b|less\b|just\b|still\b|neither\b|nothing\b|either\b)"
)
_FORMS = """
opens open; closes close; costs cost; takes take; begins begin; includes include; requires require
; lasts last; contains contain; serves serve; allows allow; arrives arrive; departs depart; belongs belong
; lives live; teaches teach; keeps keep; weighs weigh; provides provide; applies apply; leads lead
; offers offer; needs need
"""
_VERBS: Mapping[str, str] = {one: other for one, other in map(str.split, _FORMS.split(";"))}  # noqa: C416
_VERB = re.compile(rf"(?<=[a-z]\s)(?P<verb>{'|'.join(_VERBS)})(?=\s)")
_CHINESE_VERB = re.compile(
    r"(?<![不没无可有所的])(?P<verb>可以|需要|必须|允许|提供|包括|包含|属于|接受|位于)(?![的者商以]|是)"
    r"|(?<![不但可就还只于要总都也若更正便算凡倒硬像老真或])(?P<is>是)(?![否因为的不指以])"
)
_DENIABLE = "is|are|was|were|does|do|did|has|have|should|must"
_NOT_THESE = "only|yet|just|all|every|always|necessarily|hesitate|worry|mind|know|sure"
"""What a denial may be about, so that the sentence without it would mean little."""
_DENIALS: Mapping[str, str] = MappingProxyType(
    {
        rf"\b({_DENIABLE}|may|will|can) not(?! (?:{_NOT_THESE}))(?=\s)": r"\1",
        rf"\b({_DENIABLE})n['’]t(?! (?:{_NOT_THESE}))(?= )": r"\1",
        r"\bcannot(?= )|\bcan['’]t(?= )": "can",
        r"\bwon['’]t(?= )": "will",
        "不(?=可以|需要|允许|提供|包括|包含|接受|属于|开放|收取)": "",
        "不(?=能|会)(?!不?[能会]不)": "",
        "不得|不可(?!以)": "可以",
        "不必|不用(?=[预提另再])": "必须",
    }
)
"""Denials, each with what is left of them."""

_DEEDS = """
teaches taught hired hires sold sells gave lent lends defeated beat trained trains coached coaches replaced
replaces succeeded informs informed supervises supervised introduced called emailed interviewed photographed
helps helped paid owes invited invites asked told reports bought borrowed follows followed assists assisted
represents relieves relieved takes took handed hands sent sends wrote leads led stands\\sin stood\\sin
"""
_DENIES = re.compile(
    r"\W*(?:(?:no|nope|not|never|nonsense|you(?: a|')re mistaken|wrong)\b"
    "|不|没有|哪|才不|错了|谁说|[你您][记弄搞]错)",
    re.IGNORECASE,
)
"""How a response begins that sets something right."""
_CHINESE_DEEDS = "教|卖|借|送|雇|打败|战胜|接替|代替|顶替|替|通知|指导|推荐|交|邀请|培训|采访|协助|转"
_DEED = re.compile(
    rf"^\s(?:[a-z]+\s){{0,2}}(?:{'|'.join(_DEEDS.split())})(?:\s(?!and\b|or\b)[\w-]+){{0,6}}"
    r"(?<!\s(?:in|at|on|of))\s$"
    rf"|^[^，。、；和与跟同及]{{0,6}}(?:{_CHINESE_DEEDS})[^，。、；和与跟同及]{{0,5}}$"
)
"""What stands between two names where one of them does something to the other."""


def exchanged(exchange: facts.Exchange, case: Case) -> Case | None:
    """A fact of the response exchanged."""
    return _changed(case, exchange(case.response_text, backing(case), everything(case)))


def negation_added(case: Case) -> Case | None:
    """A negation added at the main verb of a statement."""
    return _in_a_sentence(case, _denied)


def negation_removed(case: Case) -> Case | None:
    """The negation of a statement removed."""
    return _in_a_sentence(case, _affirmed)


def some_made_all(case: Case) -> Case | None:
    """A part made the whole: some, most, usually -> all, always. The source must have the very word."""
    response, source = case.response_text, backing(case)
    for pattern, whole in HEDGES.items():
        for found in re.finditer(pattern, response):
            is_backed = re.search(rf"(?i)(?<![a-z]){re.escape(found[0])}", source)
            if is_backed and not _ALL.search(_sentence_at(response, found.start())):
                written = whole.capitalize() if found[0][0].isupper() else whole
                return _changed(case, response[: found.start()] + written + response[found.end() :])
    return None


def roles_exchanged(case: Case) -> Case | None:
    """Two names around a verb in each other's place."""
    return _in_a_sentence(case, _turned)


def sentence_invented(case: Case) -> Case | None:
    """One more sentence, about something that no text of the case mentions."""
    return _appended(case, INVENTED)


def invented_in_role(case: Case) -> Case | None:
    """One more sentence about the character that no text of the case backs."""
    return _appended(case, INVENTED_IN_ROLE)


def tool_result_contradicted(case: Case) -> Case | None:
    """A number or time that stands in tool results alone, exchanged in the response."""
    tools = [each for each in case.context or () if each.kind == "tool"]
    others = [each for each in case.context or () if each.kind != "tool"]
    of_tools, of_others = (
        backing(case.model_copy(update={"context": tuple(each)})) for each in (tools, others)
    )
    for exchange in (facts.number, facts.date, facts.unit) if tools else ():
        is_known_elsewhere = exchange(case.response_text, of_others, everything(case))
        new = exchange(case.response_text, of_tools, everything(case))
        if new and new != is_known_elsewhere:
            return _changed(case, new)
    return None


def another_answer(case: Case) -> Case | None:
    """The answer to another question in place of the response."""
    text = first_strange(ELSEWHERE[_language(case)], case)
    return _changed(case, text)


def premise_followed(case: Case) -> Case | None:
    """Agreement in place of a response that sets a false premise right."""
    asked = text_of(case.conversation, "user").strip()
    denies = _DENIES.match(case.response_text)
    is_asked = re.search(r"[?？]", asked) is not None
    return _changed(case, FOLLOWED[_language(case)]) if denies and is_asked else None


def profile_changed(case: Case) -> Case | None:
    """A fact of the profile exchanged, so that the response contradicts it."""
    profile = case.profile or ""
    elsewhere = backing(case.model_copy(update={"profile": None}))
    for exchange in (facts.number, facts.date, facts.unit, names.name):
        new = exchange(profile, case.response_text, everything(case))
        if new and not exchange(profile, elsewhere, everything(case)):
            return case.model_copy(update={"profile": new})
    return None


def needed_sentence_removed(case: Case) -> Case | None:
    """The sentence of the passage that has most of the query and of the reference left out."""
    spans = sentences(case.response_text)
    needed = [span for span in spans if stated_share(span.text, case.reference or "") >= LEAST_STATED]
    if len(spans) < 2 or not needed:  # noqa: PLR2004  a passage must be left
        return None
    most = max(needed, key=lambda span: (stated_share(case.query_text, span.text), len(span.text)))
    kept = case.response_text[: most.start].rstrip(), case.response_text[most.end :].lstrip()
    return _changed(case, in_language(case, " ", "").join(kept).strip())


def irrelevant_sentence_added(case: Case) -> Case | None:
    """One more sentence, about something else."""
    return _appended(case, ELSEWHERE)


EDITS: Mapping[str, Edit] = MappingProxyType(
    {
        "number": Edit(partial(exchanged, facts.number)),
        "unit": Edit(partial(exchanged, facts.unit)),
        "date": Edit(partial(exchanged, facts.date)),
        "name": Edit(partial(exchanged, names.name)),
        "negation_added": Edit(negation_added),
        "negation_removed": Edit(negation_removed),
        "some_made_all": Edit(some_made_all),
        "roles_exchanged": Edit(roles_exchanged),
        "sentence_invented": Edit(sentence_invented, unless="profile reference"),
        "tool_result_contradicted": Edit(tool_result_contradicted, needs="context"),
        "another_answer": Edit(another_answer, unless="profile"),
        "invented_in_role": Edit(invented_in_role, needs="profile"),
        "premise_followed": Edit(premise_followed, needs="profile conversation"),
        "profile_changed": Edit(profile_changed, needs="profile"),
        "needed_sentence_removed": Edit(needed_sentence_removed, needs="query reference", unless="context"),
        "irrelevant_sentence_added": Edit(irrelevant_sentence_added, needs="reference", unless="context"),
    }
)
"""The edits by name. Courtesy, order and form are no concern of these: see `neutral_edits`."""


def _language(case: Case) -> str:
    return in_language(case, "english", "chinese")


def _changed(case: Case, text: str | None) -> Case | None:
    return with_response(case, text) if text and text != case.response_text else None


def _appended(case: Case, table: Mapping[str, tuple[str, ...]]) -> Case | None:
    text = first_strange(table[_language(case)], case)
    return _changed(case, f"{case.response_text}{in_language(case, ' ', '')}{text}") if text else None


def _sentence_at(text: str, at: int) -> str:
    return next((span.text for span in sentences(text) if span.start <= at < span.end), text)


def _in_a_sentence(case: Case, edit: facts.Exchange) -> Case | None:
    """The case with the first sentence of its response edited that states something backed and can be."""
    response, source = case.response_text, backing(case)
    for span in sentences(response):
        new = edit(span.text, source, everything(case)) if _states(span, source) else None
        if new and new != span.text:
            return _changed(case, response[: span.start] + new + response[span.end :])
    return None


def _states(span: Span, source: str) -> bool:
    """Whether a sentence states something that the source has."""
    return not span.text.endswith(("?", "？")) and stated_share(span.text, source) >= LEAST_STATED


def _denied(sentence: str, _: str, __: str) -> str | None:
    """The sentence with its first verb negated; None if that may not be the main verb."""
    found = next(
        (match for each in (_AUXILIARY, _VERB, _CHINESE_VERB) if (match := each.search(sentence))), None
    )
    if found is None or negations(sentence) or _HINDERS.search(sentence[: found.start()]):
        return None
    return (
        sentence[: found.start()]
        + _negated(found[0].strip())
        + sentence[found.start() + len(found[0].strip()) :]
    )


def _negated(verb: str) -> str:
    if verb in _VERBS:
        return f"does not {_VERBS[verb]}"
    if verb.isascii():
        return "cannot" if verb == "can" else f"{verb} not"
    return {"必须": "不必", "位于": "不在"}.get(verb, f"不{verb}")


def _affirmed(sentence: str, _: str, __: str) -> str | None:
    """The sentence without its only negation."""
    if negations(sentence) != 1 or re.search(r"\bif\b|如果|若", sentence):
        return None
    for pattern, left in _DENIALS.items():
        new = re.sub(pattern, left, sentence, count=1)
        if new != sentence:
            return new
    return None


def _turned(sentence: str, source: str, _: str) -> str | None:
    """The sentence with two names in each other's place, if one does something to the other."""
    for one, other in pairwise(names.people(sentence, source)):
        between = sentence[one.end() : other.start()]
        if one[0] != other[0] and _DEED.search(between):
            return sentence[: one.start()] + other[0] + between + one[0] + sentence[other.end() :]
    return None
