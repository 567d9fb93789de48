"""Whether a text is in a language whose words the library knows: English and Chinese."""

from __future__ import annotations

from groundjudge.text.patterns import compile_when_used
from groundjudge.text.words import FUNCTION_WORDS, NEGATIONS

_FOREIGN = """
der das dem den und ist nicht ein eine einen einem einer mit auf für von im zum zur auch sich sind wird werden
le la les des du et est une un dans pour que qui sur pas avec par ce cette sont aux plus
el los las y en por con para del una se su al lo como más está son
il gli di che per non sono della del nel alla anche più è
o os e da do em um uma para com não na ao das dos são mais
het een van dat niet te zijn voor met naar ook aan worden wordt
och att det en som är på inte med av för till den
og det er på til som ikke med av af
w na z że się nie jest do oraz są
ve bir bu için ile olarak daha
"""
# Words of languages that are not known, but for those that English has, too.
FOREIGN = frozenset(_FOREIGN.split()) - {"do", "no", "as", "plus"}
ENGLISH = FUNCTION_WORDS - NEGATIONS - FOREIGN
# So many of its words tell the language of a text.
LEAST_WORDS = 2
# Characters of a text that are looked at.
LONGEST_LOOK = 1000

_LETTER = compile_when_used(r"[^\W\d_]")
_KNOWN_LETTER = compile_when_used(
    "[A-Za-z\u00c0-\u024f\u1e00-\u1eff\uff21-\uff3a\uff41-\uff5a\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
)
# Chinese is written without these signs of Japanese, which stand among its own.
_KANA = compile_when_used("[\u3041-\u309f\u30a1-\u30fa]")
_WORD = compile_when_used(r"[^\W\d_]+")


def is_unknown_language(text: str) -> bool:
    """Whether most letters of a text are of a script, or its short words of a language, that is not known."""
    beginning = text[:LONGEST_LOOK]
    if not beginning.isascii():
        n_letters = len(_LETTER.findall(beginning))
        n_known = len(_KNOWN_LETTER.findall(beginning))
        n_kana = len(_KANA.findall(beginning))
        if 2 * n_known < n_letters or 5 * n_kana > n_letters:
            return True
    terms = _WORD.findall(beginning.casefold())
    n_foreign = sum(map(FOREIGN.__contains__, terms))
    n_english = sum(map(ENGLISH.__contains__, terms))
    return n_foreign >= LEAST_WORDS and n_foreign > n_english
