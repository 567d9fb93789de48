"""Batch files without a provider: cases to lines of requests, lines of results to verdicts."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import closing

from groundjudge.batches.answers import CollectedAnswers, verdicts_in
from groundjudge.batches.disk_dict import DiskDict
from groundjudge.batches.lines import URL, read_result, request_line
from groundjudge.batches.replay import pending_requests, with_all_votes
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
        TypeError, ValueError: there is no judge, one is a name, or two have one name.
    """
    voting = [*map(with_all_votes, checked(judges, 1))]
    with closing(CollectedAnswers(read_result)) as answers, closing(DiskDict()) as written:
        answers.add(answered)
        for pending in pending_requests(voting, cases, answers):
            for each in pending:
                if not written.get(each.custom_id):
                    written[each.custom_id] = True
                    yield request_line(each, url)


def verdicts_of(
    results: Iterable[str], judges: AnyJudge | Sequence[AnyJudge], cases: Iterable[Row]
) -> Generator[Verdict, None, None]:
    """The verdicts that lines of results give, one for each case and judge, in the order of the cases.

    Args:
        results: lines in OpenAI's form, in any order; lines that are not results are skipped.
        judges: the judges of `request_lines`.
        cases: the cases of `request_lines`.

    Yields:
        Verdicts. A request without a result gives the error `unanswered`.

    Raises:
        TypeError, ValueError: as for `request_lines`.
    """
    voting = [*map(with_all_votes, checked(judges, 1))]
    with closing(CollectedAnswers(read_result)) as answers:
        answers.add(results)
        yield from verdicts_in(answers, voting, cases)
