"""Two places in a reply that state the same thing must agree: no one can know which of them is meant.

Formats only say where their places are. What they found is compared here, for all formats, so that neither
the first place nor the more lenient one ever wins.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from groundjudge.errors import ReplyError
from groundjudge.replies.distribution import name_of, values_of
from groundjudge.replies.format import PartReading, Reading
from groundjudge.replies.reply import Reply
from groundjudge.replies.value import label_of, may_be_fraction, write_value
from groundjudge.scale import Scale, fold_label


def check_answers(reply: Reply) -> None:
    """Check that a request has one answer: further choices and results must be the same.

    Raises:
        ReplyError: `ambiguous`.
    """
    if reply.other_texts:
        wording = (
            f"the request has {len(reply.other_texts) + 1} different answers: ask for one choice (`n`), "
            "and pass the results of a single batch"
        )
        raise ReplyError("ambiguous", reply.text, wording)


def check_places(
    reading: Reading,
    reply: Reply,
    scale: Scale,
    levels: Mapping[float, str],
    shares: Mapping[str, float] | None,
) -> None:
    """Check that the places of a reply agree.

    The value must have the largest share, or one of several equal ones. On a scale up to 100, a number
    between 0 and 1 may be a fraction, unless its shares show that it is not, or its level, to which the
    percentage does not belong.

    Args:
        reading: what was read.
        reply: the reply that it was read from.
        scale: the scale.
        levels: its levels by the highest value of each.
        shares: the shares that it states; None if they cannot be read.

    Raises:
        ReplyError: `ambiguous`.
    """
    if shares is not None:
        name = name_of(reading, values_of(scale, levels), levels)
        if shares.get(name, 0.0) < max(shares.values()):
            wording = "the score is not the value that has the largest share"
            raise ReplyError("ambiguous", reply.text, wording, (write_value(reading), reading.shares))
    if {scale.worst, scale.best} != {0, 100} or shares is not None:
        return
    if reading.value is not None:
        named = find_levels(reading.level, levels)
        if label_of(reading.value, levels) in named and label_of(100 * reading.value, levels) not in named:
            return
    verdicts: tuple[Reading | PartReading, ...] = reading.parts or (reading,)
    for verdict in verdicts:
        if verdict.value is not None and may_be_fraction(verdict.value):
            wording = "on a scale up to 100, a number between 0 and 1 may be a fraction or a percentage"
            raise ReplyError("ambiguous", reply.text, wording, (write_value(verdict),), is_misplaced=True)


def find_levels(text: str, levels: Mapping[float, str]) -> set[str]:
    """Find the labels of the levels that a text names; "mild" names "mild hallucination"."""
    found: set[str] = set()
    folded = fold_label(text)
    if not folded:
        return found
    for label in levels.values():
        folded_label = fold_label(label)
        is_inside = re.search(rf"\b{re.escape(folded_label)}\b", folded)
        is_beginning = folded_label.startswith(f"{folded} ")
        if is_inside or is_beginning:
            found.add(label)
    return found
