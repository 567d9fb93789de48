"""A model's reply: its text, and what the endpoint says about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from groundjudge.verdict import Score, Usage, well_formed

NOT_DECIDED = "not_decided"
"""The warning of a model that could not decide: its verdict fails with a confidence of 0."""


class Token(NamedTuple):
    """A token of a reply.

    Attributes:
        text: its bytes; a character can be spread over several tokens.
        candidates: the bytes of the likeliest tokens in its position, each with its probability, 0..1.
    """

    text: bytes
    candidates: tuple[tuple[bytes, Score], ...]


@dataclass(frozen=True)
class Reply:
    """What a model answered.

    Attributes:
        text: the raw text.
        finish_reason: why the model stopped, in the endpoint's words; "length" means that it was cut off.
        usage: the tokens that the endpoint counted; None if it reported none.
        cost: what the call cost, if the model reports it, in its own currency.
        model: the name of the model that answered, if the endpoint reported it.
        refusal: the text with which the model declined, if the endpoint reports refusals separately.
        retries: how many times the request was sent again before this reply arrived.
        cached: whether the reply came from a cache, so that nothing was sent.
        tokens: the tokens with their probabilities, if they were requested and the endpoint returned them.
        warnings: codes of the model's warnings about its own reply, for the verdict.
        limits: caveats for the end of the verdict's reason: what the reply's format has no place for, and
            what the model cannot see; "" if the model has none.
        other_texts: other answers to the same request: further choices of a completion, or a second result
            in a batch. Identical ones are dropped; if any differs, none of the answers is trusted.
        keep: called once the reply has been read, if set: a cache keeps what can be read.
    """

    text: str
    finish_reason: str | None = None
    usage: Usage | None = None
    model: str | None = None
    refusal: str | None = None
    retries: int = 0
    cached: bool = False
    tokens: tuple[Token, ...] | None = field(default=None, repr=False)
    cost: float | None = None
    warnings: tuple[str, ...] = ()
    limits: str = ""
    other_texts: tuple[str, ...] = ()
    keep: Callable[[], object] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        # An endpoint can send anything, but every text in a verdict must be valid in JSON.
        for name in ("text", "finish_reason", "model", "refusal"):
            value = getattr(self, name)
            if value:
                object.__setattr__(self, name, well_formed(str(value)))
        if self.other_texts:
            other_texts = map(well_formed, self.other_texts)
            differing = tuple(other for other in other_texts if other != self.text)
            object.__setattr__(self, "other_texts", differing)
