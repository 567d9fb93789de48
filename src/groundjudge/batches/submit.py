"""From cases to batches at a provider, in steps that survive a kill: nothing is asked for twice.

A part is "planned" until its lines are uploaded, and "uploaded" until its batch is created. Before the
provider is asked to create it, "creating" is written down: whoever finds a part there looks for the batch in
the provider's list first, because it can exist although its answer never came.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from groundjudge.batches.asking import Answers, Ask, asks_of
from groundjudge.batches.provider import Batch, Provider
from groundjudge.batches.state import PartOfRun, State
from groundjudge.errors import ModelError, ReplyError
from groundjudge.judging.panel import AnyJudge
from groundjudge.models.pacing import wait_before
from groundjudge.runs.run import Previous, Row

Providers = Mapping[str, Provider]
"""The provider of each model, by the model's name."""

UNCERTAIN = frozenset({"timeout", "connection", "server"})
"""After these errors the batch may exist all the same."""

TRIES = 5
"""How often a batch is asked for before a part is left for the next command."""

MOST_ROUNDS = 2
"""So many times a request is sent at most that gets no reply."""

LISTED_WITHIN = 10.0
"""Seconds within which a provider lists a batch that it has created."""


@dataclass
class Planned:
    """What a plan amounts to.

    Attributes:
        n_free: verdicts that need no request: errors, nothing to judge, or known already.
        n_shared: requests that equal rows share with earlier ones.
        n_requests: requests to send.
        n_parts: batches to create.
    """

    n_free: int = 0
    n_shared: int = 0
    n_requests: int = 0
    n_parts: int = 0


@dataclass
class _Part:
    """The part of a model that is being filled."""

    number: int = 0
    n_requests: int = 0
    n_bytes: int = 0


@dataclass
class _Filling:
    """Puts requests into parts, each as large as its provider allows."""

    state: State
    providers: Providers
    round_number: int
    planned: Planned
    open: dict[str, _Part] = field(default_factory=dict[str, _Part])

    def add(self, ask: Ask) -> None:
        if self.state.is_in_round(ask.custom_id, self.round_number):
            self.planned.n_shared += 1
            return
        if not isinstance(ask.why, ReplyError) and self.state.times_asked(ask.custom_id) >= MOST_ROUNDS:
            return
        model = ask.model.name
        provider = self.providers[model]
        line = provider.line(ask)
        n_bytes = len(line.encode()) + 1
        part = self.open.setdefault(model, _Part())
        is_full = part.n_requests == provider.max_requests or part.n_bytes + n_bytes > provider.max_bytes
        if not part.number or is_full:
            self.close(model)
            part = self.open[model] = _Part(self.state.add_part(model))
            self.planned.n_parts += 1
        self.state.ask(ask.custom_id, part.number, self.round_number)
        self.state.keep_line(part.number, line)
        part.n_requests += 1
        part.n_bytes += n_bytes
        self.planned.n_requests += 1

    def close(self, model: str) -> None:
        part = self.open[model]
        if part.number:
            self.state.fill_part(part.number, part.n_requests, part.n_bytes)


def plan(  # noqa: PLR0913  independent options
    state: State,
    judges: Sequence[AnyJudge],
    rows: Iterable[Row],
    providers: Providers,
    *,
    answers: Answers = lambda _: None,
    previous: Previous | None = None,
    settings: Mapping[str, object] | None = None,
) -> Planned:
    """Put every request that has no answer yet into parts, on disk as a whole or not at all.

    Args:
        state: the state of the run.
        judges: the judges; panels must ask for all votes (`with_all_votes`).
        rows: the cases.
        providers: the provider of each model.
        answers: the answers of earlier rounds.
        previous: looks up the verdicts that are there already.
        settings: kept in the state together with the plan.
    """
    round_number = 1 + int(state.settings.get("round", 0))
    filling = _Filling(state, providers, round_number, Planned())
    with state.change():
        for asks in asks_of(judges, rows, answers, previous):
            filling.planned.n_free += not asks
            for ask in asks:
                filling.add(ask)
        for model in filling.open:
            filling.close(model)
        state.set({**(settings or {}), "round": round_number})
    return filling.planned


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
    for part in state.parts():
        if part.step in {"planned", "uploaded", "creating"}:
            show(_Creation(state, providers[part.model], part, listed_within).done())


@dataclass
class _Creation:
    """The creation of the batch of a part."""

    state: State
    provider: Provider
    part: PartOfRun
    listed_within: float

    def done(self) -> PartOfRun:
        """The part with its batch, found or created."""
        batch = self._lost() if self.part.step == "creating" else None  # by a process that was killed
        with self.state.lines(self.part) as lines:
            if self.part.step == "planned":
                name = f"groundjudge-{self.state.settings['run']}-{self.part.number}.jsonl"
                self.part = self.state.move(self.part, "uploaded", upload=self.provider.upload(lines, name))
            for tries in range(TRIES):
                batch = batch or self._create(lines, tries)
        if batch is None:
            message = f"{self.part.model}: batch {self.part.number} was not created: try again later"
            raise ModelError("server", message, self.part.model)
        return self.state.move(self.part, "created", batch=batch.id)

    def _create(self, lines: Path, tries: int) -> Batch | None:
        """The batch; None if it can be asked for again.

        Raises:
            ModelError: asking again is pointless.
        """
        self.part = self.state.move(self.part, "creating")
        try:
            return self.provider.create(self.part.upload, lines, self._tag)
        except ModelError as error:
            if error.code in UNCERTAIN:
                return self._lost()
            self.part = self.state.move(self.part, "uploaded")
            wait = wait_before(tries, error.retry_after) if error.code == "rate_limited" else None
            if wait is None:
                raise
        time.sleep(wait)
        return None

    def _lost(self) -> Batch | None:
        """The batch that exists although no answer came, once the provider has had time to list it."""
        known = {part.batch for part in self.state.parts()}
        while True:
            is_last = time.time() > self.part.since + self.listed_within
            batch = self.provider.find(self._tag, self.part.since, self.part.n_requests)
            if batch and batch.id in known:  # where batches bear no tag, it can be the one before
                batch = None
            if batch or is_last:
                return batch
            time.sleep(min(1.0, self.listed_within / 5))

    @property
    def _tag(self) -> dict[str, str]:
        return {
            "groundjudge_run": str(self.state.settings["run"]),
            "groundjudge_part": str(self.part.number),
        }
