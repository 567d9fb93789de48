"""The report: verdicts as one self-contained HTML page, made of data, a style sheet and a script."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from groundjudge import evidence
from groundjudge.case.case import Case
from groundjudge.errors import explain_code
from groundjudge.lab.labels import Labels, labels_for
from groundjudge.lab.probe.figures import Card
from groundjudge.lab.template import case_data, fill_page, without_empty
from groundjudge.report.collected import MAX_OF_A_KIND, CollectedVerdicts, JudgeCounts, collect
from groundjudge.runs.summary import Summary
from groundjudge.verdict import Citation, Failure, Part, Usage, Verdict, Vote, __version__, deciding_score

if TYPE_CHECKING:  # a report without labels must not need the statistics libraries
    from groundjudge.lab.agreement import Agreement
    from groundjudge.lab.model_change import ModelChange
    from groundjudge.lab.rate import TrueRate

KeyT = TypeVar("KeyT", bound=Hashable)


def report(  # noqa: PLR0913  independent options
    verdicts: Iterable[Verdict] | CollectedVerdicts,
    *,
    title: str = "verdicts",
    cases: Iterable[Case] = (),
    labels: Labels | None = None,
    agreements: Sequence[Agreement] = (),
    rate: TrueRate | None = None,
    probe: Card | None = None,
    changes: Sequence[ModelChange] = (),
    most_of_a_kind: int = MAX_OF_A_KIND,
) -> str:
    """Make a report of verdicts.

    The page fetches nothing, and never parses text from cases and verdicts as HTML: the text is embedded
    as JSON, the page's script inserts it as text nodes, and the page's Content-Security-Policy
    allows no other script.

    Figures are over all verdicts. The table shows the first of each kind: one judge with one outcome
    that people's label agrees with or not.

    Args:
        verdicts: verdicts of any judges, or what `collect` has collected from them. Only a judge's last
            verdict on a case counts.
        title: the heading, such as the name of the file of verdicts.
        cases: the judged cases, matched with verdicts by their ids.
        labels: human labels to show with the verdicts.
        agreements: what `lab.agreement.agree` returns for these labels, with all disagreements
            in `worst`, because they mark the rows. A threshold of theirs decides what passes on the whole
            page.
        rate: the true rate of grounded answers, to show next to the pass rate of its judge.
        probe: the card of a probe, to show its figures.
        changes: what `lab.model_change.measure_change` returns for these verdicts as the second ones, to show
            what flips, with both reasons.
        most_of_a_kind: the maximum number of verdicts of each kind in the table.

    Returns:
        The page as HTML.

    Raises:
        LabelError: `unreadable_label`.
    """
    if isinstance(verdicts, CollectedVerdicts):
        collected = verdicts
    else:
        thresholds: dict[str, float] = {}
        for agreement in agreements:
            if agreement.threshold is not None:
                thresholds[agreement.judge] = agreement.threshold
        collected = collect(verdicts, disagreements_of(agreements), most_of_a_kind, thresholds)
    shown_ids = collected.shown_ids
    shown_cases: dict[str, Case] = {}
    for case in cases:
        if case.id is not None and case.id in shown_ids:
            shown_cases[case.id] = case
    warnings: dict[str, str] = {}
    for verdict in collected.shown_verdicts:
        for code in verdict.warnings:
            warnings[code] = explain_code("warnings", code)[0]
    signatures = _positions(verdict.signature for verdict in collected.shown_verdicts)
    data = {
        "title": title,
        "library": __version__,
        "n_repeated": sum(collected.latest.n_repeated.values()),
        "n_verdicts": len(collected.latest),
        "n_cases": collected.latest.n_cases,
        "most_of_a_kind": collected.most_of_a_kind,
        "judges": _judges_data(collected, agreements, rate),
        "signatures": list(signatures),
        "warnings": warnings,
        "cases": [case_data(case) for case in shown_cases.values()],
        "probe": probe.model_dump(mode="json") if probe else None,
        "changes": [_change_data(change) for change in changes],
        "verdicts": _verdicts_data(collected, shown_cases, signatures, labels),
    }
    return fill_page("page", title, data, Path(__file__).parent)


def disagreements_of(agreements: Iterable[Agreement]) -> frozenset[tuple[str, str]]:
    """Return the judge and case of each listed disagreement."""
    disagreements: set[tuple[str, str]] = set()
    for agreement in agreements:
        for disagreement in agreement.worst:
            disagreements.add((agreement.judge, disagreement.case_id))
    return frozenset(disagreements)


def _positions(keys: Iterable[KeyT]) -> dict[KeyT, int]:
    """Number the distinct keys."""
    positions: dict[KeyT, int] = {}
    for key in keys:
        positions.setdefault(key, len(positions))
    return positions


def _verdicts_data(
    collected: CollectedVerdicts,
    cases: Mapping[str, Case],
    signatures: Mapping[str, int],
    labels: Labels | None,
) -> list[dict[str, Any]]:
    """Return the data of each verdict; judge, case and signature are positions in their lists."""
    judge_positions = _positions(summary.judge for summary in collected.summaries)
    case_positions = _positions(cases)
    # Words as the judge writes them, other labels as numbers.
    human_labels: dict[tuple[str, str], str | float | None] = {}
    if labels is not None:
        for judge in collected.counts:
            for case_id, label in labels_for(judge, labels).by_case.items():
                human_labels[judge, case_id] = label.word or label.number
    rows: list[dict[str, Any]] = []
    for verdict in collected.shown_verdicts:
        case_id = verdict.case_id or ""
        row = _verdict_data(verdict, cases.get(case_id))
        row["judge"] = judge_positions[verdict.judge]
        row["case"] = case_positions.get(case_id)
        row["signature"] = signatures[verdict.signature]
        row["human"] = human_labels.get((verdict.judge, case_id))
        row["disagrees"] = (verdict.judge, verdict.case_id) in collected.disagreements
        rows.append(without_empty(row))
    return rows


def _judges_data(
    collected: CollectedVerdicts, agreements: Sequence[Agreement], rate: TrueRate | None
) -> list[dict[str, Any]]:
    """Return the data of each judge, in the order that the positions in verdicts refer to."""
    agreement_by_judge = {agreement.judge: agreement for agreement in agreements}
    judges: list[dict[str, Any]] = []
    for summary in collected.summaries:
        agreement = agreement_by_judge.get(summary.judge)
        judge = _judge_data(summary, collected.counts[summary.judge], agreement)
        judge["threshold"] = collected.thresholds.get(summary.judge)
        judge["rate"] = None
        if rate is not None and rate.judge == summary.judge:
            judge["rate"] = rate.model_dump()
        judges.append(judge)
    return judges


def _judge_data(summary: Summary, counts: JudgeCounts, agreement: Agreement | None) -> dict[str, Any]:
    """Return a judge's data: its summary, and what else was counted in its verdicts."""
    return {
        **summary.model_dump(exclude={"labels", "agreement", "usage"}),
        "vote_agreement": summary.agreement,
        "passed": counts.n_passed,
        "histogram": counts.histogram,
        "labels": counts.levels(summary),
        "calls": counts.n_calls,
        "tokens": _tokens(summary.usage),
        "n_with_tokens": counts.n_with_tokens,
        "latency": counts.latency,
        "models": sorted(counts.models),
        "prompts": sorted(counts.prompts),
        "agreement": agreement.model_dump(exclude={"worst"}) if agreement else None,
    }


def _change_data(change: ModelChange) -> dict[str, Any]:
    """Return the data on the change from one judge to another."""
    refit: dict[str, Any] | None = None
    if change.refit is not None:
        refit = {
            "threshold": change.refit.threshold,
            "interval": change.refit.interval.model_dump(),
            "n": change.refit.n_fitted,
            "kept": change.refit.as_run[change.refit.by].model_dump(),
            "gain": change.refit.gain[change.refit.by].model_dump(),
        }
    fields = change.model_dump(include={"n", "n_lost", "n_gained", "share", "p", "flips"})
    fields["first"] = change.comparison.first
    fields["second"] = change.comparison.second
    fields["shift"] = change.comparison.differences["mean_score"].model_dump()
    fields["refit"] = refit
    return fields


def _verdict_data(verdict: Verdict, case: Case | None) -> dict[str, Any]:
    """Return a verdict's data; if its case is shown, sentences and quotes are marked in the case's texts."""
    response: Sequence[evidence.Folded] | None = None
    if case is not None:
        response = []
        # Only sentences without a place are looked up.
        if any(part.start is None for part in verdict.parts):
            response = [evidence.fold(case.response_text)]
    # Replies of votes that agree are left out, to keep the page small.
    with_replies = verdict.agreement != 1
    as_they_are = {"status", "score", "weakest", "value", "label", "passed", "reason", "warnings", "expected"}
    as_they_are |= {"confidence", "spread", "agreement", "decided_by", "attempts"}
    return {
        **verdict.model_dump(include=as_they_are),
        "id": verdict.case_id,
        "scores": _pairs_of(verdict.scores),
        "error": _error_data(verdict.error),
        "reply": verdict.reply if verdict.error else None,  # otherwise its content is in reason and parts
        "tokens": _tokens(verdict.usage),
        "distribution": _pairs_of(verdict.distribution),
        "votes": [_vote_data(vote, with_reply=with_replies) for vote in verdict.votes],
        "latency": round(verdict.latency_s, 4),
        "parts": [_part_data(part, response) for part in verdict.parts],
        "citations": [_citation_data(citation, verdict.parts) for citation in verdict.citations],
    }


def _pairs_of(shares: Mapping[str, float] | None) -> list[tuple[str, float]]:
    """Return a mapping as pairs, the only form that the page's script reads.

    {} gives an empty list, which is left out of the data.
    """
    return list((shares or {}).items())


def _vote_data(vote: Vote, *, with_reply: bool) -> dict[str, Any]:
    """Return a vote's data, with or without the raw reply."""
    fields = {
        **vote.model_dump(include={"judge", "model", "status", "label", "passed"}),
        "score": deciding_score(vote),
        "error": _error_data(vote.error),
    }
    if with_reply:
        fields["reply"] = vote.reply
    return without_empty(fields)


def _part_data(part: Part, response: Sequence[evidence.Folded] | None) -> dict[str, Any]:
    """Return a part with its evidence; quotes have their texts if the case is not shown.

    Args:
        part: the part.
        response: the response of the case; None if the case is not shown.
    """
    quotes: list[dict[str, Any]] = []
    for quote in part.evidence:
        fields: dict[str, Any] = {
            "number": quote.number,
            "at": [quote.document, quote.start, quote.end],
            "near": not quote.exact,
        }
        # The text of a quote is needed if it differs from the document's or the context is not shown.
        if response is None or not quote.exact:
            fields["quote"] = quote.quote
        quotes.append(without_empty(fields))
    as_they_are = {"number", "name", "score", "value", "label", "confidence", "reason"}
    fields_of_part = {
        **part.model_dump(include=as_they_are),
        "distribution": _pairs_of(part.distribution),
        "at": _places_of(part, response),
        "evidence": quotes,
    }
    return without_empty(fields_of_part)


def _citation_data(citation: Citation, parts: Sequence[Part]) -> dict[str, Any]:
    """Return a citation, with the start of the passage that supports its sentence."""
    passage: list[int] = []
    part = parts[citation.sentence - 1]
    if part.borne_out_by:
        # Of the cited documents if one of them has it.
        quotes = sorted(part.evidence, key=lambda quote: quote.document not in citation.documents)
        passage = [quotes[0].document, quotes[0].start]
    fields = {
        "at": [citation.start, citation.end],
        "finding": citation.finding,
        "note": citation.note,
        "passage": passage,
    }
    return without_empty(fields)


def _places_of(part: Part, response: Sequence[evidence.Folded] | None) -> list[list[int]]:
    """Find the sentence of a part in the response, if that is shown: offsets in characters, end exclusive."""
    if response is None:
        return []
    if part.start is not None and part.end is not None:
        return [[part.start, part.end]]
    # Without a place it is a copied sentence, or an aspect such as "recall", which is not looked up.
    if part.name.isascii() and part.name.isidentifier() and part.name.islower():
        return []
    matches, _ = evidence.find([part.name], response)
    return [[match.start, match.end] for match in matches]


def _error_data(error: Failure | None) -> list[str] | None:
    """Return the code and the message of an error; None if there isn't one."""
    if error is None:
        return None
    return [error.code, error.message]


def _tokens(usage: Usage | None) -> list[int] | None:
    """Return the number of prompt tokens and of reply tokens; None if the model reported none."""
    if usage is None:
        return None
    return [usage.prompt_tokens, usage.completion_tokens]
