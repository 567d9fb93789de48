"""The labels that a prompt's text lets the model choose from, and which of them is good as far as it says."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

MOST_WORDS = 3
"""The words of a label; a longer text says what to write."""

GOOD = re.compile(
    r"\b(?:support|ground|faithful|correct|accura|consist|relevan|pass|factual|good|entail|verif|backed)",
    re.IGNORECASE,
)
BAD = re.compile(
    r"\b(?:hallucinat|unsupport|unground|unfaithful|incorrect|inaccura|inconsist|irrelevan|fail|bad|contradict"
    r"|unverif|fabricat|invent|wrong|refut)",
    re.IGNORECASE,
)
"""How words begin that praise an answer, and words that blame it."""

NEGATION = re.compile(r"\b(?:not|no|non|never|without)\b|n't\b", re.IGNORECASE)
PART = re.compile(r"\b(?:partial|partly|mixed)", re.IGNORECASE)
NOT_APPLICABLE = re.compile(r"n/?a|not applicable", re.IGNORECASE)
WORDS_BEFORE = re.compile(r"(?:[\w']+\W+){0,3}\Z")
"""Where a word that negates another one stands: "does not contain a hallucination"."""

ANSWERS = (("yes", "no"), ("true", "false"), ("1", "0"))
"""Labels that say nothing by themselves: what is good depends on the question."""

BARE_PAIRS = (
    *ANSWERS[:2],
    ("pass", "fail"),
    ("passed", "failed"),
    ("supported", "not supported"),
    ("supported", "unsupported"),
    ("grounded", "not grounded"),
    ("grounded", "ungrounded"),
    ("consistent", "inconsistent"),
    ("faithful", "unfaithful"),
    ("correct", "incorrect"),
    ("factual", "hallucinated"),
    ("relevant", "irrelevant"),
    ("good", "bad"),
)
"""Labels that are told without quotation marks and capital letters, because they stand side by side."""

JOINT = re.compile(r"\b(?:or|otherwise|else)\b|\||(?<!\bN)/", re.IGNORECASE)
SEPARATOR = re.compile(rf"{JOINT.pattern}|,", re.IGNORECASE)
CONDITION = re.compile(r"\b(?:if|when|depending)\b", re.IGNORECASE)
LEAD = re.compile(r"\W*(?:one of|either|exactly|only|just)\b\W*", re.IGNORECASE)
NO_LABEL = re.compile(
    r"(?:an?|the|your|any)\s|.*(?:number|integer|float|\bint\b|\bbool|str(?:ing)?\b|reason|expla|text)|"
    r".*(?:score|verdict|rating|grade|label)|"
    r"(?![01]\b)-?\d",
    re.IGNORECASE,
)
"""What stands in a verdict's place and is no label: "your score", "a number", "<string>", 4."""

TOKEN = re.compile(
    r"""["“`](?P<quoted>[^"“”`\n{}:]{1,30})["”`]|(?<!\w)'(?P<single>[^'\n{}:]{1,30})'(?!\w)"""
    r"|\*\*(?P<bold>[^*\n{}:]{1,30})\*\*|(?<![\w.])(?P<digit>[01])(?!\w|\.\d)|(?P<none>\bN/A\b)"
    r"|\b(?P<capitals>[A-Z]{2,}(?:[ _-](?!(?:OR|AND|IF|ONLY)\b)[A-Z]{2,}){0,2})\b"
)
NO_CAPITALS = ("OR", "AND", "IF", "NOT", "ONLY", "MUST", "JSON", "XML")
NEIGHBOURHOOD = 60
"""The characters before and behind a label in which the word must stand that joins it to another one."""

BEFORE_LABEL = re.compile(r"(?:\b(?:or|otherwise|else)\b,?(?:\s+\w+){0,2}|[/|])\s*\Z", re.IGNORECASE)
BEHIND_LABEL = re.compile(r"[\s,(]*(?:\b(?:if|when|or|otherwise|else)\b|[/|])", re.IGNORECASE)


@dataclass(frozen=True)
class LabelScale:
    """Labels with their scores.

    Attributes:
        scores: the score of each label, 1 for the best and 0 for the worst; None: not applicable.
        is_certain: whether the prompt's words say which label is good.
    """

    scores: dict[str, float | None]
    is_certain: bool


def labels_in_place(content: str) -> tuple[str, ...]:
    """Return the alternatives in a verdict's place, as in "PASS or FAIL", "<true|false>", "0 or 1"."""
    if JOINT.search(content) is None:
        return ()
    labels: dict[str, str] = {}
    for piece in SEPARATOR.split(content):
        condition = CONDITION.search(piece)
        label = piece if condition is None else piece[: condition.start()]
        label = LEAD.sub("", label).strip(" \t\n\"'`*<>[](){}.:;\\")
        is_short = 1 <= len(label.split()) <= MOST_WORDS
        if is_short and NO_LABEL.match(label) is None:
            labels.setdefault(_fold(label), label)
    return tuple(labels.values()) if _is_choice(labels) else ()


def labels_in_text(text: str, placeholder: str) -> tuple[str, ...]:
    """Return the labels of the last paragraph that asks for any.

    They are quoted or written in capital letters, and joined: "yes" if it is so, otherwise "no"; SUPPORTED or
    NOT_SUPPORTED. Without either, two opposites must stand side by side: yes or no.

    Args:
        text: the prompt's text.
        placeholder: what stands in the text for each placeholder.
    """
    # "ANSWER: {{answer}}" shows a value of the case: the word is a heading.
    headings = re.findall(rf"\b([A-Z]{{2,}})\b[^\w{{]{{0,6}}{re.escape(placeholder)}", text)
    for paragraph in reversed(re.split(r"\n\s*\n", text)):
        labels = _joined_labels(paragraph, [*headings, *NO_CAPITALS])
        if labels:
            return labels
    for pair in BARE_PAIRS:
        for first, second in (pair, pair[::-1]):
            match = re.search(rf"\b({first})\b[^\w\n]*(?:\bor\b[^\w\n]*)?\b({second})\b", text, re.IGNORECASE)
            if match:
                return match[1], match[2]
    return ()


def _joined_labels(paragraph: str, no_labels: Sequence[str]) -> tuple[str, ...]:
    """Return what a paragraph quotes or has in capital letters, if "or", "if" or "otherwise" joins it."""
    labels: dict[str, str] = {}
    is_joined = False
    for match in TOKEN.finditer(paragraph):
        label = match[match.lastgroup or 0].strip(" .*")
        before = paragraph[max(0, match.start() - NEIGHBOURHOOD) : match.start()]
        behind = paragraph[match.end() : match.end() + NEIGHBOURHOOD]
        is_next_to_joint = bool(BEFORE_LABEL.search(before) or BEHIND_LABEL.match(behind))
        is_in_list = before.rstrip().endswith(",") or behind.startswith(",")
        is_short = len(label.split()) <= MOST_WORDS
        if not label or label in no_labels or not is_short or NO_LABEL.match(label):
            continue
        if is_next_to_joint or is_in_list:
            labels.setdefault(_fold(label), label)
            is_joined = is_joined or is_next_to_joint
    return tuple(labels.values()) if is_joined and _is_choice(labels) else ()


def _is_choice(folded_labels: Collection[str]) -> bool:
    """Whether there are two labels or more besides "not applicable"."""
    scored_labels = [label for label in folded_labels if NOT_APPLICABLE.fullmatch(label) is None]
    return len(scored_labels) > 1


def score_labels(labels: Sequence[str], name: str, text: str) -> LabelScale:
    """Give each label a score.

    Args:
        labels: two labels or more, in the order of the text.
        name: what the prompt calls the verdict, such as "is_hallucination"; "" for nothing.
        text: the prompt's text.
    """
    scores: dict[str, float | None] = {}
    for label in labels:
        if NOT_APPLICABLE.fullmatch(_fold(label)):
            scores[label] = None
    judged_labels = [label for label in labels if label not in scores]
    folded_labels = [_fold(label) for label in judged_labels]
    for affirmative, negative in ANSWERS:
        if sorted(folded_labels) == sorted((affirmative, negative)):
            sign, is_certain = _sign_of_affirmative(affirmative, negative, name, text)
            for label in judged_labels:
                is_good = (_fold(label) == affirmative) == (sign >= 0)
                scores[label] = int(is_good)
            return LabelScale(scores, is_certain)
    signs: list[int] = []
    for label in folded_labels:
        signs.append(0 if PART.search(label) else sign_of(label))
    has_both_ends = 1 in signs and -1 in signs and len(set(signs)) == len(signs)
    if has_both_ends:
        for label, sign in zip(judged_labels, signs, strict=True):
            scores[label] = (0, 0.5, 1)[sign + 1]
        unclear = [label for label in folded_labels if sign_of(label) == 0]
        return LabelScale(scores, is_certain=not unclear)
    # In the order of the text, which mostly begins with the good one.
    if signs[0] < 0 or signs[-1] > 0:
        judged_labels.reverse()
    last = max(len(judged_labels) - 1, 1)
    for index, label in enumerate(judged_labels):
        score = round(1 - index / last, 2)
        scores[label] = int(score) if score in {0, 1} else score
    return LabelScale(scores, is_certain=False)


def sign_of(text: str) -> int:
    """Return 1 if a text's words praise an answer, -1 if they blame it, 0 if they do neither, or both."""
    text = _fold(text)
    signs: set[int] = set()
    for pattern, sign in ((GOOD, 1), (BAD, -1)):
        for match in pattern.finditer(text):
            before = WORDS_BEFORE.search(text[: match.start()])
            is_negated = before is not None and NEGATION.search(before[0]) is not None
            signs.add(-sign if is_negated else sign)
    return signs.pop() if len(signs) == 1 else 0


def _sign_of_affirmative(affirmative: str, negative: str, name: str, text: str) -> tuple[int, bool]:
    """Return whether "yes" is good (1) or bad (-1), or 0 if no word says so, and whether that is certain."""
    for label, other_label, sign in ((affirmative, negative, 1), (negative, affirmative, -1)):
        condition = re.search(
            rf"\b{label}\b\W{{0,3}}(?:if|when|means)\b([^.\n]*?)(?=\b{other_label}\b|\botherwise\b|[.\n]|\Z)",
            text,
            re.IGNORECASE,
        )
        if condition and sign_of(condition[1]):
            return sign * sign_of(condition[1]), True
    if sign_of(name):
        return sign_of(name), True
    # The question ahead of the labels: "Does the answer hallucinate? Output YES or NO only."
    labels_start = re.search(rf"\b(?:{affirmative}|{negative})\b", text, re.IGNORECASE)
    if labels_start is None:
        return 0, False
    return sign_of(text[max(0, labels_start.start() - 200) : labels_start.start()]), False


def _fold(label: str) -> str:
    return re.sub(r"[_\s-]+", " ", label).casefold().strip()
