"""Stated shares: the probability that the judge itself gives to each value of the scale.

They say more than the single value that the judge chooses, and need no token probabilities:
`1: 0.02, 2: 0.55, 3: 0, 4: 0.18, 5: 0.25`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from groundjudge.replies.format import Reading
from groundjudge.replies.opening import fold
from groundjudge.replies.value import label_of, parse_number, write_number, write_value
from groundjudge.replies.weighted import is_weighable, mean_by_shares, scale_values, values_with_score
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


def can_be_shared(scale: Scale, levels: Mapping[float, str]) -> bool:
    """Whether shares can be stated for a scale: it has few values, or levels."""
    return is_weighable(scale) or len(levels) > 1


def weigh_stated(
    reading: Reading,
    shares: Mapping[str, float] | None,
    scale: Scale,
    levels: Mapping[float, str],
    not_applicable: Collection[float] = (),
) -> Reading:
    """Weight the value of a reading by the shares that it states.

    Values that mean "not applicable" are left out of the mean.

    Returns:
        The reading with the mean in place of the value, or with the warning `shares_unreadable`.

    Args:
        reading: what was read.
        shares: the share of each value, as `read_shares` returns them.
        scale: the scale.
        levels: its levels by the highest value of each.
        not_applicable: the values of the scale that have no score.
    """
    if shares is None:
        return replace(reading, warnings=(*reading.warnings, SHARES_UNREADABLE))
    values = _values_to_share(scale, levels)
    if not is_weighable(scale) and reading.value is not None:
        # The judge has named a value within its level, which is more accurate than the middle of the range.
        values[name_of(reading, scale, levels)] = reading.value
    mean = mean_by_shares(reading.value, shares, values_with_score(values, not_applicable))
    return replace(reading, value=mean)


def read_shares(text: str, scale: Scale, levels: Mapping[float, str]) -> Mapping[str, float] | None:
    """Read a list of shares: every value of the scale, or every level, once, and nothing else.

    The shares are all numbers from 0 to 1, or all percentages; they must add up to 1, give or take 0.05, and
    are divided by their sum.

    Returns:
        The share of each value, in the order of the scale, without those of 0; None if the text is anything
        else. The keys are the labels of the scale; on a scale of numbers, the numbers in digits, such as "4",
        or the labels of the levels if there are too many numbers.
    """
    names = _values_to_share(scale, levels)
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
    entries = [f"{name}: {write_number(shares.get(name, 0.0))}" for name in _values_to_share(scale, levels)]
    return ", ".join(entries)


def sure_shares(reading: Reading, scale: Scale, levels: Mapping[float, str]) -> str:
    """Write the shares of a judge without any doubt: the reading's value has all of them."""
    return write_shares({name_of(reading, scale, levels): 1.0}, scale, levels)


def _values_to_share(scale: Scale, levels: Mapping[float, str]) -> dict[str, float | None]:
    """Return the values that have shares, by name: those of the scale, or the middle of each level."""
    if is_weighable(scale):
        return dict(scale_values(scale))
    values: dict[str, float | None] = {}
    lowest = min(scale.worst, scale.best)
    for highest, label in sorted(levels.items()):
        values[label] = (lowest + highest) / 2
        lowest = highest
    return values


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


def name_of(reading: Reading, scale: Scale, levels: Mapping[float, str]) -> str:
    """Return the name of a reading's value in the shares: "4", a label, or its level."""
    if is_weighable(scale):
        return write_value(reading)
    return label_of(reading.value, levels) or ""
