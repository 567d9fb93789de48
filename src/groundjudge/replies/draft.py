"""A draft of the front matter for a prompt that says in its own words how a reply is to look."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

PLACEHOLDER = "{{}}"
"""What stands in the text for each placeholder."""

SUM = re.compile(r"\b([A-Za-z]\w*?)_Weighted_Summed_Score\b", re.IGNORECASE)
EVIDENCE = re.compile(r"\bsupporting[ _]evidence\W*:", re.IGNORECASE)
TAG = re.compile(r"<(?P<name>[A-Za-z][\w-]*)>(?P<content>[^<>]{0,300})</(?P=name)>")
KEY = re.compile(r"""["'](?P<name>[A-Za-z_][\w -]*)["']\s*:\s*(?P<content>(?:(?!,\s*["'])[^\n])*)""")
BANDED = re.compile(
    r"^\W*analysis\b[^\n:]*:.*^\W*level\b[^\n:]*:.*^\W*score\b[^\n:]*:",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
BRACKETS = re.compile(r"(?P<name>[A-Za-z][A-Za-z ]*):\s*\"?\[\[")
BRACKETED_LABEL = re.compile(r"\[(?:RESULT|VERDICT|SCORE|RATING|FINAL)\]")
LABEL = re.compile(
    r"\b(?P<name>(?:(?:final|overall|total)[ _])?"
    r"(?:verdict|rating|score|answer|judge?ment|decision|label|grade|result))\*{0,2}:"
    # "Answer: {{answer}}" shows a value of the case, and asks for nothing.
    rf"(?![\s*\"'`]*{re.escape(PLACEHOLDER)})",
    re.IGNORECASE,
)
VERDICT_WORDS = re.compile(
    r"score|rating|grade|verdict|label|decision|judge?ment|result|answer|number|integer", re.IGNORECASE
)
REASON_WORDS = re.compile(r"reason|expla|rationale|justif|why|analysis|feedback|comment", re.IGNORECASE)

NUMBER = r"(-?\d+(?:\.\d+)?)"
RANGE = re.compile(rf"(?<![\w.]){NUMBER}\s*(?:to|and|through|-|–|—|\.\.)\s*{NUMBER}(?![\w]|\.\d)")
NAMED_LEVEL = re.compile(
    r"\[[A-Za-z][\w ]*:\s*(\d+)\]|\b(?:score|level|rating|grade)\s+(\d+)\s*:", re.IGNORECASE
)
FIRST_NUMBERS = (0, 1)
LAST_NUMBERS = (1, 2, 3, 4, 5, 6, 7, 10, 20, 100)
"""Where scales begin and end; other ranges, as in "two to three sentences", are none."""

OPPOSITES = (
    ("yes", "no"),
    ("pass", "fail"),
    ("passed", "failed"),
    ("true", "false"),
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
"""Labels of which the first is mostly the good one."""

USUAL_SCALE: Mapping[str, Any] = {"worst": 1, "best": 5}


def draft_front_matter(text: str) -> dict[str, str]:
    """Return the lines of front matter for `reply` and `scale`, as far as a prompt's text tells them.

    What it does not tell is the usual: a bare verdict, from 1 to 5. The draft always makes a judge.

    Args:
        text: the prompt's text, with `PLACEHOLDER` for each placeholder.
    """
    import yaml  # noqa: PLC0415  needed for an error only

    reply, place = _draft_reply(text)
    scale = _draft_scale(text, place, reply["format"])
    lines: dict[str, str] = {}
    for key, value in {"reply": reply, "scale": scale}.items():
        settings = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10**6)
        lines[key] = f"{key}: {settings.strip()}"
    return lines


def _draft_reply(text: str) -> tuple[dict[str, Any], str]:
    """Return the format with its options, and what the text says of the verdict's place."""
    sums = list(dict.fromkeys(name.lower() for name in SUM.findall(text)))
    if sums:
        reply: dict[str, Any] = {"format": "adjacent"}
        if sums != ["recall", "precision"]:
            reply["names"] = sums
        return reply, ""
    if EVIDENCE.search(text):
        return {"format": "scorecard"}, ""
    tags: list[tuple[str, str]] = []
    for match in TAG.finditer(text):
        if PLACEHOLDER not in match["content"]:  # around a value of the case
            tags.append((match["name"], match["content"]))
    if tags:
        return _with_value_and_reason("tags", tags)
    keys = [(match["name"], match["content"]) for match in KEY.finditer(text)]
    if keys and "{" in text:
        return _with_value_and_reason("json", keys)
    if BANDED.search(text):
        return {"format": "banded"}, ""
    in_brackets = BRACKETS.search(text)
    if in_brackets:
        name = in_brackets["name"].split("\n")[-1].strip()
        return {"format": "line", "name": name, "brackets": True}, text[in_brackets.start() :]
    bracketed_label = BRACKETED_LABEL.search(text)
    if bracketed_label:
        return {"format": "line", "name": bracketed_label[0]}, ""
    label = LABEL.search(text)
    if label:
        return {"format": "line", "name": label["name"]}, text[label.end() : label.end() + 100]
    return {"format": "plain"}, ""


def _with_value_and_reason(
    format_name: str, elements: Sequence[tuple[str, str]]
) -> tuple[dict[str, Any], str]:
    """Return the options of tags or JSON: which of the elements is the value, and which one the reason."""
    value: tuple[str, str] | None = None
    for name, content in elements:
        if value is None and (VERDICT_WORDS.search(name) or VERDICT_WORDS.search(content)):
            value = name, content
    # Without a telling name, the verdict is mostly the last element.
    value_name, place = elements[-1] if value is None else value
    reply = {"format": format_name, "value": value_name}
    for name, content in elements:
        is_reason = REASON_WORDS.search(name) or REASON_WORDS.search(content)
        if is_reason and name != value_name and "reason" not in reply:
            reply["reason"] = name
    return reply, place


def _draft_scale(text: str, place: str, format_name: str) -> dict[str, Any]:
    takes_labels = format_name not in {"adjacent", "banded", "scorecard"}
    if takes_labels and _choices_in(place):
        return {"choices": _choices_in(place)}
    scale = _range_in(text)
    if scale is not None:
        return scale
    if takes_labels and _choices_in(text):
        return {"choices": _choices_in(text)}
    return dict(USUAL_SCALE)


def _choices_in(text: str) -> dict[str, int]:
    """Return two labels between which the text lets the model choose, as they are written there."""
    for good, bad in OPPOSITES:
        for first, second in ((good, bad), (bad, good)):
            pattern = rf"\b({first})\b[^\w\n]*(?:\bor\b[^\w\n]*)?\b({second})\b"
            match = re.search(pattern, text, re.IGNORECASE)
            if match:
                scores = (1, 0) if first == good else (0, 1)
                return dict(zip(match.groups(), scores, strict=True))
    return {}


def _range_in(text: str) -> dict[str, Any] | None:
    """Return the widest scale of numbers that the text names, in one piece or in bands; None for none."""
    pairs = sorted((float(first), float(last)) for first, last in RANGE.findall(text))
    worst: float | None = None
    best = 0.0
    for low, high in pairs:
        if worst is None and low in FIRST_NUMBERS:
            worst, best = low, high
        elif worst is not None and low <= best + 1:  # the whole, or the next of several bands
            best = max(best, high)
    if best not in LAST_NUMBERS:
        worst = None
    levels = [int(first + second) for first, second in NAMED_LEVEL.findall(text)]
    if levels and min(levels) < max(levels) and (worst is None or max(levels) >= best):
        return {"worst": min(levels), "best": max(levels), "integer": True}
    if worst is None or worst >= best:
        return None
    scale: dict[str, Any] = {"worst": int(worst), "best": int(best)}
    if best > 1 and re.search(r"\bintegers?\b|\bwhole number", text, re.IGNORECASE):
        scale["integer"] = True
    return scale
