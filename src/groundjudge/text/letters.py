"""Letters without their case, for texts in which places are looked up."""

from __future__ import annotations


def fold_case(text: str) -> str:
    """A text in small letters that is as long as it was, so that places in it stay true.

    What a pattern matches in it is a key of a table as it stands. What a pattern that ignores case matches
    may be none: it takes the long s of "Auguſt" for an s, and the dotless i of "Aprıl" for an i.
    """
    folded = text.casefold()
    if len(folded) == len(text):  # no letter becomes less than one
        return folded
    signs: list[str] = []
    for sign in text:
        small = sign.casefold()
        signs.append(small if len(small) == 1 else sign)
    return "".join(signs)
