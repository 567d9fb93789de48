"""Stated shares: the probability that the judge itself gives to each value of the scale.

They say more than the single value that the judge chooses, and need no token probabilities:
`1: 0.02, 2: 0.55, 3: 0, 4: 0.18, 5: 0.25`.
"""

from __future__ import annotations

from collections.abc import Mapping

from groundjudge.replies.distribution import values_of
from groundjudge.replies.opening import fold
from groundjudge.replies.value import label_of, parse_number, write_number
from groundjudge.scale import DIGITS, Scale, fold_label, unwrap
from groundjudge.text.patterns import compile_when_used

# The code of shares that cannot be read: of a warning, and of the error that leads to a re-ask.
SHARES_UNREADABLE = "shares_unreadable"

# How far from 1 the sum of the shares may be.
TOLERANCE = 0.05

# "2: 0.55," and "2 (incorrect) = 55 %;". A name contains none of the characters that end it, so that an entry
# can be read in only one way. The comma of "1:0,2:95" is not a decimal comma: the next name follows it.
ENTRY = compile_when_used(
    r"\s*+(?P<name>[^:=,，;\n]++)[:=]\s*+(?P<share>[0-9]*+(?:[.,][0-9]++(?!\s*+[:=(]))?)"
    r"[^\S\n]*+(?P<percent>%)?[^\S\n]*+(?:[,，;\n]|\Z)"
)
NAME_AND_LABEL = compile_when_used(r"(?P<name>[^()]+)\((?P<label>[^()]+)\)\s*")


def has_shares(reply_format: object) -> bool:
    """Whether a reply format has a place for shares, which its attribute `shares` names."""
    return bool(getattr(reply_format, "shares", ""))


def read_shares(text: str, scale: Scale, levels: Mapping[float, str]) -> Mapping[str, float] | None:
    """Read a list of shares: every value of the scale, or every level, once, and nothing else.

    The shares are all numbers from 0 to 1, or all percentages; they must add up to 1, give or take 0.05, and
    are divided by their sum.

    Returns:
        The share of each value, in the order of the scale, without those of 0; None if the text is anything
        else. The keys are the labels of the scale; on a scale of numbers, the numbers in digits, such as "4",
        or the labels of the levels if there are too many numbers.
    """
    names = values_of(scale, levels)
    text = unwrap(fold(text).text)
    names_by_text = _names_by_text(names, levels)
    shares: dict[str, float] = {}
    percents: set[bool] = set()
    position = 0
    while position < len(text):
        entry = ENTRY.match(text, position)
        if entry is None or not entry["share"]:
            return None
        name = _find_name(entry["name"], names_by_text)
        if name is None or name in shares:
            return None
        shares[name] = parse_number(entry["share"])
        percents.add(entry["percent"] is not None)
        position = entry.end()
    total = sum(shares.values())
    # Percentages may lack the % sign; then their sum shows what they are.
    whole = 100 if percents == {True} or total > 1 + TOLERANCE else 1
    is_complete = len(shares) == len(names) and len(percents) == 1
    if not is_complete or abs(total / whole - 1) > TOLERANCE:
        return None
    return {name: round(shares[name] / total, DIGITS) for name in names if shares[name]}


def write_shares(shares: Mapping[str, float], scale: Scale, levels: Mapping[float, str]) -> str:
    """Write shares as `read_shares` reads them; missing ones are 0."""
    entries = [f"{name}: {write_number(shares.get(name, 0.0))}" for name in values_of(scale, levels)]
    return ", ".join(entries)


def _names_by_text(
    values: Mapping[str, float | None], levels: Mapping[float, str]
) -> Mapping[str, str | None]:
    """Return the names of values by what an entry may call them; None for a label of several numbers.

    With the levels {2: "bad", 3: "good"}, the texts "1", "2", "3" and "good" have names, and "bad" has None.
    """
    names: dict[str, str | None] = {}
    for name, value in values.items():
        texts = {fold_label(name)}
        label = label_of(value, levels)
        if label is not None:
            texts.add(fold_label(label))
        for text in texts:
            names[text] = None if text in names else name
    return names


def _find_name(text: str, names: Mapping[str, str | None]) -> str | None:
    """Find the value that an entry names: by its number, its label, or both, as in "4 (good)"."""
    name = names.get(fold_label(text))
    if name is not None:
        return name
    pair = NAME_AND_LABEL.fullmatch(text)
    if pair is None:
        return None
    name = names.get(fold_label(pair["name"]))
    if name is None or name != names.get(fold_label(pair["label"])):
        return None
    return name
