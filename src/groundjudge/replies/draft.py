"""A draft of the front matter for a prompt that says in its own words how a reply is to look."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from groundjudge.replies.draft_labels import labels_in_place, labels_in_text, score_labels, sign_of

PLACEHOLDER = "{{}}"
"""What stands in the text for each placeholder."""

SUM = re.compile(r"\b([A-Za-z]\w*?)_Weighted_Summed_Score\b", re.IGNORECASE)
EVIDENCE = re.compile(r"\bsupporting[ _]evidence\W*:", re.IGNORECASE)
TAG = re.compile(r"<(?P<name>[A-Za-z][\w-]*)>(?P<content>[^<>]{0,300})</(?P=name)>")
KEY = re.compile(
    r"""(?:["'](?P<quoted>[A-Za-z_][\w -]*)["']|(?<=[{,])\s*(?P<bare>[A-Za-z_]\w*))\s*:\s*"""
    rf"""(?P<content>(?:{re.escape(PLACEHOLDER)}|\{{[^{{}}"':\n]*\}}|(?!,\s*["']|,\s*\w+\s*:)[^\n{{}}])*)"""
)
PROSE_KEY = re.compile(
    r"""["'`](?P<quoted>[A-Za-z_]\w*)["'`]|^\s*[-*•]\s*\W*(?P<listed>[A-Za-z_]\w*)\W*:""", re.MULTILINE
)
KEY_LIST = re.compile(r"\b(?:keys?|fields?|properties|attributes)\b([^.\n]*)", re.IGNORECASE)
BANDED = re.compile(
    r"^\W*analysis\b[^\n:]*:.*^\W*level\b[^\n:]*:.*^\W*score\b[^\n:]*:",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
BRACKETS = re.compile(r"(?P<name>[A-Za-z][A-Za-z ]*):\s*\"?\[\[")
BRACKETED_LABEL = re.compile(r"\[(?:RESULT|VERDICT|SCORE|RATING|FINAL)\]")
LABEL = re.compile(
    r"\b(?P<name>(?:(?:final|overall|total)[ _])?"
    r"(?:verdict|rating|score|answer|judge?ment|decision|label|grade|result))\*{0,2}:",
    re.IGNORECASE,
)
# "Answer: {{answer}}" shows a value of the case, and asks for nothing; nor do examples ahead of it.
SHOWN = re.compile(rf"{LABEL.pattern}[\s*\"'`]*{re.escape(PLACEHOLDER)}", re.IGNORECASE)
VERDICT_WORDS = re.compile(r"score|rating|grade|verdict|label|decision|judge?ment", re.IGNORECASE)
RESULT_WORDS = re.compile(r"result|answer|number|integer", re.IGNORECASE)
"""What a verdict may be called too, although the answer that is judged may be called so as well."""

REASON_WORDS = re.compile(
    r"reason|expla|rationale|justif|why|analysis|feedback|comment|thought|thinking", re.IGNORECASE
)
VALUE = re.compile(
    r"[\"'<(\s]*-?\d|.*\b(?:integer|number|float|int|bool|boolean|true|false|between|"
    r"score|rating|grade|verdict|label|decision)\b",
    re.IGNORECASE | re.DOTALL,
)
"""How a placeholder for a value reads: 4, <integer 1-5>, true, "your score"."""

NUMBER = r"(-?\d+(?:\.\d+)?)"
RANGE = re.compile(
    rf"(?<![\w.]){NUMBER}\s*(?:to|and|through|-|–|—|\.\.)\s*{NUMBER}(?![\w]|\.\d)"
    # The length of a reason is no scale.
    r"(?!\s+(?:\w+\s+)?(?:sentence|word|paragraph|line|bullet)s?\b)"
)
NAMED_LEVEL = re.compile(
    r"\[[A-Za-z][\w ]*:\s*(\d+)\]|\b(?:score|level|rating|grade)\s+(\d+)\s*:", re.IGNORECASE
)
FIRST_NUMBERS = (0, 1)
LAST_NUMBERS = (1, 2, 3, 4, 5, 6, 7, 10, 20, 100)
"""Where scales begin and end; other ranges, as in "two to three sentences", are none."""

CHECK = "check which one is good: 1 is the best score, 0 the worst"
TO_FILL_IN = {"worst": "LOWEST", "best": "HIGHEST"}
FILL_IN = "fill in the numbers"
FILL_IN_LABELS = "fill in the numbers, or for labels: {choices: {GOOD: 1, BAD: 0}}"


@dataclass(frozen=True)
class Place:
    """Where a reply has a value: its name, as a tag's or a key's, and all that the text shows there."""

    name: str = ""
    content: str = ""


def draft_front_matter(text: str) -> dict[str, str]:
    """Return the lines of front matter for `reply` and `scale`, as far as a prompt's text tells them.

    Without a telling word the reply is a bare verdict. A scale that the text does not tell is left to be
    filled in: on an invented one, no reply could be read, or each would be misread.

    Args:
        text: the prompt's text, with `PLACEHOLDER` for each placeholder.
    """
    reply, place = _draft_reply(text)
    scale, comment = _draft_scale(text, place, reply["format"])
    scale_line = f"scale: {_in_one_line(scale)}"
    if comment:
        scale_line += f"  # {comment}"
    return {"reply": f"reply: {_in_one_line(reply)}", "scale": scale_line}


def _in_one_line(settings: dict[str, Any]) -> str:
    import yaml  # noqa: PLC0415  needed for an error only

    # Its stubs leave a type unknown.
    dump = cast("Any", yaml).safe_dump
    text: str = dump(settings, default_flow_style=True, sort_keys=False, width=10**6)
    return text.strip()


def _draft_reply(text: str) -> tuple[dict[str, Any], Place]:
    """Return the format with its options, and the verdict's place."""
    sums = list(dict.fromkeys(name.lower() for name in SUM.findall(text)))
    if sums:
        reply: dict[str, Any] = {"format": "adjacent"}
        if sums != ["recall", "precision"]:
            reply["names"] = sums
        return reply, Place()
    if EVIDENCE.search(text):
        return {"format": "scorecard"}, Place()
    tags: list[Place] = []
    for match in TAG.finditer(text):
        if PLACEHOLDER not in match["content"]:  # around a value of the case
            tags.append(Place(match["name"], match["content"]))
    if tags:
        return _with_value_and_reason("tags", tags)
    keys = _json_keys(text)
    if keys:
        return _with_value_and_reason("json", keys)
    if BANDED.search(text):
        return {"format": "banded"}, Place()
    in_brackets = BRACKETS.search(text)
    if in_brackets:
        name = in_brackets["name"].split("\n")[-1].strip()
        reply = {"format": "line", "name": name, "brackets": True}
        return reply, Place(name, text[in_brackets.end() :].partition("\n")[0])
    bracketed_label = BRACKETED_LABEL.search(text)
    if bracketed_label:
        return {"format": "line", "name": bracketed_label[0]}, Place()
    names = [match["name"] for match in LABEL.finditer(text)]
    inputs = {match["name"].casefold() for match in SHOWN.finditer(text)}
    for name in names:
        if name.casefold() not in inputs:
            # "Verdict: yes" or "Verdict: no": all that may stand there.
            pattern = rf"\b{name}\*{{0,2}}:((?:(?!\b{name}\b)[^\n]){{0,100}})"
            contents = re.findall(pattern, text, re.IGNORECASE)
            return {"format": "line", "name": name}, Place(name, " or ".join(contents))
    return {"format": "plain"}, Place()


def _json_keys(text: str) -> list[Place]:
    """Return the keys of the JSON object that a text shows or describes, not those of objects within it."""
    braces = text.replace(PLACEHOLDER, " " * len(PLACEHOLDER))
    asks_for_json = re.search(r"\bjson\b", text, re.IGNORECASE)
    keys_by_depth: dict[int, list[Place]] = {}
    names_by_depth: dict[int, set[str]] = {}
    depth = 0
    end = 0
    for match in KEY.finditer(text):
        name = match["quoted"] or match["bare"]
        start = match.start("content")
        depth += braces.count("{", end, start) - braces.count("}", end, start)
        end = start
        if PLACEHOLDER in match["content"]:  # an input that is shown as JSON
            continue
        is_quoted_name = match["quoted"] and (asks_for_json or VERDICT_WORDS.search(name))
        if depth > 0 or is_quoted_name:
            keys_by_depth.setdefault(max(depth, 0), []).append(Place(name, match["content"]))
            names_by_depth.setdefault(max(depth, 0), set()).add(name)
    if not keys_by_depth:
        return _keys_in_prose(text) if asks_for_json else []
    objects = [number for number in keys_by_depth if number > 0]
    top = min(objects, default=0)
    # In a JSON schema the keys stand under "properties".
    if "properties" in names_by_depth[top] and top + 1 in keys_by_depth:
        return keys_by_depth[top + 1]
    if top == 0:
        return keys_by_depth[0]
    return [*keys_by_depth[top], *keys_by_depth.get(0, [])]


def _keys_in_prose(text: str) -> list[Place]:
    """Return the keys of `JSON with the keys "reasoning" and "score"`, if one of them is a verdict's."""
    matches = list(PROSE_KEY.finditer(text))
    keys: list[Place] = []
    for index, match in enumerate(matches):
        end = matches[index + 1].start() if index + 1 < len(matches) else len(text)
        keys.append(Place(match["quoted"] or match["listed"], text[match.end() : end].partition("\n")[0]))
    key_list = KEY_LIST.search(text)
    if not keys and key_list:
        keys = [Place(name) for name in re.findall(r"[A-Za-z_]\w*", key_list[1])]
    keys = [key for key in keys if _is_reason_name(key.name) or _is_telling(key.name)]
    verdicts = [key.name for key in keys if _is_telling(key.name)]
    # Without a reason beside it "supported" is a label.
    is_verdict = any(VERDICT_WORDS.search(name) for name in verdicts)
    return keys if is_verdict or 0 < len(verdicts) < len(keys) else []


def _is_reason_name(name: str) -> bool:
    """Whether a name is a reason's: "reason", "score_reason"; "reasoning_score" is a verdict's."""
    reasons = [match.start() for match in REASON_WORDS.finditer(name)]
    verdicts = [match.start() for match in VERDICT_WORDS.finditer(name)]
    return bool(reasons) and (not verdicts or reasons[-1] > verdicts[-1])


def _is_telling(name: str) -> bool:
    """Whether a name is a verdict's: "score", "faithfulness", "is_hallucination"."""
    is_verdict = VERDICT_WORDS.search(name) is not None or sign_of(name) != 0
    return is_verdict and not _is_reason_name(name)


def _with_value_and_reason(format_name: str, shown_places: Sequence[Place]) -> tuple[dict[str, Any], Place]:
    """Return the options of tags or JSON, and the verdict's place.

    A place's name counts more than what the text shows in it: "<why you gave the score>" is a reason's.
    """
    contents: dict[str, list[str]] = {}
    for place in shown_places:  # several examples show one place several times
        contents.setdefault(place.name, []).append(place.content)
    places = [Place(name, " or ".join(texts)) for name, texts in contents.items()]
    candidates = [place for place in places if not _is_reason_name(place.name)]
    if not candidates:
        candidates = places
    # Without a telling name, the verdict is mostly the last one.
    value = candidates[-1]
    value_points = 0
    for place in candidates:
        points = _verdict_points(place)
        if points > value_points:
            value, value_points = place, points
    reply = {"format": format_name, "value": value.name}
    reasons = [place for place in places if _is_reason_name(place.name)]
    reasons += [place for place in places if REASON_WORDS.search(place.content)]
    for place in reasons:
        if place != value and "reason" not in reply:
            reply["reason"] = place.name
    return reply, value


def _verdict_points(place: Place) -> int:
    """Return how much of a place is a verdict's: its name, then what stands there."""
    points = 0
    if VERDICT_WORDS.search(place.name):
        points += 4
    is_value = VALUE.match(place.content) is not None and REASON_WORDS.search(place.content) is None
    if is_value or labels_in_place(place.content):
        points += 2
    if sign_of(place.name) or RESULT_WORDS.search(place.name):
        points += 1
    return points


def _draft_scale(text: str, place: Place, format_name: str) -> tuple[dict[str, Any], str]:
    """Return the scale, with words for what the text does not tell, and a comment, "" for none."""
    takes_labels = format_name not in {"adjacent", "banded", "scorecard"}
    labels = labels_in_place(place.content) if takes_labels else ()
    if not labels:
        scale = _range_in(text)
        if scale is not None and sign_of(place.name) < 0:  # "hallucination_score"
            scale["worst"], scale["best"] = scale["best"], scale["worst"]
            return scale, "check which end is good"
        if scale is not None:
            return scale, ""
    if takes_labels and not labels and re.search(r"\b(?:true|false|bool(?:ean)?)\b", place.content):
        labels = ("true", "false")
    if takes_labels and not labels:
        labels = labels_in_text(text, PLACEHOLDER)
    if not labels:
        return dict(TO_FILL_IN), FILL_IN_LABELS if takes_labels else FILL_IN
    label_scale = score_labels(labels, place.name, text)
    comment = "" if label_scale.is_certain else CHECK
    if sorted(labels) == ["0", "1"]:
        worst = 0 if label_scale.scores["1"] == 1 else 1
        return {"worst": worst, "best": 1 - worst, "integer": True}, comment
    return {"choices": label_scale.scores}, comment


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
