"""A fake endpoint of decision models, fast enough not to be the bottleneck, in a process of its own.

    python decision_server.py    prints its port and serves until its stdin is closed

It answers the first request with so many questions as a strict stand-in does, and later ones with the same
bytes: the cases of the benchmark have the same number of questions and options. Its probabilities have two
decimals, as the servers of the System One form send them; with 17 digits, a reply is half as long again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

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


RESPONSES: dict[tuple[str, ...], bytes] = {}
"""The whole HTTP responses by the form and the sizes of the questions."""


def response(_: bytes, body: bytes) -> bytes:
    """The response to a body."""
    content = json.loads(body)
    sizes: list[str] = ["openai" if "input" in content else "systemone"]
    questions = content["questions"]
    for question in questions if is_list(questions) else questions.values():
        options = question.get("choices", question.get("criteria"))
        sizes.append(f"{question.get('name')} {len(options)}")
    key = tuple(sizes)
    if key not in RESPONSES:
        answer = Decisions(hundredths)(content)
        assert isinstance(answer, Raw), answer
        fields = f"Content-Type: application/json\r\nContent-Length: {len(answer.body)}"
        head = f"HTTP/1.1 200 OK\r\n{fields}\r\n\r\n"
        RESPONSES[key] = head.encode() + answer.body
    return RESPONSES[key]


if __name__ == "__main__":
    asyncio.run(serve(response))
