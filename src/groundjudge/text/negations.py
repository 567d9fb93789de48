"""Negations of many languages, and where they are in a text."""

from __future__ import annotations

import re

from groundjudge.text.patterns import compile_when_used

_NEGATIONS = """
not no none nobody nothing nowhere never neither nor without unable hardly scarcely cannot cant doesnt didnt
isnt arent wasnt werent wont wouldnt couldnt shouldnt hasnt havent hadnt aint nicht kein keine keinen keinem
keiner keines keins nie niemals niemand niemandem niemanden nichts ohne weder nirgends nein niet geen nooit
niets zonder nergens pas jamais aucun aucune sans rien guère non nessuno nessuna nessun niente senza neanche
nunca jamás sin ningún ninguno ninguna nadie nada tampoco ni não nao sem nenhum nenhuma nem ninguém inte ikke
ingen değil yok не нет ни без никогда никто ничего нельзя لا ولا ليس وليس ليست ليسوا لم ولم لن ولن غير بدون
دون לא אין בלי نیست نه
"""
NEGATIONS = frozenset(_NEGATIONS.split())
"""Negations that are separate words; for a French one in two parts, the second."""

# Negations in Chinese.
_NEGATION_CHARACTER = compile_when_used(
    r"""
    未(?![来來]) | [不无無](?![仅僅但过過断斷论論]|同(?!意)) | [没沒勿禁]  # not in 不但, 未来, 无论
  | (?<![南北东東西是])非(?![常洲])  # 非常 is "very", 非洲 is Africa, 是非 right and wrong
  | 别(?=[再去说動动])
    """,
    re.VERBOSE,
)
# A word of letters that may deny: not the one of "not only", "no. 5" and "non-members".
_DENIAL = compile_when_used(r"\b(?!not\s+only\b|no\b\.?\s?\d|non-)[^\W\d_]+(?:['’][^\W\d_]+)*", re.IGNORECASE)


def negated_at(text: str) -> list[int]:
    """Return where a text's negations begin, unordered: not, n't, kein, jamais, sin, não, 不 and the like."""
    starts: list[int] = []
    for match in _DENIAL.finditer(text):
        word = match[0].casefold()
        if word in NEGATIONS or word.endswith(("n't", "n’t")):
            starts.append(match.start())
    if not text.isascii():
        for match in _NEGATION_CHARACTER.finditer(text):
            starts.append(match.start())
    return starts
