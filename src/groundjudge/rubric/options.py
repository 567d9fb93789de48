"""The options of a rubric, typed, and checked by name when they are used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict, get_args

from groundjudge.case.data import is_list, is_mapping
from groundjudge.errors import PromptError, did_you_mean
from groundjudge.replies import Format
from groundjudge.scale import Scale
from groundjudge.verdict import Passes

EmptyResponse: TypeAlias = Literal["error", "not_applicable", "worst"]
"""What becomes of a row whose response is missing or blank: no model is asked about it."""


Structured: TypeAlias = Literal["reask", "always", "never"]
"""When the endpoint is asked for a reply by a JSON schema, if the format has one."""


class PromptOptions(TypedDict, total=False):
    """What a prompt file says of itself, and what may be given in code instead. None: not given.

    Attributes:
        parameters: sampling parameters, added to the file's.
        reply: the reply format.
        scale: the numbers or the labels that a reply may give.
        levels: labels by the highest value that bears them.
        not_applicable: values that mean "nothing to judge".
        passes: which score the threshold applies to: the headline ("score"), or the lowest score of the parts
            ("weakest").
        may_be_empty: names of inputs that must be given but may be blank, added to the file's.
        optional: names of inputs that need not be given, added to the file's.
        empty_response: what becomes of a case whose response is missing or blank.
        weighted: whether the score is the mean over the probabilities that the model gave to each value.
        structured: when a format that is JSON asks the endpoint for its schema: "reask", after a reply that
            could not be read; "always"; or "never".
        tool_titles: whether the title "Tool Result: ..." of a mapping without a kind makes it a tool result.
    """

    parameters: Mapping[str, Any] | None
    reply: Format | None
    scale: Scale | None
    levels: Mapping[float, str] | None
    not_applicable: Sequence[float] | None
    passes: Passes | None
    empty_response: EmptyResponse | None
    may_be_empty: Sequence[str] | None
    optional: Sequence[str] | None
    weighted: bool | None
    structured: Structured | None
    tool_titles: bool | None


class RubricOptions(PromptOptions, total=False):
    """The options of a rubric: what a prompt file says of itself, and the threshold; see `load_rubric`."""

    threshold: float | None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_names(value: object) -> bool:
    return isinstance(value, str) or is_list(value)


SHAPES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "parameters": (is_mapping, "a mapping, as in {'temperature': 0}"),
    "levels": (
        lambda value: (
            is_mapping(value) and all(_is_number(k) and isinstance(v, str) for k, v in value.items())
        ),
        "a mapping of numbers to labels, as in {2: 'poor', 5: 'good'}",
    ),
    "not_applicable": (lambda value: is_list(value) and all(map(_is_number, value)), "a list of numbers"),
    "may_be_empty": (_are_names, "a list of inputs' names"),
    "optional": (_are_names, "a list of inputs' names"),
    **dict.fromkeys(("weighted", "tool_titles"), (lambda value: isinstance(value, bool), "True or False")),
    "max_reasks": (lambda value: type(value) is int and value >= 0, "a whole number, 0 or more"),
}
"""What an option must be: whether a value is, and in words. `Rubric` and `Panel` check the others."""


def check_options(options: Mapping[str, object], known: type[Any]) -> None:
    """Refuse options that a TypedDict does not have, and values of a wrong shape; None is always right.

    Raises:
        TypeError: an option is unknown, and the message names the nearest right one; or its value is wrong.
    """
    names = list(known.__annotations__)
    for option, value in options.items():
        if option not in names:
            hint = did_you_mean(option, names) or ";"
            message = f"unknown option {option!r}{hint} The options are: {', '.join(names)}"
            raise TypeError(message)
        fits, shape = SHAPES.get(option, (bool, ""))
        if shape and value is not None and not fits(value):
            message = f"{option} must be {shape}, not {value!r}"
            raise TypeError(message)


def check_choice(code: str, option: str, choice: object, choices: object) -> None:
    """Refuse what is not one of the choices of a Literal.

    Raises:
        PromptError: with that code; the message lists the choices.
    """
    names = get_args(choices)
    if choice not in names:
        message = f"{option} must be one of {', '.join(map(repr, names))}, not {choice!r}"
        raise PromptError(code, message, str(choice))
