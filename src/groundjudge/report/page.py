"""A page of what was judged and why: one file, no network, made of data, a style and a script."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from html import escape
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

from groundjudge import evidence
from groundjudge.analysis.labels import Labels, label_of
from groundjudge.case import Case, Document, Message, is_list, well_formed
from groundjudge.runs.summary import Summary, summarise
from groundjudge.runs.verdict_file import last_of_each
from groundjudge.verdict import Part, Usage, Verdict
from groundjudge.version import __version__

if TYPE_CHECKING:  # a report without labels needs no statistics library
    from groundjudge.analysis.agreement import Agreement

PAGE = Path(__file__).parent
BINS = 20
"""Into how many parts of equal width the scores are counted."""

FIELDS = ("query", "conversation", "reference", "profile", "agent_name", "answers")


def report(
    verdicts: Iterable[Verdict],
    *,
    title: str = "verdicts",
    cases: Iterable[Case] = (),
    labels: Labels | None = None,
    agreements: Sequence[Agreement] = (),
) -> str:
    """The page as HTML.

    Nothing on it is fetched, and nothing that was judged is ever read as HTML: texts are data, which
    the page's own script puts in as text, and its Content-Security-Policy lets no other script run.

    Args:
        verdicts: of any judges; of several on one case the last counts.
        title: what the page is about, such as the file's name.
        cases: what was judged. A case is found by the verdict's `case_id`.
        labels: what people said.
        agreements: how far the judges agree with that, with all disagreements in `worst`.
    """
    kept, n_repeated = last_of_each(verdicts)
    judged = {verdict.case_id for verdict in kept}
    shown = {case.id: case for case in cases if case.id is not None and case.id in judged}
    places = {case_id: place for place, case_id in enumerate(shown)}
    judges = {judge: place for place, judge in enumerate(sorted({verdict.judge for verdict in kept}))}
    signatures = {sign: place for place, sign in enumerate(dict.fromkeys(v.signature for v in kept))}
    differing = {(one.judge, row.case_id) for one in agreements for row in one.worst}
    by_judge = {one.judge: one for one in agreements}
    data = {
        "title": title,
        "library": __version__,
        "repeated": n_repeated,
        "judges": [
            _judge(summary, [v for v in kept if v.judge == summary.judge], by_judge.get(summary.judge))
            for summary in summarise(kept)
        ],
        "signatures": list(signatures),
        "cases": [_case(case) for case in shown.values()],
        "verdicts": [
            _without_nothing(
                _verdict(verdict, shown.get(verdict.case_id or ""))
                | {
                    "judge": judges[verdict.judge],
                    "case": places.get(verdict.case_id or ""),
                    "signature": signatures[verdict.signature],
                    "person": _said(labels, verdict),
                    "differs": (verdict.judge, verdict.case_id) in differing,
                }
            )
            for verdict in kept
        ],
    }
    return _page(title, data)


def _page(title: str, data: Mapping[str, Any]) -> str:
    """The parts of the page put together, with a policy that allows this style and script alone."""
    style, script = (_text(PAGE / name) for name in ("page.css", "page.js"))
    policy = (
        f"default-src 'none'; img-src data:; script-src {_allowed(script)}; style-src {_allowed(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": policy,
        "title": escape(title),
        "style": style,
        "data": _embedded(data),
        "script": script,
    }
    pieces = _text(PAGE / "page.html").split("@@")  # put together at once: no part is looked into
    return well_formed("".join(parts[piece] if place % 2 else piece for place, piece in enumerate(pieces)))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _allowed(code: str) -> str:
    """An inline style or script, as a Content-Security-Policy names it."""
    return f"'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'"


def _embedded(data: object) -> str:
    """Data as JSON that cannot end the element it stands in: no `<`, `>` or `&` is left in it."""
    written = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return written.translate({ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})


def _judge(summary: Summary, verdicts: Sequence[Verdict], agreement: Agreement | None) -> dict[str, Any]:
    """What there is to say of a judge as a whole."""
    scored = [verdict for verdict in verdicts if verdict.score is not None]
    counts = [[0, 0] for _ in range(BINS)]
    for verdict in scored:
        counts[min(int((verdict.score or 0.0) * BINS), BINS - 1)][bool(verdict.passed)] += 1
    usage = [verdict.usage for verdict in verdicts if verdict.usage]
    seconds = sorted(verdict.latency_s for verdict in verdicts if verdict.attempts)
    return {
        **summary.model_dump(exclude={"labels"}),
        "passed": sum(bool(verdict.passed) for verdict in scored),
        "histogram": counts,
        "labels": _labels_of(summary, verdicts),
        "calls": sum(verdict.attempts for verdict in verdicts),
        "tokens": _tokens(sum(usage, Usage())) if usage else None,
        "n_with_tokens": len(usage),
        "latency": [median(seconds), quantiles(seconds, n=20)[-1] if seconds[1:] else seconds[0]]
        if seconds
        else None,
        "models": sorted({verdict.model for verdict in verdicts if verdict.model}),
        "prompts": sorted({f"{v.prompt.version} · sha {v.prompt.sha256[:12]}" for v in verdicts if v.prompt}),
        "agreement": agreement.model_dump(exclude={"worst"}) if agreement else None,
    }


def _labels_of(summary: Summary, verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """How often each label was given, from the worst to the best by its mean score; then those without."""
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
        "value": verdict.value,
        "label": verdict.label,
        "passed": verdict.passed,
        "reason": verdict.reason,
        "warnings": verdict.warnings,
        "error": [verdict.error.code, verdict.error.message] if verdict.error else None,
        "reply": verdict.reply if verdict.error else None,  # else the reason and the parts say it all
        "tokens": _tokens(verdict.usage) if verdict.usage else None,
        "attempts": verdict.attempts,
        "latency": round(verdict.latency_s, 4),
        "parts": [_part(part, response, with_quotes=case is None) for part in verdict.parts],
    }


def _part(part: Part, response: evidence.Sources, *, with_quotes: bool) -> dict[str, Any]:
    """A part with the place of its sentence in the response; offsets count characters, not bytes."""
    found, _ = evidence.find([part.name], response) if _is_sentence(part.name) else ((), ())
    return _without_nothing(
        {
            "name": part.name,
            "score": part.score,
            "value": part.value,
            "reason": part.reason,
            "at": [[one.start, one.end] for one in found],
            "evidence": [
                _without_nothing(
                    {
                        "at": [one.document, one.start, one.end],
                        "near": not one.exact,
                        "quote": one.quote if with_quotes or not one.exact else "",
                    }
                )
                for one in part.evidence
            ],
        }
    )


def _is_sentence(name: str) -> bool:
    """Whether a part is a sentence of the response, and not an aspect such as "recall"."""
    return not (name.isascii() and name.isidentifier() and name.islower())


def _case(case: Case) -> dict[str, Any]:
    given = {name: _shown(getattr(case, name)) for name in FIELDS}
    return _without_nothing(
        {
            "id": case.id,
            **given,
            "response": case.response_text,
            "context": None
            if case.context is None
            else [
                _without_nothing({"title": one.title, "tool": one.kind == "tool", "content": one.content})
                for one in case.context
            ],
        }
    ) | ({"context": []} if case.context == () else {})


def _shown(value: Any) -> object:  # noqa: ANN401  whatever a field holds
    """A field as text, or a list of texts; a message is told with its role."""
    match value:
        case Message():
            calls = [
                f"→ {call.name}({json.dumps(call.arguments, ensure_ascii=False)})"
                for call in value.tool_calls
            ]
            return [value.role, "\n".join([value.content, *calls]).strip()]
        case _:
            return [_shown(one) for one in value] if is_list(value) else value


def _tokens(usage: Usage) -> list[int]:
    return [usage.prompt_tokens, usage.completion_tokens]


def _said(labels: Labels | None, verdict: Verdict) -> float | None:
    if labels is None or not verdict.case_id:
        return None
    return label_of(labels.by_case.get(verdict.case_id), verdict.judge, verdict.case_id)


def _without_nothing(found: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is empty or false, which a page of thousands of rows need not say."""
    return {
        key: value
        for key, value in found.items()
        if value is not None and value is not False and value not in ("", [], ())
    }
