"""From cases to batches at a provider and back, in steps that survive a kill: nothing is asked for twice.

A part is "planned" until its batch is created. Before the provider is asked to create it, "creating" is
written down: whoever finds a part there looks for the batch in the provider's list first, because it can
exist although its answer never came. A part is "collected" once all results that its batch announces are
kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from groundjudge.batches.lines import CollectedAnswers, read_result, unanswered_line, without_keys
from groundjudge.batches.provider import Batch, Provider
from groundjudge.batches.replay import Answers, DiskDict, PendingRequest, pending_requests
from groundjudge.batches.state import PartOfRun, State
from groundjudge.errors import CaseError, ModelError
from groundjudge.files import name_in_errors, private_opener, replace_file, sync
from groundjudge.judging.panel import AnyJudge
from groundjudge.models.answer import message_in, model_error
from groundjudge.models.pacing import TRANSIENT
from groundjudge.runs.cost import prompt_tokens
from groundjudge.runs.run import Previous, Row

Providers = Mapping[str, Provider]
"""The provider of each model, by the model's name."""

TRIES = 5
"""How often a batch is asked for, or a download brings nothing more, before the next command has to try."""

MOST_ATTEMPTS = 3
"""So many times a request is sent that gets no reply. A batch that was refused as a whole sent none."""

LISTED_WITHIN = 10.0
"""Seconds within which a provider lists a batch that it has created."""

RESULTS_WITHIN = 3600.0
"""Seconds for which results that a batch announces, and that are not there, are waited for after its end."""

AS_IT_IS: Any = {"encoding": "utf-8", "errors": "surrogateescape"}
"""How lines become texts and bytes again without a change."""

UNKNOWN = "not_found"
"""The status of a batch that its provider does not know, and the code of the error that says so."""


@dataclass
class Plan:
    """The requests that are to be sent, in parts as large as their provider and the user allow.

    Attributes:
        max_requests: the most requests in a batch; None: as many as the provider allows.
        max_tokens_per_batch: the most tokens in the prompts of a batch, estimated; None: any number.
        n_free: verdicts that need no request: errors, nothing to judge, or known already.
        n_shared: requests that equal rows share with earlier ones.
        n_large: requests that alone have more tokens than `max_tokens_per_batch`.
        parts: the batches to create, by number.
    """

    max_requests: int | None = None
    max_tokens_per_batch: int | None = None
    n_free: int = 0
    n_shared: int = 0
    n_large: int = 0
    parts: dict[int, PartOfRun] = field(default_factory=dict[int, PartOfRun])

    @property
    def n_requests(self) -> int:
        """How many requests are to be sent."""
        return sum(part.n_requests for part in self.parts.values())

    def add(self, pending: PendingRequest, state: State, provider: Provider) -> None:
        """Write a request into the last part of its model, or into a new one if that has no room."""
        line, n_tokens = f"{provider.line(pending)}\n".encode(), prompt_tokens(pending.request)
        self.n_large += n_tokens > (self.max_tokens_per_batch or inf)
        model = pending.model.name
        part = next((each for each in reversed(self.parts.values()) if each.model == model), None)
        if (
            part is None
            or part.n_requests == min(provider.max_requests, self.max_requests or inf)
            or part.n_tokens + n_tokens > (self.max_tokens_per_batch or inf)
            or state.requests(part.number).stat().st_size + len(line) > provider.max_bytes
        ):
            number = len(state.parts) + len(self.parts) + 1
            part = PartOfRun(number=number, model=model)
            state.requests(number).unlink(missing_ok=True)  # it can hold what a killed command planned
        path = state.requests(part.number)
        with name_in_errors(path), open(path, "ab", opener=private_opener) as file:
            file.write(line)
        more = {"n_requests": part.n_requests + 1, "n_tokens": part.n_tokens + n_tokens}
        self.parts[part.number] = part.model_copy(update=more)


def plan(  # noqa: PLR0913  independent options
    state: State,
    judges: Sequence[AnyJudge],
    rows: Iterable[Row],
    providers: Providers,
    *,
    answers: Answers = lambda _: None,
    previous: Previous | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Plan:
    """Put every request that has no answer yet into parts, on disk as a whole or not at all.

    What was sent MOST_ATTEMPTS times is not planned again.

    Args:
        state: the state of the run.
        judges: the judges; of panels all votes are asked for.
        rows: the cases.
        providers: the provider of each model.
        answers: the answers that are there.
        previous: looks up the verdicts that are there already.
        settings: kept in the state together with the plan; None: those that it has. Under "limits" are
            the user's, by the names that they have in a Plan.
    """
    planned = Plan(**(settings or state.settings).get("limits", {}))
    with closing(_attempts(state)) as attempts:
        for new, n_asked in pending_requests(judges, rows, answers, previous):
            planned.n_free += not n_asked
            planned.n_shared += n_asked - len(new)
            for request in new:
                if attempts.get(request.custom_id, 0) < MOST_ATTEMPTS:
                    planned.add(request, state, providers[request.model.name])
    for number in planned.parts:
        sync(state.requests(number))
    state.write(settings or state.settings, (*state.parts, *planned.parts.values()))
    return planned


def _attempts(state: State) -> DiskDict:
    """How often each request was sent; the caller closes it."""
    found = DiskDict()
    for part in state.parts:
        if not part.batch.is_refused:
            for name in state.custom_ids(part):
                found[name] = found.get(name, 0) + 1
    return found


def submit(
    state: State,
    providers: Providers,
    *,
    listed_within: float = LISTED_WITHIN,
    show: Callable[[PartOfRun], object] = lambda _: None,
) -> None:
    """Create the batch of every part that has none. It can be killed at any point, and called again.

    With limits of the user, and where a batch was refused, the next batch of a model waits for the end of the
    one before.

    Args:
        state: the state of the run, planned.
        providers: the provider of each model.
        listed_within: seconds within which a provider lists a batch that it has created.
        show: called with each part whose batch has been created.

    Raises:
        ModelError: the provider refuses, or does not answer; what was done stays done.
    """
    for part in state.parts:
        if part.step in {"planned", "creating"} and not _must_wait(state, part):
            batch = _created(state, part, providers[part.model], listed_within)
            show(state.change(part, step="created", batch=batch))


def _must_wait(state: State, part: PartOfRun) -> bool:
    """Whether a part is sent only once another one has ended."""
    others = [each for each in state.parts if each.model == part.model]
    one_by_one = state.settings.get("limits") or any(each.batch.is_refused for each in others)
    return bool(one_by_one) and any(each.step == "created" for each in others)


def _tag(state: State, part: PartOfRun) -> Mapping[str, str]:
    """What a batch is known by at its provider."""
    return {"groundjudge_run": str(state.settings["run"]), "groundjudge_part": str(part.number)}


def _created(state: State, part: PartOfRun, provider: Provider, listed_within: float) -> Batch:
    """The batch of a part, found or created.

    Raises:
        ModelError: asking again is pointless, or did not help.
    """
    tag, why = _tag(state, part), ""
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
            why = message_in(error.__cause__ or error)
    message = f"{part.model}: batch {part.number} was not created ({why}): try again later"
    raise model_error("server", message, part.model)


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
    *,
    listed_within: float = LISTED_WITHIN,
) -> bool:
    """Ask how far each batch is, and keep the results of those that have ended.

    Args:
        state: the state of the run.
        providers: the provider of each model.
        show: called with each part that had not been collected.
        listed_within: as for `submit`.

    Returns:
        Whether nothing more is waited for.

    Raises:
        ModelError: the provider does not answer, or downloads fail; the other batches are collected then.
    """
    fault: ModelError | None = None
    for part in state.parts:
        if part.step in {"created", "incomplete", "lost"}:
            provider = providers[part.model]
            batch = fetch_batch(part, provider, listed_within)
            step = part.step if batch.is_ended else "created"
            noted = state.change(part, batch=batch, step=step)
            try:
                show(_collected(state, noted, provider) if batch.is_ended else noted)
            except ModelError as error:
                fault = error
    if fault:
        raise fault
    return all(part.is_settled for part in state.parts)


def fetch_batch(part: PartOfRun, provider: Provider, listed_within: float = LISTED_WITHIN) -> Batch:
    """The batch of a part as it is now. One that the provider does not know has ended, unless it is new.

    Raises:
        ModelError: the provider does not answer.
    """
    try:
        return provider.batch(part.batch.id)
    except ModelError as error:
        if error.code != UNKNOWN:
            raise
        if part.step == "created" and time.time() < part.since + listed_within:
            return part.batch
        return replace(
            part.batch, status=UNKNOWN, is_ended=True, message=message_in(error.__cause__ or error)
        )


def _collected(state: State, part: PartOfRun, provider: Provider) -> PartOfRun:
    """A part whose batch has ended, once the results that are there are kept."""
    batch = part.batch
    if batch.status == UNKNOWN:  # it may run all the same: what was uploaded for it stays
        return state.change(part, step="lost")
    n_kept = _keep_results(state, part, provider)
    if n_kept >= batch.n_done and (n_kept or batch.status != "completed"):
        provider.delete_uploads(batch, _tag(state, part))
        return state.change(part, step="collected")
    waited = time.time() - part.since if part.step == "incomplete" else 0.0
    is_waiting = part.step != "lost" and waited < RESULTS_WITHIN
    came = f"{n_kept:,} of {batch.n_done or part.n_requests:,} results are there"
    step = "incomplete" if is_waiting else "lost"
    return state.change(part, step=step, batch=replace(batch, message=came))


def _keep_results(state: State, part: PartOfRun, provider: Provider) -> int:
    """Keep the results that are there, as a whole or not at all; returns how many requests have one.

    Raises:
        ModelError: a download fails.
    """
    path = state.results(part.number)
    clean = without_keys(provider.secrets)
    with TemporaryFile(dir=state.folder) as received, replace_file(path) as new:
        for file_id in part.batch.files:
            _append(provider, file_id, received)
        received.seek(0)
        new.writelines(clean(line.decode(**AS_IT_IS)).encode(**AS_IT_IS) for line in received)
        new.flush()
        if _n_results(path) > _n_results(Path(new.name)):
            copyfile(path, new.name)  # what came once stays
    return _n_results(path)


def _append(provider: Provider, file_id: str, file: BinaryIO) -> None:
    """Add a file of the provider's to a file. A download that is cut goes on where it ended.

    Raises:
        ModelError: TRIES downloads in a row brought nothing more.
    """
    n_failed, begin = 0, file.tell()
    while True:
        start = file.tell() - begin
        try:
            with closing(provider.content(file_id, start)) as chunks:
                file.writelines(chunks)
        except ModelError as error:
            if error.code == UNKNOWN:  # it is announced before it is there
                return
            n_failed = n_failed + 1 if file.tell() - begin == start else 0
            if error.code not in TRANSIENT or n_failed == TRIES:
                raise
        else:
            file.write(b"\n")  # the last line can lack it; blank lines are skipped
            return


def _n_results(path: Path) -> int:
    """How many requests have a result in a file."""
    names = set[str]()
    for line in _lines(path):
        with suppress(CaseError):
            names.add(read_result(line)[0])
    return len(names)


def _lines(path: Path) -> Iterator[str]:
    """The lines of a file; none if it is not there."""
    if path.exists():
        with path.open(encoding="utf-8", errors="replace", newline="\n") as lines:
            yield from lines


def answers_of(state: State) -> CollectedAnswers:
    """The answers of the parts whose batches have ended; the caller closes them."""
    answers = CollectedAnswers()
    for part in state.parts:
        if part.is_settled and part.batch.message:  # a result replaces it
            sent = part.batch.id and f"batch {part.batch.id}: {part.batch.status}: "
            why, code = f"{sent}{part.batch.message}", "unanswered" if sent else "batch_cancelled"
            answers.add((unanswered_line(name, why, code) for name in state.custom_ids(part)), part.model)
        if part.batch.is_ended:
            answers.add(_lines(state.results(part.number)), part.model)
    return answers
