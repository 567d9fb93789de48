"""The negations of a text, in Chinese and in many languages that put spaces between words."""

from __future__ import annotations

import re

_WORDS = """
not no none nobody nothing nowhere never neither nor without unable hardly scarcely cannot cant doesnt didnt
isnt arent wasnt werent wont wouldnt couldnt shouldnt hasnt havent hadnt aint nicht kein keine keinen keinem
keiner keines keins nie niemals niemand niemandem niemanden nichts ohne weder nirgends nein niet geen nooit
niets zonder nergens pas jamais aucun aucune sans rien guère non nessuno nessuna nessun niente senza neanche
nunca jamás sin ningún ninguno ninguna nadie nada tampoco ni não nao sem nenhum nenhuma nem ninguém inte ikke
ingen değil yok не нет ни без никогда никто ничего нельзя لا ولا ليس وليس ليست ليسوا لم ولم لن ولن غير بدون
دون לא אין בלי نیست نه
"""
NEGATIONS = frozenset(_WORDS.split())
"""Negations that are words of their own; of the two parts of a French one, the second."""

_NEGATION_SIGN = re.compile(
    r"""
    未(?![来來]) | [不无無](?![仅僅但过過断斷论論]|同(?!意)) | [没沒勿禁]  # not in 不但, 未来, 无论
  | (?<![南北东東西是])非(?![常洲])  # 非常 is "very", 非洲 is Africa, 是非 right and wrong
  | 别(?=[再去说動动])
    """,
    re.VERBOSE,
)
"""Negations in Chinese."""

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_NO_DENIAL = re.compile(r"\bnot\s+only\b|\bno\b\.?\s?(?=\d)|\bnon(?=-)", re.IGNORECASE)
_PORTUGUESE = re.compile(r"\b(?:n?ão|uma|pel[ao]s?|às?)\b", re.IGNORECASE)


def negations(text: str) -> int:
    """How many negations a text holds: not, n't, kein, jamais, sin, não, 不, ليس and the like."""
    return len(negated_at(text))


def negated_at(text: str) -> list[int]:
    """Where the negations of a text begin, in no order."""
    skipped = {match.start() for match in _NO_DENIAL.finditer(text)}
    other_words = {"no"} if _PORTUGUESE.search(text) else set[str]()  # Portuguese for "in the"
    found = [
        match.start()
        for match in _WORD.finditer(text)
        if (low := match[0].casefold()) in NEGATIONS - other_words or low.endswith(("n't", "n’t"))
    ]
    signs = [match.start() for match in _NEGATION_SIGN.finditer(text)]
    return [start for start in found if start not in skipped] + signs
