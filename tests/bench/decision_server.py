"""A fake endpoint of decision models, fast enough not to be the bottleneck, in a process of its own.

    python decision_server.py    prints its port and serves until its stdin is closed

It answers the first request with so many questions as a strict stand-in does, and later ones with the same
answers and an id of their own: the cases of the benchmark have the same number of questions and options.
Its probabilities have two decimals, as the servers of the System One form send them; with 17 digits, a reply
is half as long again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from itertools import count

from server import serve
from standin_decisions import Decisions
from standin_openai import Raw

from groundjudge.case.data import is_list


def hundredths(_: str, keys: Sequence[str]) -> list[float]:
    """Probabilities as servers send them: with two decimals, and most of it on one option."""
    probabilities = [0.0] * len(keys)
    likeliest = len(keys) // 2
    probabilities[0] += 0.03
    probabilities[likeliest - 1] += 0.08
    probabilities[likeliest] += 0.89
    return probabilities


ANSWERS: dict[tuple[str, ...], bytes] = {}
"""The bodies of responses by the form and the sizes of the questions."""

NUMBERS = count(1)
"""The numbers of responses: no two have equal bodies, which a cache would have to read only once."""


def response(_: bytes, body: bytes) -> bytes:
    """The response to a body."""
    content = json.loads(body)
    sizes: list[str] = ["openai" if "input" in content else "systemone"]
    questions = content["questions"]
    for question in questions if is_list(questions) else questions.values():
        options = question.get("choices", question.get("criteria"))
        sizes.append(f"{question.get('name')} {len(options)}")
    key = tuple(sizes)
    if key not in ANSWERS:
        answer = Decisions(hundredths)(content)
        assert isinstance(answer, Raw), answer
        ANSWERS[key] = answer.body
    numbered = b'{"id": "%08d", %b' % (next(NUMBERS), ANSWERS[key].removeprefix(b"{"))
    fields = f"Content-Type: application/json\r\nContent-Length: {len(numbered)}"
    return f"HTTP/1.1 200 OK\r\n{fields}\r\n\r\n".encode() + numbered


if __name__ == "__main__":
    asyncio.run(serve(response))
