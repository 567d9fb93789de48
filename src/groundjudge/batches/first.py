"""The first request of each kind, sent online before any batch of that kind is written.

A model that refuses a parameter, as reasoning models refuse `temperature`, would reject every request in a
batch. An endpoint only says online what it refuses, one parameter at a time.
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
"""Maximum number of requests of a kind to send online: an endpoint may reject the text of one row."""

Kind: TypeAlias = tuple[str, str, tuple[str, ...]]
"""What determines the parameters an endpoint refuses: the model, the endpoint, and the parameter names."""


class OnlineReply(StoredReply):
    """An online reply, as stored in the file."""

    usage: Usage | None
    other_texts: tuple[str, ...] = ()


class FirstRequest(Frozen):
    """A request that was sent online: a line of `first.jsonl`, which `read_result` reads too.

    Attributes:
        custom_id: its name, as in a batch.
        kind: its kind.
        refusals: what the model was known to refuse after this request.
        reply: the reply.
    """

    custom_id: str
    kind: Kind
    refusals: Mapping[str, str]
    reply: OnlineReply


def read_online_reply(reply: Mapping[str, Any]) -> Answer:
    """Read the reply in a line of `first.jsonl`.

    Args:
        reply: the line's value for `reply`.

    Raises:
        ValueError: it is something else.
    """
    return Reply(**dict(OnlineReply.model_validate_json(to_json(reply))))


class FirstRequests:
    """The requests that a run has sent online: none is sent twice, even if a command is killed.

    A request is repeated only if its reply was lost in transit, or with the command that waited for it.

    Args:
        state: the state of the run.
        models: its models, which are told which parameters they are known to refuse.

    Attributes:
        n_replies: how many replies arrived.
        rejected: the requests that the endpoint rejected for reasons other than a parameter. They go into a
            batch like all others, once it is known what the model refuses.
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
            except ValidationError:  # the end of the file, or a line that was edited by hand
                continue
            self._lines.append(line)
            self._settled_kinds.add(first.kind)
            for model in models:
                if _place(model) == first.kind[:2]:
                    refusals_of(model).update(first.refusals)

    def answer(self, pending: PendingRequest) -> bool:
        """Send a request online unless its kind already has a reply; return whether it was sent.

        Raises:
            ModelError: the endpoint does not answer, so what it refuses stays unknown.
        """
        model, request = pending.model, pending.request
        kind = (*_place(model), tuple(sorted(request.parameters)))
        # A request without parameters has nothing to refuse.
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
                f"{error.message}; the first request to {model.name} is sent online to learn what parameters "
                "it refuses: run the command again, or name them with --refused, which sends nothing online"
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
    """Return a model's name and its endpoint."""
    return model.name, str(getattr(model, "endpoint", ""))
