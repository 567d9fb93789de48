"""What a run costs: in tokens before it starts, and in money if prices are given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf

from groundjudge.case.case import Case
from groundjudge.case.data import is_number
from groundjudge.errors import GroundjudgeError
from groundjudge.judging.cascade import Cascade
from groundjudge.judging.judge import BaseJudge
from groundjudge.judging.panel import FIRST_VOTES, AnyJudge, Panel
from groundjudge.rubric.blank_response import blank_response_verdict
from groundjudge.rubric.model import never_waits
from groundjudge.rubric.rubric import Request, Rubric
from groundjudge.rubric.windows import BYTES_PER_TOKEN
from groundjudge.runs.run import Row, check_cases, check_judges, jobs_of
from groundjudge.verdict import Frozen, Usage, Verdict

PER_MILLION = 1_000_000

TOKENS_PER_MESSAGE = 4

BATCH_SHARE = 0.5
"""The price of a token in a batch, as a share of its usual price, at OpenAI, Azure, Anthropic and others."""


class Estimate(Frozen):
    """What one judge would request, at one call per case and vote; each re-ask costs as much again.

    A source that is longer than the judge's `window` takes one more call for each window.

    Attributes:
        judge: the judge's name.
        n_calls: the maximum number of calls that it would make.
        calls_per_row: the fewest and the most calls for a case; they differ for a panel that stops once it
            is decided, for a cascade, and if there are long sources.
        n_free: cases that get a verdict without a call: with a blank response (see `empty_response`), and all
            of the offline judge.
        n_error: rows that would get an error without a call, except for lines without a row.
        prompt_tokens: of the prompts of all these calls together, see `prompt_tokens`.
        completion_tokens: the maximum of all replies together; None if nothing limits them.
    """

    judge: str
    n_calls: int
    calls_per_row: tuple[int, int]
    n_free: int
    n_error: int
    prompt_tokens: int
    completion_tokens: int | None


@dataclass(frozen=True)
class Prices:
    """Prices per million tokens, in any currency.

    Attributes:
        prompt: the price of prompt tokens.
        completion: the price of reply tokens.
        cached: the price of prompt tokens that the provider read from its cache; None: the same as `prompt`.

    Raises:
        ValueError: a price is not a number, or below 0.
    """

    prompt: float
    completion: float
    cached: float | None = None

    def __post_init__(self) -> None:
        prices: dict[str, object] = {"prompt": self.prompt, "completion": self.completion}
        if self.cached is not None:
            prices["cached"] = self.cached
        for name, price in prices.items():
            if not is_number(price) or not 0 <= price < inf:
                message = f"the price {name} must be a number per million tokens, 0 or more, not {price!r}"
                raise ValueError(message)

    def of(self, usage: Usage) -> float:
        """Return the cost of the tokens."""
        cost = usage.prompt_tokens * self.prompt + usage.completion_tokens * self.completion
        if self.cached is not None and usage.cached_tokens is not None:
            # Some endpoints count cached tokens separately from the prompt.
            n_cached = min(usage.cached_tokens, usage.prompt_tokens)
            cost += n_cached * (self.cached - self.prompt)
        return cost / PER_MILLION

    def times(self, share: float) -> Prices:
        """Return the prices multiplied by that share, as in a batch."""
        cached = None if self.cached is None else self.cached * share
        return Prices(self.prompt * share, self.completion * share, cached)


def estimate(judges: AnyJudge | Rubric | Sequence[AnyJudge | Rubric], cases: Iterable[Row]) -> list[Estimate]:
    """Estimate what a run would request, judge by judge. Nothing is sent, and rubrics need no model.

    Raises:
        ValueError, TypeError: as for `run`, of the judges and the cases.
        Exception: any error from reading `cases`.
    """
    judges = check_judges(judges, kinds=(BaseJudge, Rubric))
    check_cases(cases)
    counts = {judge.name: Counter[str]() for judge in judges}
    ids: dict[int, int] = {}
    for number, row in enumerate(cases, 1):
        for job in jobs_of(row, number, judges, ids):
            if not isinstance(job, Verdict):
                judge, case = job
                counts_of_judge = counts[judge.name]
                counts_of_case = _count_case(judge, case)
                most_calls = max(counts_of_judge["most_calls"], counts_of_case.get("n_calls", 0))
                counts_of_judge.update(counts_of_case)
                counts_of_judge["most_calls"] = most_calls
            elif job.judge in counts:  # a line that holds no row belongs to no judge
                counts[job.judge]["n_error"] += 1
    return [_estimate_of(judge, counts[judge.name]) for judge in judges]


def prompt_tokens(request: Request) -> int:
    """Estimate the number of tokens in a request's prompt: one per 4 bytes of UTF-8, and 4 per message.

    Tokenisers differ. English prose has 10% to 20% fewer; text in other alphabets, numbers and markup may
    have more.
    """
    if request.payload is not None:
        return request.payload.size // BYTES_PER_TOKEN
    n_bytes = 0
    for message in request.messages:
        n_bytes += len(message["content"].encode())
    return n_bytes // BYTES_PER_TOKEN + TOKENS_PER_MESSAGE * len(request.messages)


def _count_case(judge: AnyJudge | Rubric, case: Case) -> dict[str, int]:
    """Count what a case adds to the counts of a judge: each rubric asks once, and once for each search."""
    requests: list[Request] = []
    try:
        for rubric, is_called in _votes_of(judge):
            if blank_response_verdict(rubric, case):
                continue
            request = rubric.ask(case)  # also without a call: an input may be missing
            if not is_called:
                continue
            source = request.long_source
            if source is not None:
                for window in source.windows[1:]:
                    requests.append(rubric.searcher.request(request.case, window))
                # What will be found is unknown: about as much as one window shows.
                requests.append(rubric.request(request.case, source.windows[0]))
            requests.append(request)
    except GroundjudgeError:  # such as a missing input or, by default, response, which every vote needs
        return {"n_error": 1}
    n_tokens = sum(prompt_tokens(request) for request in requests)
    return {"n_calls": len(requests), "n_free": int(not requests), "prompt_tokens": n_tokens}


def _votes_of(judge: AnyJudge | Rubric) -> list[tuple[Rubric, bool]]:
    """Return the rubric of each vote, and whether it calls a model, which the offline judge does not."""
    if isinstance(judge, Rubric):
        return [(judge, True)]
    votes: list[tuple[Rubric, bool]] = []
    for rubric, model in zip(judge.rubrics, judge.models, strict=True):
        votes.append((rubric, not never_waits(model)))
    return votes


def _estimate_of(judge: AnyJudge | Rubric, counts: Counter[str]) -> Estimate:
    """Make a judge's estimate from what `_count_case` counted in all cases, and the most calls for one."""
    votes = _votes_of(judge)
    limits: list[int | None] = []  # for each call, how many tokens its reply may have
    for rubric, is_called in votes:
        if not is_called:
            continue
        if not rubric.way.writes_text:
            limits.append(0)
            continue
        parameters = rubric.prompt.parameters
        limits.append(parameters.get("max_completion_tokens", parameters.get("max_tokens")))
    most_calls = len(limits)
    n_first_votes = len(votes)
    if isinstance(judge, Panel) and judge.stop == "decided":  # the first votes can agree
        n_first_votes = FIRST_VOTES
    if isinstance(judge, Cascade):  # the first judge can be sure
        n_first_votes = 1
    fewest_calls = sum(is_called for _, is_called in votes[:n_first_votes])
    set_limits = [limit for limit in limits if limit is not None]
    completion_tokens = None
    if len(set_limits) == most_calls:  # a vote without a limit can answer at any length
        # The calls are not counted by vote: each could be the one with the longest reply.
        completion_tokens = max(set_limits, default=0) * counts["n_calls"]
    return Estimate(
        judge=judge.name,
        n_calls=counts["n_calls"],
        calls_per_row=(fewest_calls, max(most_calls, counts["most_calls"])),
        n_free=counts["n_free"],
        n_error=counts["n_error"],
        prompt_tokens=counts["prompt_tokens"],
        completion_tokens=completion_tokens,
    )
