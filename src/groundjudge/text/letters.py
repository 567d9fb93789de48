"""Letters without their case, for texts in which places are looked up; scripts without spaces."""

from __future__ import annotations

# Characters of the scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, Chinese, Japanese.
UNSPACED = (
    "\u0e00-\u109f\u1780-\u17ff\u2e80-\u2fff\u3005-\u3007\u3021-\u3029\u3041-\u309f\u30a1-\u30ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)


def fold_case(text: str) -> str:
    """Return a text in small letters with the same length, so that places in it stay valid.

    Patterns that look for words of a table in it must not ignore case: they would take the long s of "Auguſt"
    for an s and the dotless i of "Aprıl" for an i, and find a word that is not in the table.
    """
    folded = text.casefold()
    if len(folded) == len(text):  # no letter becomes less than one
        return folded
    characters: list[str] = []
    for character in text:
        small = character.casefold()
        characters.append(small if len(small) == 1 else character)
    return "".join(characters)
