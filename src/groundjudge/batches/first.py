"""The first request of each kind, which is asked online before any batch of that kind is written.

A model that refuses a parameter, as reasoning models refuse `temperature`, would refuse all requests of a
batch. An endpoint says what it refuses online only, and one parameter at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from pydantic import ValidationError
from pydantic_core import to_json

from groundjudge.batches.replay import REJECTED, Answer, PendingRequest
from groundjudge.batches.state import State
from groundjudge.errors import ModelError
from groundjudge.files import replace_file
from groundjudge.models.cached import StoredReply
from groundjudge.models.failure import model_error
from groundjudge.models.loop_thread import shared_loop
from groundjudge.models.unsupported_parameters import refusals_of
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model
from groundjudge.verdict import Frozen, Usage

TRIES = 3
"""How many requests of a kind are asked at most: an endpoint can reject the text of a row."""

Kind: TypeAlias = tuple[str, str, tuple[str, ...]]
"""What an endpoint takes or refuses alike: the model, the endpoint, and the names of the parameters."""


class OnlineReply(StoredReply):
    """A reply that came online, as it is in the file."""

    usage: Usage | None
    other_texts: tuple[str, ...] = ()


class FirstRequest(Frozen):
    """A request that was asked online: a line of `first.jsonl`, which `read_result` reads too.

    Attributes:
        custom_id: its name, as in a batch.
        kind: its kind.
        refusals: what the model was known to refuse after it.
        reply: the reply.
    """

    custom_id: str
    kind: Kind
    refusals: Mapping[str, str]
    reply: OnlineReply


def read_online_reply(reply: Mapping[str, Any]) -> Answer:
    """Read the reply in a line of `first.jsonl`.

    Args:
        reply: what the line has under `reply`.

    Raises:
        ValueError: it is something else.
    """
    return Reply(**dict(OnlineReply.model_validate_json(to_json(reply))))


class FirstRequests:
    """The requests that a run has asked online: none is asked twice, whenever a command is killed.

    Only a reply that was lost on its way, or with the command that waited for it, is asked for again.

    Args:
        state: the state of the run.
        models: its models, which are told what they are known to refuse.

    Attributes:
        n_replies: how many replies came.
        rejected: the requests that the endpoint rejected for another reason than a parameter. They are for a
            batch, like all others, once it is known what the model refuses.
    """

    def __init__(self, state: State, models: Sequence[Model]) -> None:
        self.n_replies = 0
        self.rejected: list[PendingRequest] = []
        self._file = state.first_replies
        self._lines: list[str] = []
        self._settled_kinds = set[Kind]()
        self._n_rejections = Counter[Kind]()
        if not self._file.exists():
            return
        for line in self._file.read_text(encoding="utf-8", errors="replace").split("\n"):
            try:
                first = FirstRequest.model_validate_json(line)
            except ValidationError:  # the end of the file, or a line that a person has changed
                continue
            self._lines.append(line)
            self._settled_kinds.add(first.kind)
            for model in models:
                if _place(model) == first.kind[:2]:
                    refusals_of(model).update(first.refusals)

    def answer(self, pending: PendingRequest) -> bool:
        """Ask a request online if no reply to one of its kind is there; returns whether it was asked.

        Raises:
            ModelError: the endpoint does not answer, and so nobody knows what it refuses.
        """
        model, request = pending.model, pending.request
        kind = (*_place(model), tuple(sorted(request.parameters)))
        # Of a request without parameters there is nothing to refuse.
        if kind in self._settled_kinds or not request.parameters:
            return False
        try:
            reply = shared_loop().run(model.acomplete, request)
        except ModelError as error:
            self._n_rejections[kind] += 1
            if error.code in REJECTED and self._n_rejections[kind] < TRIES:
                self.rejected.append(pending)
                return True
            message = (
                f"{error.message}; before its batches {model.name} is asked online, to learn what parameters "
                "it refuses: run the command again, or name them with --refused, and nothing is asked"
            )
            raise model_error(error.code, message, model.name) from error
        first = FirstRequest(
            custom_id=pending.custom_id,
            kind=kind,
            refusals=refusals_of(model),
            reply=OnlineReply.model_validate(reply, from_attributes=True),
        )
        self._lines.append(first.model_dump_json())
        with replace_file(self._file) as file:
            file.write("".join(f"{line}\n" for line in self._lines).encode())
        self._settled_kinds.add(kind)
        self.n_replies += 1
        return True


def _place(model: Model) -> tuple[str, str]:
    """The name of a model and its endpoint."""
    return model.name, str(getattr(model, "endpoint", ""))
