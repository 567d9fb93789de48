"""The options of a rubric, typed and described, and the check of all options by name."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias, TypedDict, get_args

from groundjudge.case.data import is_list, is_mapping, is_number
from groundjudge.errors import PromptError, did_you_mean, name_list
from groundjudge.prompt.front_matter import REQUEST_PARAMETERS
from groundjudge.replies import Format
from groundjudge.scale import Scale
from groundjudge.verdict import Passes, Weighted

EmptyResponse: TypeAlias = Literal["error", "not_applicable", "worst"]
"""What becomes of a row whose response is missing or blank: no model is asked about it."""

Structured: TypeAlias = Literal["reask", "always", "never"]
"""When the endpoint is asked for a reply by a JSON schema, if the format has one."""


# A base of its own, because DeepEval's metrics have `threshold` as a parameter: a TypedDict cannot drop one.
class PromptOptions(TypedDict, total=False):
    """The options of a rubric but its threshold; they are described in `RubricOptions`."""

    parameters: Mapping[str, Any] | None
    reply: Format | None
    scale: Scale | None
    levels: Mapping[float, str] | None
    not_applicable: Sequence[float] | None
    passes: Passes | None
    empty_response: EmptyResponse | None
    may_be_empty: Sequence[str] | None
    optional: Sequence[str] | None
    weighted: Weighted | None
    structured: Structured | None
    tool_titles: bool | None


class RubricOptions(PromptOptions, total=False):
    """The options of a rubric; None leaves what the prompt file says.

    Attributes:
        parameters: sampling parameters by their names in the chat completions API, added to the file's.
        reply: the reply format.
        scale: the numbers or the labels that a reply may give.
        levels: labels by the highest value that bears them.
        not_applicable: values that mean "nothing to judge".
        passes: which score the threshold applies to: the headline ("score"), or the lowest score of the parts
            ("weakest").
        empty_response: what becomes of a case whose response is missing or blank: an "error", which is what
            a crashed application deserves, by default; "not_applicable"; or the "worst" score, 0.
        may_be_empty: names of inputs that must be given but may be blank, added to the file's.
        optional: names of inputs that need not be given, added to the file's.
        weighted: whether the score is a mean over all values, each by how probable it is to the model:
            "stated", by the shares that the reply states beside the value; True, by the probabilities of the
            tokens, which the endpoint must return; False: the value alone counts.
        structured: when a format that is JSON asks the endpoint for its schema: "reask", after a reply that
            could not be read, by default; "always"; or "never".
        tool_titles: whether the title "Tool Result: ..." of a mapping without a kind makes it a tool result,
            True by default; False where others than the application write titles. See
            `Case.without_tool_titles`.
        threshold: on the score, 0..1: a verdict passes if its deciding score reaches it.
    """

    threshold: float | None


def _is_levels(value: object) -> bool:
    if not is_mapping(value):
        return False
    return all(is_number(number) and isinstance(label, str) for number, label in value.items())


def _is_name_list(value: object) -> bool:
    return isinstance(value, str) or is_list(value)


def _is_weighted(value: object) -> bool:
    return isinstance(value, bool) or value == "stated"


def is_count(value: object) -> bool:
    """Whether a value is a whole number, 0 or more."""
    return type(value) is int and value >= 0


def is_deadline(value: object) -> bool:
    """Whether a value is a number of seconds above 0, or None for no limit."""
    return value is None or (is_number(value) and value > 0)


Shape: TypeAlias = tuple[Callable[[object], bool], str]
"""Whether a value has a shape, and the shape in words."""

SHAPES: Mapping[str, Shape] = {
    "parameters": (is_mapping, "a mapping, as in {'temperature': 0}"),
    "levels": (_is_levels, "a mapping of numbers to labels, as in {2: 'poor', 5: 'good'}"),
    "not_applicable": (lambda value: is_list(value) and all(map(is_number, value)), "a list of numbers"),
    "may_be_empty": (_is_name_list, "a list of inputs' names"),
    "optional": (_is_name_list, "a list of inputs' names"),
    "weighted": (_is_weighted, "'stated', True or False"),
    "tool_titles": (lambda value: isinstance(value, bool), "True or False"),
    "max_reasks": (is_count, "a whole number, 0 or more"),
    "ordered": (lambda value: isinstance(value, bool), "True or False"),
    "previous": (callable, "a function from a judge and a case to the verdict, or None"),
    "on_outage": (callable, "a function of the message"),
}
"""The shapes of options; `Rubric`, `Panel` and `run` check the other ones."""


def check_options(options: Mapping[str, object], options_type: type[Any]) -> None:
    """Refuse options that a TypedDict does not have, and values of a wrong shape; None is always right.

    Raises:
        TypeError: an option is unknown, and the message names the nearest right one; or its value is wrong.
    """
    names = list(options_type.__annotations__)
    for option, value in options.items():
        if option not in names:
            raise TypeError(_describe_unknown_option(option, value, names))
        if value is None or option not in SHAPES:
            continue
        has_shape, shape = SHAPES[option]
        if not has_shape(value):
            # A value can be long, such as all verdicts of an earlier run.
            message = f"{option} must be {shape}, not {reprlib.repr(value)}"
            raise TypeError(message)


def _describe_unknown_option(option: str, value: object, names: Sequence[str]) -> str:
    nearest = get_close_matches(option, [*REQUEST_PARAMETERS, *names], 1)
    if nearest and nearest[0] in REQUEST_PARAMETERS:
        shown_value = repr(value) if is_number(value) else "..."
        remedy = f"parameters={{{nearest[0]!r}: {shown_value}}}"
        if "parameters" not in names:  # those of a run
            remedy += " to load()"
        if option == nearest[0]:
            return f"unknown option {option!r}: it is a parameter of the model's request, so pass {remedy}"
        return f"unknown option {option!r}, did you mean {remedy}?"
    hint = did_you_mean(option, names) or ";"
    return f"unknown option {option!r}{hint} The options are: {name_list(names, option)}"


def check_choice(code: str, option: str, choice: object, choices: object) -> None:
    """Refuse what is not one of the choices of a Literal.

    Raises:
        PromptError: with that code; the message lists the choices.
    """
    names = get_args(choices)
    if choice not in names:
        choice_list = ", ".join(repr(name) for name in names)
        raise PromptError(code, f"{option} must be one of {choice_list}, not {choice!r}", str(choice))
