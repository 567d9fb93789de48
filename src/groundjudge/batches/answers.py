"""Answers in lines of results, kept by the names of their requests; and batch files without a provider."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from groundjudge.batches.lines import URL, read_result, request_line
from groundjudge.batches.replay import (
    Answer,
    Answers,
    DiskDict,
    custom_id,
    pending_requests,
    verdicts_in,
    with_all_votes,
)
from groundjudge.errors import CaseError
from groundjudge.judging.panel import AnyJudge
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model, identity_of
from groundjudge.rubric.rubric import Request
from groundjudge.runs.run import Row, checked
from groundjudge.verdict import Usage, Verdict


class CollectedAnswers:
    """The answers in lines of results, by `custom_id`. They are kept on disk until it is closed.

    A reply replaces an error, and nothing replaces a reply, so that lines can be added in any order.

    Attributes:
        usage: the tokens of all replies: equal rows share a request and its tokens.
        n_unreadable: how many lines are not results.
    """

    def __init__(self) -> None:
        self.usage, self.n_unreadable = Usage(), 0
        self._lines = DiskDict()

    def add(self, lines: Iterable[str], model: str = "") -> None:
        """Add lines of results; blank lines are skipped, and those that are not results are counted."""
        for line in filter(str.strip, lines):
            try:
                name, answer = read_result(line, model)
            except CaseError:
                self.n_unreadable += 1
                continue
            *_, is_reply = self._lines.get(name, (False,))
            if not is_reply:
                self._lines[name] = (line, model, isinstance(answer, Reply))
                self.usage += (isinstance(answer, Reply) and answer.usage) or Usage()

    def __call__(self, name: str) -> Answer | None:
        """The answer to the request with that `custom_id`, read anew; None if there is none."""
        found = self._lines.get(name)
        return read_result(found[0], found[1]).answer if found else None

    def close(self) -> None:
        """Remove what is on disk."""
        self._lines.close()


@dataclass
class AnsweredModel:
    """A model some of whose replies are there already; the others it is asked for.

    Attributes:
        model: the model.
        answers: the answers that are there; an error among them is asked for again.
        usage: the tokens of the replies that it was asked for.
    """

    model: Model
    answers: Answers
    usage: Usage = field(default_factory=Usage)

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    @property
    def identity(self) -> str:
        """The identity of the model."""
        return identity_of(self.model)

    async def acomplete(self, request: Request) -> Reply:
        """The reply that is there, marked as one that costs nothing now, or the model's.

        Raises:
            ModelError: as for the model.
        """
        answer = self.answers(custom_id(self.model, request))
        if isinstance(answer, Reply):
            return replace(answer, cached=True)
        reply = await self.model.acomplete(request)
        self.usage += reply.usage or Usage()
        return reply


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
    with closing(CollectedAnswers()) as answers:
        answers.add(answered)
        for new, _ in pending_requests(voting, cases, answers):
            yield from (request_line(each, url) for each in new)


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
    with closing(CollectedAnswers()) as answers:
        answers.add(results)
        yield from verdicts_in(answers, voting, cases)
