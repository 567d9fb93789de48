"""The report: verdicts as one self-contained HTML page, made of data, a style sheet and a script."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any, TypeVar

from groundjudge import evidence
from groundjudge.case.case import Case, Document
from groundjudge.errors import explain_code
from groundjudge.lab.labels import Labels, group_by_judge, labels_for, learn_vocabulary
from groundjudge.lab.probe.figures import Card
from groundjudge.report.template import case_data, filled, without_empty
from groundjudge.runs.summary import Summary, summarise
from groundjudge.runs.verdict_file import latest_verdicts
from groundjudge.verdict import Evidence, Part, PromptId, Usage, Verdict, Vote, __version__, deciding_score

if TYPE_CHECKING:  # a report without labels must not need the statistics libraries
    from groundjudge.lab.agreement import Agreement
    from groundjudge.lab.rate import TrueRate

HISTOGRAM_BINS = 20
"""The number of bins of equal width of a judge's histogram of scores."""

KeyT = TypeVar("KeyT", bound=Hashable)


def report(  # noqa: PLR0913  independent options
    verdicts: Iterable[Verdict],
    *,
    title: str = "verdicts",
    cases: Iterable[Case] = (),
    labels: Labels | None = None,
    agreements: Sequence[Agreement] = (),
    rate: TrueRate | None = None,
    probe: Card | None = None,
) -> str:
    """Make a report of verdicts.

    The page fetches nothing, and text of cases and verdicts is never parsed as HTML: it is embedded
    as JSON, the page's script inserts it as text nodes, and the page's Content-Security-Policy
    allows no other script.

    Args:
        verdicts: of any judges. Only the last verdict of a judge on a case is shown.
        title: the heading, such as the name of the file of verdicts.
        cases: the judged cases, matched with verdicts by their ids.
        labels: human labels to show with the verdicts.
        agreements: what `lab.agreement.agree` returns for these labels, with all disagreements
            in `worst`, because rows are marked by them.
        rate: the true rate of grounded answers, to show beside the pass rate of its judge.
        probe: the card of a probe, to show its figures.

    Returns:
        The page as HTML.

    Raises:
        LabelError: `unreadable_label`.
    """
    kept, n_repeated = latest_verdicts(verdicts)
    judged = {verdict.case_id for verdict in kept}
    shown = {case.id: case for case in cases if case.id is not None and case.id in judged}
    signatures = _positions(verdict.signature for verdict in kept)
    data = {
        "title": title,
        "library": __version__,
        "n_repeated": n_repeated,
        "judges": _judges(kept, agreements, rate),
        "signatures": list(signatures),
        "warnings": {code: explain_code("warnings", code)[0] for each in kept for code in each.warnings},
        "cases": [case_data(case) for case in shown.values()],
        "probe": probe.model_dump(mode="json") if probe else None,
        "verdicts": _rows(kept, shown, signatures, labels, agreements),
    }
    return filled("page", title, data)


def _positions(keys: Iterable[KeyT]) -> dict[KeyT, int]:
    """The position of each distinct key among the distinct keys."""
    return {key: position for position, key in enumerate(dict.fromkeys(keys))}


def _rows(
    verdicts: Sequence[Verdict],
    cases: Mapping[str, Case],
    signatures: Mapping[str, int],
    labels: Labels | None,
    agreements: Iterable[Agreement],
) -> list[dict[str, Any]]:
    """The data of each verdict; judge, case and signature are positions in the lists of these."""
    judges = _positions(sorted(verdict.judge for verdict in verdicts))
    human = _human_labels(verdicts, labels) if labels else {}
    positions = _positions(cases)
    disagreements = {(one.judge, row.case_id) for one in agreements for row in one.worst}
    return [
        without_empty(
            _verdict(verdict, cases.get(verdict.case_id or ""))
            | {
                "judge": judges[verdict.judge],
                "case": positions.get(verdict.case_id or ""),
                "signature": signatures[verdict.signature],
                "human": human.get((verdict.judge, verdict.case_id or "")),
                "disagrees": (verdict.judge, verdict.case_id) in disagreements,
            }
        )
        for verdict in verdicts
    ]


def _judges(
    verdicts: Sequence[Verdict], agreements: Sequence[Agreement], rate: TrueRate | None
) -> list[dict[str, Any]]:
    """The data of each judge, sorted by name."""
    group_by_judge = {agreement.judge: agreement for agreement in agreements}
    return [
        _judge(
            summary,
            [verdict for verdict in verdicts if verdict.judge == summary.judge],
            group_by_judge.get(summary.judge),
        )
        | {"rate": rate.model_dump() if rate and rate.judge == summary.judge else None}
        for summary in summarise(verdicts)
    ]


def _judge(summary: Summary, verdicts: Sequence[Verdict], agreement: Agreement | None) -> dict[str, Any]:
    usage = [verdict.usage for verdict in verdicts if verdict.usage]
    return {
        **summary.model_dump(exclude={"labels", "agreement", "usage"}),
        "vote_agreement": summary.agreement,
        "passed": sum(verdict.score is not None and bool(verdict.passed) for verdict in verdicts),
        "histogram": _histogram(verdicts),
        "labels": _level_counts(summary, verdicts),
        "calls": sum(verdict.attempts for verdict in verdicts),
        "tokens": _tokens(sum(usage, Usage())) if usage else None,
        "n_with_tokens": len(usage),
        "latency": _latency(verdicts),
        "models": sorted({verdict.model for verdict in verdicts if verdict.model}),
        "prompts": sorted({_version(verdict.prompt) for verdict in verdicts if verdict.prompt}),
        "agreement": agreement.model_dump(exclude={"worst"}) if agreement else None,
    }


def _version(prompt: PromptId) -> str:
    return f"{prompt.version} · sha {prompt.sha256[:12]}"


def _histogram(verdicts: Iterable[Verdict]) -> list[list[int]]:
    """For each bin of the scores that decide, how many verdicts did not pass and how many did."""
    counts = [[0, 0] for _ in range(HISTOGRAM_BINS)]
    for verdict in verdicts:
        if (score := deciding_score(verdict)) is not None:
            counts[min(int(score * HISTOGRAM_BINS), HISTOGRAM_BINS - 1)][bool(verdict.passed)] += 1
    return counts


def _latency(verdicts: Iterable[Verdict]) -> list[float] | None:
    """Median and 95th percentile of the seconds per verdict; None if no model was called."""
    seconds = sorted(verdict.latency_s for verdict in verdicts if verdict.attempts)
    if not seconds:
        return None
    return [median(seconds), quantiles(seconds, n=20)[-1] if seconds[1:] else seconds[0]]


def _level_counts(summary: Summary, verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """How often each level was given, by rising mean score; last those that come without a score."""
    scores: dict[str, list[float]] = {label: [] for label in summary.labels}
    for verdict in verdicts:
        if verdict.label is not None and verdict.score is not None:
            scores[verdict.label].append(verdict.score)
    means = {label: sum(found) / len(found) if found else None for label, found in scores.items()}
    order = sorted(means, key=lambda label: (means[label] is None, means[label] or 0.0, label))
    return [{"name": label, "n": summary.labels[label], "mean": means[label]} for label in order]


def _verdict(verdict: Verdict, case: Case | None) -> dict[str, Any]:
    response = evidence.Sources([Document(content=case.response_text)] if case else [])
    return {
        "id": verdict.case_id,
        "status": verdict.status,
        "score": verdict.score,
        "weakest": verdict.weakest,
        "value": verdict.value,
        "label": verdict.label,
        "passed": verdict.passed,
        "reason": verdict.reason,
        "warnings": verdict.warnings,
        "error": [verdict.error.code, verdict.error.message] if verdict.error else None,
        "reply": verdict.reply if verdict.error else None,  # otherwise reason and parts hold its content
        "tokens": _tokens(verdict.usage) if verdict.usage else None,
        "expected": verdict.expected,
        "distribution": verdict.distribution and [[*one] for one in verdict.distribution.items()],
        "votes": [_vote(vote, with_reply=verdict.agreement != 1) for vote in verdict.votes],
        "spread": verdict.spread,
        "agreement": verdict.agreement,
        "attempts": verdict.attempts,
        "latency": round(verdict.latency_s, 4),
        "parts": [_part(part, response, with_quotes=case is None) for part in verdict.parts],
    }


def _vote(vote: Vote, *, with_reply: bool) -> dict[str, Any]:
    """A vote; its reply is left out where the votes agree, which keeps the page small."""
    return without_empty(
        {
            "judge": vote.judge,
            "model": vote.model,
            "status": vote.status,
            "score": deciding_score(vote),
            "label": vote.label,
            "passed": vote.passed,
            "error": [vote.error.code, vote.error.message] if vote.error else None,
            "reply": vote.reply if with_reply else None,
        }
    )


def _part(part: Part, response: evidence.Sources, *, with_quotes: bool) -> dict[str, Any]:
    """A part, and where its sentence is in the response: offsets in characters, end exclusive."""
    found, _ = evidence.find([part.name], response) if _is_sentence(part.name) else ((), ())
    return without_empty(
        {
            "name": part.name,
            "score": part.score,
            "value": part.value,
            "label": part.label,
            "reason": part.reason,
            "at": [[one.start, one.end] for one in found],
            "evidence": [_quote(one, with_text=with_quotes or not one.exact) for one in part.evidence],
        }
    )


def _quote(found: Evidence, *, with_text: bool) -> dict[str, Any]:
    """A quote as [document, start, end]; its text is needed if it differs or the context is not shown."""
    return without_empty(
        {
            "at": [found.document, found.start, found.end],
            "near": not found.exact,
            "quote": found.quote if with_text else "",
        }
    )


def _is_sentence(name: str) -> bool:
    """Whether a part is a sentence of the response rather than an aspect such as "recall"."""
    return not (name.isascii() and name.isidentifier() and name.islower())


def _tokens(usage: Usage) -> list[int]:
    return [usage.prompt_tokens, usage.completion_tokens]


def _human_labels(verdicts: Sequence[Verdict], labels: Labels) -> dict[tuple[str, str], str | float | None]:
    """People's labels by judge and case: words as the judge writes them, and other labels as numbers."""
    return {
        (judge, case_id): label.word or label.number
        for judge, own in group_by_judge(verdicts).items()
        for case_id, label in labels_for(
            judge, labels, labels.vocabulary or learn_vocabulary(own, verdicts)
        ).items()
    }
