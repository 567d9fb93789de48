"""Letters without their case, for texts in which places are looked up; scripts without spaces."""

from __future__ import annotations

# Characters of the scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, Chinese, Japanese.
UNSPACED = (
    "\u0e00-\u109f\u1780-\u17ff\u2e80-\u2fff\u3005-\u3007\u3021-\u3029\u3041-\u309f\u30a1-\u30ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)


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
