"""Sentences that state nothing, by their words: courtesies, questions and lead-ins."""

from __future__ import annotations

import re

from groundjudge.offline.readings import Reader

_COURTESIES = """
absolutely afternoon ah anything apologies apologise apologize ask asking assist assistance awesome bye
certainly course day definitely don't else evening feel get glad good goodbye got great greetings happy hear
hello help hey hi hope i'd i'll i'm idea know knows let let's look looking forward moment morning need nice
oh ok okay perfect please pleasure question questions right see something sorry sure tell thank thanks that's
think thx today understand understood wait welcome well wonderful wow yeah yep yes you'll you're
"""
COURTESIES = frozenset(_COURTESIES.split())
"""Words of which a sentence can consist without stating anything."""
MOST_OTHER_WORDS = 0.4
"""The share of a courtesy's content words that may be others ("happy to help with your order")."""
LONGEST_NOTHING = 200
"""Characters of a sentence; a longer one states something, if only at length."""
LONGEST_LEAD = 6
"""Content words of a question or a lead-in; a longer one also tells something."""

_LEAD = re.compile(r"[?？:：]\W*\Z")
_COURTESY_SIGNS = re.compile(
    "谢谢|謝謝|感谢|您好|你好|好的|当然|當然|不客气|不客氣|抱歉|对不起|對不起|请问|請問|再见|没问题|很高兴|为您服务|帮助您|帮您|帮你|是的"
)


def states_nothing(sentence: str, read: Reader) -> bool:
    """Whether a sentence makes no claim: a courtesy, a question, a lead-in, a bare yes or no, no words."""
    if len(sentence) > LONGEST_NOTHING or read(sentence).numbers:
        return False
    content = [word for word in read(_COURTESY_SIGNS.sub(" ", sentence)).words if word.weight == 1]
    if _LEAD.search(sentence):
        return len(content) <= LONGEST_LEAD
    others = [word for word in content if word.text.casefold().replace("’", "'") not in COURTESIES]
    return len(others) <= MOST_OTHER_WORDS * len(content)
