"""From cases to batches at a provider and back, in steps that survive a kill: nothing is requested twice.

A part is "planned" until its batch is created. Before the provider is asked to create it, "creating" is
recorded: a command that finds such a part first looks for the batch in the provider's list, because the
batch may exist although no answer arrived. A part is "collected" once all results that its batch announces
are stored.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from groundjudge.batches.first import FirstRequests
from groundjudge.batches.lines import CollectedAnswers, read_result, unanswered_line, without_keys
from groundjudge.batches.provider import Batch, Provider
from groundjudge.batches.replay import Answers, DiskDict, PendingRequest, pending_requests
from groundjudge.batches.state import PartOfRun, State
from groundjudge.batches.submission import Submission
from groundjudge.errors import CaseError, ModelError
from groundjudge.files import name_in_errors, private_opener, replace_file, sync
from groundjudge.models.failure import message_in, model_error
from groundjudge.models.pacing import TRANSIENT
from groundjudge.runs.cost import prompt_tokens
from groundjudge.runs.run import Previous

TRIES = 5
"""How often to try creating a batch, or a download without progress, until the next command has to try."""

MAX_ATTEMPTS = 3
"""How often to send a request that gets no reply. A batch that was refused as a whole does not count."""

LISTED_WITHIN = 10.0
"""How many seconds a provider may take to list a new batch."""

RESULTS_WITHIN = 3600.0
"""How many seconds after a batch's end to wait for results that it announced but that are missing."""

AS_IT_IS: Any = {"encoding": "utf-8", "errors": "surrogateescape"}
"""How lines are decoded and encoded again without a change."""

UNKNOWN = "not_found"
"""The status of a batch unknown to its provider, and the code of that error."""


@dataclass
class Plan:
    """The requests to send, in parts as large as their provider and the user allow.

    Attributes:
        max_requests: the maximum number of requests in a batch; None: as many as the provider allows.
        max_tokens_per_batch: the maximum number of prompt tokens in a batch, estimated; None: any number.
        n_free: verdicts that need no request: errors, nothing to judge, or already known.
        n_shared: requests that equal rows share with earlier ones.
        n_online: requests that were sent online; see `FirstRequests`.
        parts: the batches to create, by number.
    """

    max_requests: int | None = None
    max_tokens_per_batch: int | None = None
    n_free: int = 0
    n_shared: int = 0
    n_online: int = 0
    parts: dict[int, PartOfRun] = field(default_factory=dict[int, PartOfRun])

    @property
    def n_requests(self) -> int:
        """How many requests to send."""
        return sum(part.n_requests for part in self.parts.values())

    def add(self, pending: PendingRequest, state: State, provider: Provider) -> None:
        """Write a request into the last part of its model, or into a new one if that part is full."""
        model = pending.model.name
        line = f"{provider.line(pending)}\n".encode()
        n_tokens = prompt_tokens(pending.request)
        part = self._last_part(model)
        if part is None or not self._has_room(part, len(line), n_tokens, state, provider):
            number = len(state.parts) + len(self.parts) + 1
            part = PartOfRun(number=number, model=model)
            state.requests(number).unlink(missing_ok=True)  # it may contain what a killed command planned
        path = state.requests(part.number)
        with name_in_errors(path), open(path, "ab", opener=private_opener) as file:
            file.write(line)
        changes = {"n_requests": part.n_requests + 1, "n_tokens": part.n_tokens + n_tokens}
        self.parts[part.number] = part.model_copy(update=changes)

    def _last_part(self, model: str) -> PartOfRun | None:
        for part in reversed(self.parts.values()):
            if part.model == model:
                return part
        return None

    def _has_room(
        self, part: PartOfRun, line_size: int, n_tokens: int, state: State, provider: Provider
    ) -> bool:
        if part.n_requests in {provider.max_requests, self.max_requests}:
            return False
        if self.max_tokens_per_batch and part.n_tokens + n_tokens > self.max_tokens_per_batch:
            return False
        return state.requests(part.number).stat().st_size + line_size <= provider.max_bytes


def plan_batches(
    run: Submission, answers: Answers, previous: Previous | None, first_requests: FirstRequests | None
) -> Plan:
    """Put every unanswered request into parts, which are stored as a whole or not at all.

    A request that was sent MAX_ATTEMPTS times is not planned again. One that the endpoint rejects online goes
    into a batch, where it may be accepted.

    Args:
        run: the run; its settings are stored together with the plan.
        answers: the available answers.
        previous: looks up existing verdicts.
        first_requests: the requests sent online; None: send none.

    Raises:
        ModelError: the endpoint did not answer online; nothing is planned then.
    """
    state = run.state
    new_plan = Plan(**run.settings["limits"])
    with closing(_count_attempts(state)) as attempts:
        for new_requests, n_useful in pending_requests(run.judges, run.rows, answers, previous):
            if n_useful == 0:
                new_plan.n_free += 1
            new_plan.n_shared += n_useful - len(new_requests)
            for request in new_requests:
                # Attempts are counted per request, regardless of the others in its batch.
                if attempts.get(request.custom_id, 0) >= MAX_ATTEMPTS:
                    continue
                if first_requests is None or not first_requests.answer(request):
                    new_plan.add(request, state, run.providers[request.model.name])
    if first_requests is not None:
        new_plan.n_online = first_requests.n_replies
        for request in first_requests.rejected:
            new_plan.add(request, state, run.providers[request.model.name])
    # The state may name a file of requests only once it is on disk.
    for number in new_plan.parts:
        sync(state.requests(number))
    state.write(run.settings, [*state.parts, *new_plan.parts.values()])
    return new_plan


def _count_attempts(state: State) -> DiskDict:
    """Count how often each request was sent; the caller closes the counts."""
    attempts = DiskDict()
    for part in state.parts:
        if part.batch.is_refused:  # as a whole: none of its requests was an attempt
            continue
        for name in state.custom_ids(part):
            attempts[name] = attempts.get(name, 0) + 1
    return attempts


def create_batches(
    run: Submission,
    listed_within: float = LISTED_WITHIN,
    show: Callable[[PartOfRun], object] = lambda _: None,
) -> None:
    """Create a batch for every part that has none. It can be killed at any point, and called again.

    If the user set limits, or a batch was refused, each batch of a model waits for the one before it to end.

    Args:
        run: the run, planned.
        listed_within: how many seconds a provider may take to list a new batch.
        show: called with each part whose batch has been created.

    Raises:
        ModelError: the provider refuses, or does not answer; finished steps are kept.
    """
    for part in run.state.parts:
        if part.step in {"planned", "creating"} and not _must_wait(run.state, part):
            batch = _find_or_create(run.state, part, run.providers[part.model], listed_within)
            show(run.state.change(part, step="created", batch=batch))


def _must_wait(state: State, part: PartOfRun) -> bool:
    """Whether a part must wait for another one to end."""
    parts_of_model = [other for other in state.parts if other.model == part.model]
    # A provider that refused a batch because its queue was full accepts it once another one has ended.
    was_refused = any(other.batch.is_refused for other in parts_of_model)
    if not was_refused and not state.settings.get("limits"):
        return False
    return any(other.step == "created" for other in parts_of_model)


def _tag(state: State, part: PartOfRun) -> Mapping[str, str]:
    """Return the tag by which the provider knows a batch."""
    return {"groundjudge_run": str(state.settings["run"]), "groundjudge_part": str(part.number)}


def _find_or_create(state: State, part: PartOfRun, provider: Provider, listed_within: float) -> Batch:
    """Return the batch of a part, found or created.

    Raises:
        ModelError: retrying is pointless, or did not help.
    """
    tag = _tag(state, part)
    reason = ""
    for _ in range(TRIES):
        # A command that was killed or got no answer asked for it: it may exist.
        if part.step == "creating":
            batch = _find_batch(state, part, provider, tag, listed_within)
            if batch is not None:
                return batch
        part = state.change(part, step="creating")
        try:
            return provider.create(state.requests(part.number), tag)
        except ModelError as error:
            if error.code not in TRANSIENT:
                state.change(part, step="planned")
                raise
            reason = message_in(error.__cause__ or error)
    message = f"{part.model}: batch {part.number} was not created ({reason}): try again later"
    raise model_error("server", message, part.model)


def _find_batch(
    state: State, part: PartOfRun, provider: Provider, tag: Mapping[str, str], listed_within: float
) -> Batch | None:
    """Find a batch that exists although no answer came, once the provider has had time to list it."""
    known_ids = {other.batch.id for other in state.parts}
    end = time.monotonic() + listed_within
    while True:
        is_last_try = time.monotonic() > end
        batch = provider.find(tag, part.since, part.n_requests)
        if batch and batch.id not in known_ids:  # without tags, it may be the previous batch
            return batch
        if is_last_try:
            return None
        time.sleep(min(1.0, listed_within / 5))


def download(
    run: Submission,
    listed_within: float = LISTED_WITHIN,
    show: Callable[[PartOfRun], object] = lambda _: None,
) -> bool:
    """Ask for the progress of each batch, and store the results of those that have ended.

    Args:
        run: the run.
        listed_within: as for `submit`.
        show: called with each part that had not been collected.

    Returns:
        Whether no more results are awaited.

    Raises:
        ModelError: the provider does not answer, or a download fails; other batches are still collected.
    """
    state = run.state
    last_error: ModelError | None = None
    for part in state.parts:
        if part.step not in {"created", "incomplete", "lost"}:
            continue
        provider = run.providers[part.model]
        batch = fetch_batch(part, provider, listed_within)
        step = part.step if batch.is_ended else "created"
        part = state.change(part, batch=batch, step=step)  # noqa: PLW2901  the same part
        try:
            if batch.is_ended:
                part = _collect(state, part, provider)  # noqa: PLW2901  the same part
            show(part)
        except ModelError as error:
            last_error = error  # a download that keeps failing must not block the others
    if last_error:
        raise last_error
    return all(part.is_settled for part in state.parts)


def fetch_batch(part: PartOfRun, provider: Provider, listed_within: float = LISTED_WITHIN) -> Batch:
    """Ask for the current state of a part's batch. One that is unknown to the provider and not new has ended.

    Raises:
        ModelError: the provider does not answer.
    """
    try:
        return provider.batch(part.batch.id)
    except ModelError as error:
        if error.code != UNKNOWN:
            raise
        # A provider may list a batch only some time after creating it.
        if part.step == "created" and time.time() < part.since + listed_within:
            return part.batch
        message = message_in(error.__cause__ or error)
        return replace(part.batch, status=UNKNOWN, is_ended=True, message=message)


def _collect(state: State, part: PartOfRun, provider: Provider) -> PartOfRun:
    """Store the available results of a part whose batch has ended, and return the changed part.

    Raises:
        ModelError: a download fails.
    """
    batch = part.batch
    if batch.status == UNKNOWN:  # it may be running all the same: its upload stays
        return state.change(part, step="lost")
    n_results = _keep_results(state, part, provider)
    has_all = n_results >= batch.n_done
    # A batch may lack counts (OpenAI's `request_counts` is optional): then 0 of 0 results are not all.
    if has_all and (n_results or batch.status != "completed"):
        provider.delete_uploads(batch, _tag(state, part))
        return state.change(part, step="collected")
    n_expected = batch.n_done or part.n_requests
    message = f"{n_results:,} of {n_expected:,} results are available"
    step = "incomplete"
    if part.step == "lost":
        step = "lost"
    if part.step == "incomplete" and time.time() - part.since >= RESULTS_WITHIN:
        step = "lost"
    return state.change(part, step=step, batch=replace(batch, message=message))


def _keep_results(state: State, part: PartOfRun, provider: Provider) -> int:
    """Store the available results, as a whole or not at all, and return how many requests have one.

    Raises:
        ModelError: a download fails.
    """
    path = state.results(part.number)
    clean = without_keys(provider.secrets)
    with TemporaryFile(dir=state.folder) as download_file, replace_file(path) as new_file:
        for file_id in part.batch.files:
            _append(provider, file_id, download_file)
        download_file.seek(0)
        for line in download_file:
            text = clean(line.decode(**AS_IT_IS))
            new_file.write(text.encode(**AS_IT_IS))
        new_file.flush()
        if _n_results(path) > _n_results(Path(new_file.name)):
            copyfile(path, new_file.name)  # results that arrived before stay
    return _n_results(path)


def _append(provider: Provider, file_id: str, file: BinaryIO) -> None:
    """Append a provider's file to a file. An interrupted download continues where it stopped.

    Raises:
        ModelError: TRIES downloads in a row made no progress.
    """
    begin = file.tell()
    n_failed = 0
    while True:
        start = file.tell() - begin
        try:
            with closing(provider.content(file_id, start)) as chunks:
                file.writelines(chunks)
        except ModelError as error:
            if error.code == UNKNOWN:  # it is announced before it exists
                return
            has_more = file.tell() - begin > start
            n_failed += 1
            if has_more:
                n_failed = 0
            if error.code not in TRANSIENT or n_failed == TRIES:
                raise
        else:
            file.write(b"\n")  # the last line may lack it; blank lines are skipped
            return


def _n_results(path: Path) -> int:
    """Count the requests that have a result in a file."""
    names = set[str]()
    for line in _lines(path):
        with suppress(CaseError):
            names.add(read_result(line)[0])
    return len(names)


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file; none if it doesn't exist."""
    if path.exists():
        with path.open(encoding="utf-8", errors="replace", newline="\n") as lines:
            yield from lines


def answers_of(state: State) -> CollectedAnswers:
    """Return the answers of the parts whose batches have ended; the caller closes them."""
    answers = CollectedAnswers()
    answers.add(_lines(state.first_replies), are_online=True)
    for part in state.parts:
        batch = part.batch
        if part.is_settled and batch.message:  # for all its requests; `add` keeps a result over an error
            if batch.id:
                code = "unanswered"
                reason = f"batch {batch.id}: {batch.status}: {batch.message}"
            else:  # it was cancelled before it was sent
                code = "batch_cancelled"
                reason = batch.message
            names = state.custom_ids(part)
            answers.add((unanswered_line(name, reason, code) for name in names), part.model)
        if batch.is_ended:
            answers.add(_lines(state.results(part.number)), part.model)
    return answers
