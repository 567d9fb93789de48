"""Batch files without a provider: cases to lines of requests, lines of results to verdicts."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import closing

from groundjudge.batches.answers import answers_in, keep_lines, read_line
from groundjudge.batches.asking import asks_of, with_all_votes
from groundjudge.batches.collect import Collected, verdicts_in
from groundjudge.batches.lines import URL, request_line
from groundjudge.batches.state import State
from groundjudge.judging.panel import AnyJudge
from groundjudge.runs.run import Row, checked
from groundjudge.verdict import Verdict


def request_lines(
    judges: AnyJudge | Sequence[AnyJudge],
    cases: Iterable[Row],
    *,
    answered: Iterable[str] = (),
    url: str = URL,
) -> Generator[str, None, None]:
    """The requests of a run as lines of a batch file in OpenAI's form, each request once.

    Memory does not grow with the cases: what was written is remembered in a temporary file.

    Args:
        judges: one or more judges; of a panel all votes are asked for.
        cases: the cases. Rows that need no model, such as those without a response, give no line.
        answered: lines of results that are there already: what they answer is not asked again, and what
            failed or cannot be read is.
        url: the `url` of every line.

    Raises:
        TypeError, ValueError: the judges are none, names, or two of one name.
    """
    with closing(State("")) as state:
        keep_lines(state, answered)
        for asks in asks_of(_listed(judges), cases, answers_in(state, read_line)):
            for ask in asks:
                if not state.is_in_round(ask.custom_id, 1):
                    state.ask(ask.custom_id, 0, 1)
                    yield request_line(ask, url)


def verdicts_of(
    results: Iterable[str], judges: AnyJudge | Sequence[AnyJudge], cases: Iterable[Row]
) -> Generator[Verdict, None, None]:
    """The verdicts that lines of results give, one for each case and judge, in the order of the cases.

    Args:
        results: lines in OpenAI's form, in any order; lines that are no results are skipped.
        judges: the judges of `request_lines`.
        cases: the cases of `request_lines`.

    Yields:
        Verdicts. A request without a result gives the error `unanswered`.

    Raises:
        TypeError, ValueError: as for `request_lines`.
    """
    with closing(State("")) as state:
        keep_lines(state, results)
        answers = answers_in(state, read_line)
        yield from verdicts_in(answers, _listed(judges), cases, collected=Collected())


def _listed(judges: AnyJudge | Sequence[AnyJudge]) -> list[AnyJudge]:
    return [*map(with_all_votes, checked(judges, 1))]
