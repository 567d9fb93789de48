"""From the results of batches to verdicts."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass

from groundjudge.batches.asking import Answers, Ask, settle
from groundjudge.batches.lines import Result
from groundjudge.batches.provider import Batch, Provider
from groundjudge.batches.state import PartOfRun, State, StateError
from groundjudge.batches.submit import Providers
from groundjudge.errors import CaseError
from groundjudge.judging.panel import AnyJudge
from groundjudge.replies.reply import Reply
from groundjudge.runs.run import Previous, Row, jobs_of
from groundjudge.verdict import Verdict


@dataclass
class Collected:
    """What reading verdicts out of answers amounts to.

    Attributes:
        n_waiting: verdicts whose batches have not ended, or that are to be asked for again.
        n_unanswered: requests for which the results hold no line.
    """

    n_waiting: int = 0
    n_unanswered: int = 0


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
    for part in state.parts():
        if part.step != "created":
            continue
        batch = providers[part.model].batch(part.batch)
        note(state, part, batch)
        if batch.is_ended:
            keep_results(state, part, providers[part.model])
        show(state.part(part.number))
    return all(part.step == "collected" for part in state.parts())


def note(state: State, part: PartOfRun, batch: Batch) -> None:
    """Keep how far a batch is, and why it was refused if it was."""
    state.note(part, f"{batch.status} ({batch.message})" if batch.message else batch.status, batch.n_done)


def keep_results(state: State, part: PartOfRun, provider: Provider) -> None:
    """Keep the results of a batch that has ended, as a whole or not at all.

    Raises:
        StateError: `other_run`: a result belongs to no request of this part.
    """
    with state.change():
        for line in provider.results(part.batch):
            result = _readable(line, provider.read)
            if result is None:
                continue
            asked = state.part_of(result.custom_id)
            if asked is None or asked.number != part.number:
                message = (
                    f"batch {part.batch} holds results of other requests, such as {result.custom_id}: "
                    f"it is not batch {part.number} of {state.path}"
                )
                raise StateError("other_run", message, state.path)
            is_reply = isinstance(result.answer, Reply)
            state.answer(result.custom_id, part.model, line, is_reply=is_reply)
        state.move(part, "collected")


def _readable(line: str, read: Callable[[str], Result]) -> Result | None:
    """A result; None for a line that is none, whose request counts as unanswered then."""
    try:
        return read(line)
    except CaseError:
        return None


def verdicts_in(  # noqa: PLR0913  independent options
    answers: Answers,
    judges: Sequence[AnyJudge],
    rows: Iterable[Row],
    *,
    collected: Collected,
    previous: Previous | None = None,
    is_waiting: Callable[[Ask], bool] = lambda _: False,
) -> Generator[Verdict, None, None]:
    """The verdicts that the answers give, in the order of the rows. No model is called.

    A request without an answer gives the error `unanswered`, and a reply that cannot be read its own.

    Args:
        answers: the answers.
        judges: the judges; panels must ask for all votes (`with_all_votes`).
        rows: the cases.
        collected: counts what is missing.
        previous: looks up the verdicts that are there already; they are yielded too.
        is_waiting: whether a request will be answered later, so that there is no verdict yet.
    """
    for number, row in enumerate(rows, 1):
        for job in jobs_of(row, number, judges, previous):
            if isinstance(job, Verdict):
                yield job
                continue
            settled = settle(*job, answers)
            if any(map(is_waiting, settled.asks)):
                collected.n_waiting += 1
                continue
            collected.n_unanswered += sum(ask.why is None for ask in settled.asks)
            yield settled.verdict


def waits_in(state: State) -> Callable[[Ask], bool]:
    """Whether the batch of a request has not been collected."""

    def is_waiting(ask: Ask) -> bool:
        part = state.part_of(ask.custom_id)
        return part is not None and part.step != "collected"

    return is_waiting
