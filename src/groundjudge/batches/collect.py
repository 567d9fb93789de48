"""How far the batches of a run are, and what they answered."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, suppress

from groundjudge.batches.answers import CollectedAnswers
from groundjudge.batches.provider import Provider
from groundjudge.batches.state import PartOfRun, State, StateError
from groundjudge.batches.submit import Providers
from groundjudge.errors import CaseError
from groundjudge.runs.replaced import replaced


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
                name = provider.read(line).custom_id
                if name not in names:
                    message = (
                        f"batch {part.batch.id} holds results of other requests, such as {name}: "
                        f"it is not batch {part.number} of {state.folder}"
                    )
                    raise StateError("other_run", message, str(state.folder))
    return state.change(part, step="collected")


def answers_of(state: State, providers: Providers) -> CollectedAnswers:
    """The answers of the parts that are collected; the caller closes them."""
    answers = CollectedAnswers(lambda line, model: providers[model].read(line))
    for part in state.parts:
        if part.step == "collected":
            with state.results(part.number).open(encoding="utf-8", newline="\n") as lines:
                answers.add(lines, part.model)
    return answers
