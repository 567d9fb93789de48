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
from groundjudge.report.template import case_data, fill_page, without_empty
from groundjudge.runs.summary import Summary, summarise
from groundjudge.runs.verdict_file import latest_verdicts
from groundjudge.verdict import Failure, Part, Usage, Verdict, Vote, __version__, deciding_score

if TYPE_CHECKING:  # a report without labels must not need the statistics libraries
    from groundjudge.lab.agreement import Agreement
    from groundjudge.lab.rate import TrueRate

# The number of bins of equal width of a judge's histogram of scores.
HISTOGRAM_BINS = 20

# Digits of the hash of a prompt, as in a signature.
SHA_DIGITS = 12

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
    last_verdicts, n_repeated = latest_verdicts(verdicts)
    judged_ids = {verdict.case_id for verdict in last_verdicts}
    judged_cases: dict[str, Case] = {}
    for case in cases:
        if case.id is not None and case.id in judged_ids:
            judged_cases[case.id] = case
    warnings: dict[str, str] = {}
    for verdict in last_verdicts:
        for code in verdict.warnings:
            warnings[code] = explain_code("warnings", code)[0]
    signatures = _positions(verdict.signature for verdict in last_verdicts)
    data = {
        "title": title,
        "library": __version__,
        "n_repeated": n_repeated,
        "judges": _judges_data(last_verdicts, agreements, rate),
        "signatures": list(signatures),
        "warnings": warnings,
        "cases": [case_data(case) for case in judged_cases.values()],
        "probe": probe.model_dump(mode="json") if probe else None,
        "verdicts": _verdicts_data(last_verdicts, judged_cases, signatures, labels, agreements),
    }
    return fill_page("page", title, data)


def _positions(keys: Iterable[KeyT]) -> dict[KeyT, int]:
    """The position of each distinct key among the distinct keys."""
    positions: dict[KeyT, int] = {}
    for key in keys:
        positions.setdefault(key, len(positions))
    return positions


def _verdicts_data(
    verdicts: Sequence[Verdict],
    cases: Mapping[str, Case],
    signatures: Mapping[str, int],
    labels: Labels | None,
    agreements: Iterable[Agreement],
) -> list[dict[str, Any]]:
    """The data of each verdict; judge, case and signature are positions in the lists of these."""
    judge_positions = _positions(sorted(verdict.judge for verdict in verdicts))
    case_positions = _positions(cases)
    human_labels = {} if labels is None else _human_labels(verdicts, labels)
    disagreements: set[tuple[str, str]] = set()
    for agreement in agreements:
        for disagreement in agreement.worst:
            disagreements.add((agreement.judge, disagreement.case_id))
    rows: list[dict[str, Any]] = []
    for verdict in verdicts:
        case_id = verdict.case_id or ""
        row = _verdict_data(verdict, cases.get(case_id))
        row["judge"] = judge_positions[verdict.judge]
        row["case"] = case_positions.get(case_id)
        row["signature"] = signatures[verdict.signature]
        row["human"] = human_labels.get((verdict.judge, case_id))
        row["disagrees"] = (verdict.judge, verdict.case_id) in disagreements
        rows.append(without_empty(row))
    return rows


def _human_labels(verdicts: Sequence[Verdict], labels: Labels) -> dict[tuple[str, str], str | float | None]:
    """People's labels by judge and case: words as the judge writes them, and other labels as numbers."""
    human_labels: dict[tuple[str, str], str | float | None] = {}
    for judge, judge_verdicts in group_by_judge(verdicts).items():
        vocabulary = labels.vocabulary or learn_vocabulary(judge_verdicts, verdicts)
        for case_id, label in labels_for(judge, labels, vocabulary).items():
            human_labels[judge, case_id] = label.word or label.number
    return human_labels


def _judges_data(
    verdicts: Sequence[Verdict], agreements: Sequence[Agreement], rate: TrueRate | None
) -> list[dict[str, Any]]:
    """The data of each judge, sorted by name."""
    agreement_by_judge = {agreement.judge: agreement for agreement in agreements}
    verdicts_by_judge = group_by_judge(verdicts)
    judges: list[dict[str, Any]] = []
    for summary in summarise(verdicts):
        agreement = agreement_by_judge.get(summary.judge)
        judge = _judge_data(summary, verdicts_by_judge[summary.judge], agreement)
        judge["rate"] = None
        if rate is not None and rate.judge == summary.judge:
            judge["rate"] = rate.model_dump()
        judges.append(judge)
    return judges


def _judge_data(summary: Summary, verdicts: Sequence[Verdict], agreement: Agreement | None) -> dict[str, Any]:
    """What the page shows of a judge: its summary, and what can be counted in its verdicts."""
    usages: list[Usage] = []
    models: set[str] = set()
    prompts: set[str] = set()
    n_passed = 0
    n_calls = 0
    for verdict in verdicts:
        n_calls += verdict.attempts
        # "Not applicable" passes without a score, and is counted by itself.
        if verdict.passed and verdict.score is not None:
            n_passed += 1
        if verdict.usage:
            usages.append(verdict.usage)
        if verdict.model:
            models.add(verdict.model)
        if verdict.prompt:
            prompts.add(f"{verdict.prompt.version} · sha {verdict.prompt.sha256[:SHA_DIGITS]}")
    return {
        **summary.model_dump(exclude={"labels", "agreement", "usage"}),
        "vote_agreement": summary.agreement,
        "passed": n_passed,
        "histogram": _histogram(verdicts),
        "labels": _level_counts(summary, verdicts),
        "calls": n_calls,
        "tokens": _tokens(sum(usages, Usage())) if usages else None,
        "n_with_tokens": len(usages),
        "latency": _latency(verdicts),
        "models": sorted(models),
        "prompts": sorted(prompts),
        "agreement": agreement.model_dump(exclude={"worst"}) if agreement else None,
    }


def _histogram(verdicts: Iterable[Verdict]) -> list[list[int]]:
    """For each bin of the scores that decide, how many verdicts did not pass and how many did."""
    counts = [[0, 0] for _ in range(HISTOGRAM_BINS)]
    for verdict in verdicts:
        score = deciding_score(verdict)
        if score is None:
            continue
        # A score of 1 belongs to the highest bin.
        bin_of_score = min(int(score * HISTOGRAM_BINS), HISTOGRAM_BINS - 1)
        counts[bin_of_score][bool(verdict.passed)] += 1
    return counts


def _latency(verdicts: Iterable[Verdict]) -> list[float] | None:
    """Median and 95th percentile of the seconds per verdict; None if no model was called."""
    seconds = [verdict.latency_s for verdict in verdicts if verdict.attempts]
    if not seconds:
        return None
    if len(seconds) == 1:
        return [seconds[0], seconds[0]]  # `quantiles` needs two values
    seconds.sort()
    return [median(seconds), quantiles(seconds, n=20)[-1]]


def _level_counts(summary: Summary, verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """How often each level was given, by rising mean score; last those that come without a score."""
    scores_by_label: dict[str, list[float]] = {label: [] for label in summary.labels}
    for verdict in verdicts:
        if verdict.label is not None and verdict.score is not None:
            scores_by_label[verdict.label].append(verdict.score)
    scored_levels: list[tuple[float, str]] = []
    unscored_levels: list[str] = []
    for label, scores in scores_by_label.items():
        if scores:
            scored_levels.append((sum(scores) / len(scores), label))
        else:
            unscored_levels.append(label)
    levels: list[dict[str, Any]] = []
    for mean, label in sorted(scored_levels):
        levels.append({"name": label, "n": summary.labels[label], "mean": mean})
    for label in sorted(unscored_levels):
        levels.append({"name": label, "n": summary.labels[label], "mean": None})
    return levels


def _verdict_data(verdict: Verdict, case: Case | None) -> dict[str, Any]:
    """What the page shows of a verdict; with its case, sentences and quotes are shown in the case's texts."""
    # Without the case there is no response in which a sentence could be found.
    response = evidence.Sources([])
    if case is not None:
        response = evidence.Sources([Document(content=case.response_text)])
    # A verdict may have {}: as an empty list it is left out of the data, whose script reads pairs only.
    distribution: list[tuple[str, float]] = []
    if verdict.distribution is not None:
        distribution = list(verdict.distribution.items())
    # The replies of votes that agree are left out, which keeps the page small.
    with_replies = verdict.agreement != 1
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
        "error": _error_data(verdict.error),
        "reply": verdict.reply if verdict.error else None,  # otherwise reason and parts hold its content
        "tokens": _tokens(verdict.usage) if verdict.usage else None,
        "expected": verdict.expected,
        "distribution": distribution,
        "votes": [_vote_data(vote, with_reply=with_replies) for vote in verdict.votes],
        "spread": verdict.spread,
        "agreement": verdict.agreement,
        "decided_by": verdict.decided_by,
        "attempts": verdict.attempts,
        "latency": round(verdict.latency_s, 4),
        "parts": [_part_data(part, response, with_quotes=case is None) for part in verdict.parts],
    }


def _vote_data(vote: Vote, *, with_reply: bool) -> dict[str, Any]:
    fields = {
        "judge": vote.judge,
        "model": vote.model,
        "status": vote.status,
        "score": deciding_score(vote),
        "label": vote.label,
        "passed": vote.passed,
        "error": _error_data(vote.error),
    }
    if with_reply:
        fields["reply"] = vote.reply
    return without_empty(fields)


def _part_data(part: Part, response: evidence.Sources, *, with_quotes: bool) -> dict[str, Any]:
    """A part, and where its sentence is in the response: offsets in characters, end exclusive."""
    sentence_spans: list[list[int]] = []
    # A part is a sentence of the response, or an aspect such as "recall", which is not looked up.
    is_aspect = part.name.isascii() and part.name.isidentifier() and part.name.islower()
    if not is_aspect:
        matches, _ = evidence.find([part.name], response)
        sentence_spans = [[match.start, match.end] for match in matches]
    quotes: list[dict[str, Any]] = []
    for quote in part.evidence:
        fields: dict[str, Any] = {"at": [quote.document, quote.start, quote.end], "near": not quote.exact}
        # The text of a quote is needed if it differs from the document's or the context is not shown.
        if with_quotes or not quote.exact:
            fields["quote"] = quote.quote
        quotes.append(without_empty(fields))
    fields_of_part = {
        "name": part.name,
        "score": part.score,
        "value": part.value,
        "label": part.label,
        "reason": part.reason,
        "at": sentence_spans,
        "evidence": quotes,
    }
    return without_empty(fields_of_part)


def _error_data(error: Failure | None) -> list[str] | None:
    if error is None:
        return None
    return [error.code, error.message]


def _tokens(usage: Usage) -> list[int]:
    return [usage.prompt_tokens, usage.completion_tokens]
