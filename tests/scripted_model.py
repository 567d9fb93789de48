"""A model for tests that returns the replies of a script."""

from __future__ import annotations

from itertools import chain, repeat

from groundjudge import Reply
from groundjudge.types import Request


class ScriptedModel:
    """Returns the replies in order and then repeats the last one; raises those that are exceptions."""

    name = "scripted"

    def __init__(self, *replies: str | Reply | Exception) -> None:
        self.asked: list[Request] = []
        self._replies = chain(replies, repeat(replies[-1]))

    async def acomplete(self, request: Request) -> Reply:
        self.asked.append(request)
        reply = next(self._replies)
        if isinstance(reply, Exception):
            raise reply
        return Reply(reply) if isinstance(reply, str) else reply


class NamedModel(ScriptedModel):
    """One that a cache knows by its name alone."""

    @property
    def identity(self) -> str:
        return self.name
