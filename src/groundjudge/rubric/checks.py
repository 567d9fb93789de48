"""What the fields of a rubric must have in common; each check raises a PromptError that says what to do."""

from __future__ import annotations

from collections.abc import Mapping

from groundjudge.case.data import is_number
from groundjudge.errors import PromptError, ReplyError
from groundjudge.prompt.prompt import Prompt
from groundjudge.replies import FORMATS, Format, PartReading, Reading
from groundjudge.replies.distribution import MAX_VALUES, values_of
from groundjudge.replies.format import missing_members
from groundjudge.replies.reply import Reply
from groundjudge.replies.shares import has_shares
from groundjudge.rubric.options import is_count
from groundjudge.rubric.settings import prompt_error
from groundjudge.scale import Scale
from groundjudge.verdict import Weighted


def check_format(candidate: object) -> None:
    """Check that an object has what a reply format needs."""
    missing = missing_members(candidate)
    if missing:
        kind = candidate.__name__ if isinstance(candidate, type) else type(candidate).__name__
        formats = ", ".join(map(str.capitalize, FORMATS))
        lacks = f"it lacks {', '.join(missing)}. Pass one of {formats}, or an object that has all members"
        raise PromptError("bad_reply_format", f"reply: {kind} is not a reply format: {lacks}", kind)


def check_numbers(scale: object, threshold: object) -> None:
    """Check that a scale is one, and a threshold a score."""
    # Callers may not use a type checker: a pair of numbers, for example, is not a scale.
    if not isinstance(scale, Scale):
        message = f"scale must be a Scale, as in Scale(worst=1, best=5) or Choices({{...}}), not {scale!r}"
        raise PromptError("bad_scale", message, str(scale))
    if not is_number(threshold) or not 0 <= threshold <= 1:
        message = f"threshold must be a score from 0 to 1, not {threshold!r}"
        raise PromptError("bad_threshold", message, str(threshold))


def check_numbered_inputs(prompt: Prompt, reply_format: Format) -> None:
    """Check that a prompt shows the documents and the response whose sentences are numbered."""
    types = {prompt_input.field: prompt_input.type for prompt_input in prompt.inputs}
    if "context" not in types or types.get("response") != "text":
        fault = (
            f"the format {type(reply_format).__name__} numbers the sentences of context and response: show "
            "both in the prompt, {{context}} and {{response}}, and give the response the type text"
        )
        raise prompt_error("bad_reply_format", prompt, fault)


def check_window(window: object, prompt: Prompt, reply_format: Format) -> None:
    """Check that a long source can be searched, and judged by what is found."""
    if not is_count(window) or window == 0:
        message = f"window must be a number of tokens, 1 or more, not {window!r}"
        raise PromptError("bad_window", message, str(window))
    fault = ""
    if not reply_format.numbers_sentences:
        fault = (
            "a score by a part of the source says little about the whole, so only a judge that names the "
            "sentences to judge by can search a long source: use statement_groundedness"
        )
    elif not prompt.search_sections:
        fault = "the file does not say how to search a long source: add `search`, or leave window out"
    if fault:
        raise prompt_error("bad_window", prompt, f"window: {fault}")


def check_choices(prompt: Prompt, reply_format: Format, scale: Scale) -> None:
    """Check that the format can express every label: it must read what it writes."""
    for label, value in scale.choices.items():
        names = reply_format.part_names or ("-",)
        parts = tuple(PartReading(name, value, label=label) for name in names)
        labels: set[str] = set()
        try:
            reply_text = reply_format.write_reply(Reading(value, parts=parts, label=label))
            reading = reply_format.read_reply(Reply(reply_text), scale)
        except (ReplyError, TypeError, ValueError):
            pass  # no label was read
        else:
            labels = {reading.label, *(part.label for part in reading.parts)}
        if labels - {""} != {label}:
            fault = f"the format {type(reply_format).__name__} cannot express the label {label!r}"
            message = f"{prompt.name}: {fault}: give the scale numbers, or use another label or format"
            raise PromptError("bad_choices", message, prompt.path)


def check_weighted(
    weighted: Weighted, reply_format: Format, scale: Scale, levels: Mapping[float, str], name: str
) -> None:
    """Check that there is something by which to weight a score."""
    is_stated = weighted == "stated"
    few_numbers = f"up to {MAX_VALUES} whole numbers from 0"
    needs = ""
    if is_stated and not has_shares(reply_format):
        example = "`reply: {format: tags, shares: S3}`"
        needs = (
            f"a place for the shares in the reply: name it (as in {example}), and ask for it in the prompt"
        )
    elif is_stated and len(values_of(scale, levels)) < 2:  # noqa: PLR2004  there is nothing to share
        needs = f"labels, {few_numbers}, or levels; the scale is {scale}"
    elif weighted is True and not values_of(scale):
        needs = f"labels or {few_numbers}, which a single token can tell apart; the scale is {scale}"
    if needs:
        option = "`weighted: stated`" if is_stated else "`weighted`"
        raise PromptError("bad_weighted", f"{name}: {option} needs {needs}", "weighted")
