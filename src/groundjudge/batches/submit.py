"""From cases to batches at a provider and back, in steps that survive a kill: nothing is asked for twice.

A part is "planned" until its batch is created. Before the provider is asked to create it, "creating" is
written down: whoever finds a part there looks for the batch in the provider's list first, because it can
exist although its answer never came.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field

from groundjudge.batches.lines import CollectedAnswers, read_result
from groundjudge.batches.provider import Batch, Provider
from groundjudge.batches.replay import Answers, PendingRequest, pending_requests
from groundjudge.batches.state import PartOfRun, State, StateError
from groundjudge.errors import CaseError, ModelError
from groundjudge.judging.panel import AnyJudge
from groundjudge.models.pacing import TRANSIENT
from groundjudge.runs.replaced import replaced, sync
from groundjudge.runs.run import Previous, Row

Providers = Mapping[str, Provider]
"""The provider of each model, by the model's name."""

TRIES = 5
"""How often a batch is asked for before a part is left for the next command."""

MOST_ROUNDS = 3
"""So many times a request is sent at most that gets no reply."""

LISTED_WITHIN = 10.0
"""Seconds within which a provider lists a batch that it has created."""


@dataclass
class Plan:
    """The requests of a round, in parts as large as their provider allows.

    Attributes:
        round: the number of the round.
        n_free: verdicts that need no request: errors, nothing to judge, or known already.
        n_shared: requests that equal rows share with earlier ones.
        parts: the batches to create, by number.
    """

    round: int
    n_free: int = 0
    n_shared: int = 0
    parts: dict[int, PartOfRun] = field(default_factory=dict[int, PartOfRun])

    @property
    def n_requests(self) -> int:
        """How many requests are to be sent."""
        return sum(part.n_requests for part in self.parts.values())

    def add(self, pending: PendingRequest, state: State, provider: Provider) -> None:
        """Write a request into the last part of its model, or into a new one if that has no room."""
        line, model = f"{provider.line(pending)}\n".encode(), pending.model.name
        part = next((each for each in reversed(self.parts.values()) if each.model == model), None)
        if (
            part is None
            or part.n_requests == provider.max_requests
            or state.requests(part.number).stat().st_size + len(line) > provider.max_bytes
        ):
            number = len(state.parts) + len(self.parts) + 1
            part = PartOfRun(number=number, round=self.round, model=model, n_requests=0)
            state.requests(number).write_bytes(b"")  # it can hold what a killed command planned
        with state.requests(part.number).open("ab") as file:
            file.write(line)
        self.parts[part.number] = part.model_copy(update={"n_requests": part.n_requests + 1})


def plan(  # noqa: PLR0913  independent options
    state: State,
    judges: Sequence[AnyJudge],
    rows: Iterable[Row],
    providers: Providers,
    *,
    answers: Answers = lambda _: None,
    previous: Previous | None = None,
    settings: Mapping[str, object] | None = None,
) -> Plan:
    """Put every request that has no answer yet into parts, on disk as a whole or not at all.

    After MOST_ROUNDS rounds nothing is planned.

    Args:
        state: the state of the run.
        judges: the judges; of panels all votes are asked for.
        rows: the cases.
        providers: the provider of each model.
        answers: the answers of earlier rounds.
        previous: looks up the verdicts that are there already.
        settings: kept in the state together with the plan; None: those that it has.
    """
    planned = Plan(1 + max((part.round for part in state.parts), default=0))
    if planned.round > MOST_ROUNDS:
        return planned
    for new, n_asked in pending_requests(judges, rows, answers, previous):
        planned.n_free += not n_asked
        planned.n_shared += n_asked - len(new)
        for request in new:
            planned.add(request, state, providers[request.model.name])
    for number in planned.parts:
        sync(state.requests(number))
    state.write(settings or state.settings, (*state.parts, *planned.parts.values()))
    return planned


def submit(
    state: State,
    providers: Providers,
    *,
    listed_within: float = LISTED_WITHIN,
    show: Callable[[PartOfRun], object] = lambda _: None,
) -> None:
    """Create the batch of every part that has none. It can be killed at any point, and called again.

    Args:
        state: the state of the run, planned.
        providers: the provider of each model.
        listed_within: seconds within which a provider lists a batch that it has created.
        show: called with each part whose batch has been created.

    Raises:
        ModelError: the provider refuses, or does not answer; what was done stays done.
    """
    for part in state.parts:
        if not part.batch.id:
            batch = _created(state, part, providers[part.model], listed_within)
            show(state.change(part, step="created", batch=batch))


def _created(state: State, part: PartOfRun, provider: Provider, listed_within: float) -> Batch:
    """The batch of a part, found or created.

    Raises:
        ModelError: asking again is pointless, or did not help.
    """
    tag = {"groundjudge_run": str(state.settings["run"]), "groundjudge_part": str(part.number)}
    for _ in range(TRIES):
        # Whoever asked for it was killed, or got no answer that says that it does not exist.
        if part.step == "creating" and (batch := _found(state, part, provider, tag, listed_within)):
            return batch
        part = state.change(part, step="creating")
        try:
            return provider.create(state.requests(part.number), tag)
        except ModelError as error:
            if error.code not in TRANSIENT:
                state.change(part, step="planned")
                raise
    message = f"{part.model}: batch {part.number} was not created: try again later"
    raise ModelError("server", message, part.model)


def _found(
    state: State, part: PartOfRun, provider: Provider, tag: Mapping[str, str], listed_within: float
) -> Batch | None:
    """The batch that exists although no answer came, once the provider has had time to list it."""
    known = {each.batch.id for each in state.parts}
    end = time.monotonic() + listed_within
    while True:
        is_last = time.monotonic() > end
        batch = provider.find(tag, part.since, part.n_requests)
        if batch and batch.id not in known:  # where batches bear no tag, it can be the one before
            return batch
        if is_last:
            return None
        time.sleep(min(1.0, listed_within / 5))


def download(
    state: State,
    providers: Providers,
    show: Callable[[PartOfRun], object] = lambda _: None,
) -> bool:
    """Ask how far each batch is, and keep the results of those that have ended.

    Args:
        state: the state of the run.
        providers: the provider of each model.
        show: called with each part that had not been collected.

    Returns:
        Whether all parts are collected.

    Raises:
        ModelError: the provider does not answer.
        StateError: `other_run`: a batch holds the results of other requests.
    """
    for part in state.parts:
        if part.step == "created":
            provider = providers[part.model]
            noted = state.change(part, batch=provider.batch(part.batch.id))
            show(keep_results(state, noted, provider) if noted.batch.is_ended else noted)
    return all(part.step == "collected" for part in state.parts)


def keep_results(state: State, part: PartOfRun, provider: Provider) -> PartOfRun:
    """Keep the results of a batch that has ended, as a whole or not at all.

    Raises:
        StateError: `other_run`: a result belongs to no request of this part.
    """
    names = {*state.custom_ids(part)}
    with (
        replaced(state.results(part.number)) as path,
        path.open("wb") as file,
        closing(provider.results(part.batch.id)) as lines,
    ):
        for line in lines:
            file.write(line.rstrip("\n").encode() + b"\n")
            with suppress(CaseError):  # its request counts as unanswered
                name, _ = read_result(line)
                if name not in names:
                    message = (
                        f"batch {part.batch.id} holds results of other requests, such as {name}: "
                        f"it is not batch {part.number} of {state.folder}"
                    )
                    raise StateError("other_run", message, str(state.folder))
    return state.change(part, step="collected")


def answers_of(state: State) -> CollectedAnswers:
    """The answers of the parts that are collected; the caller closes them."""
    answers = CollectedAnswers()
    for part in state.parts:
        if part.step == "collected":
            with state.results(part.number).open(encoding="utf-8", newline="\n") as lines:
                answers.add(lines, part.model)
    return answers
