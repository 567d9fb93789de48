"""The options of a rubric, each declared once, and the check for options of all kinds."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, partial
from typing import Annotated, Any, Literal, TypeAlias, TypedDict, cast, get_args, get_type_hints

from groundjudge.case.data import is_list, is_mapping, is_number
from groundjudge.errors import PromptError, did_you_mean, name_list
from groundjudge.prompt.front_matter import REQUEST_PARAMETERS
from groundjudge.replies import Format
from groundjudge.scale import Scale
from groundjudge.verdict import Passes, Weighted

EmptyResponse: TypeAlias = Literal["error", "not_applicable", "worst"]
"""What happens to a row whose response is missing or blank: no model is asked about it."""

Structured: TypeAlias = Literal["reask", "always", "never"]
"""When to ask the endpoint for a reply that follows a JSON schema, if the format has one."""


Shape: TypeAlias = tuple[Callable[[object], bool], str]
"""Whether a value has a shape, and the shape in words."""


@dataclass(frozen=True)
class Option:
    """What an option does, declared with its type: Python and the command line take it from here.

    Attributes:
        default: what applies without it, in words.
        help: what it does.
        shape: a check of its values, in addition to those that the classes make themselves; None for none.
        command_line: how the command line takes it: by -O, by a separate flag, or not at all, such as a reply
            format, which is an object.
    """

    default: str
    help: str
    shape: Shape | None = None
    command_line: Literal["-O", "flag", "none"] = "-O"


def _is_levels(value: object) -> bool:
    """Whether a value is like `{2: "poor", 5: "good"}`."""
    if not is_mapping(value):
        return False
    return all(is_number(number) and isinstance(label, str) for number, label in value.items())


def _has_names(value: object) -> bool:
    """Whether a value is a mapping whose keys are names."""
    return is_mapping(value) and all(isinstance(key, str) for key in cast("Mapping[object, object]", value))


def _is_number_list(value: object) -> bool:
    return is_list(value) and all(map(is_number, value))


def is_count(value: object) -> bool:
    """Whether a value is a whole number, 0 or more."""
    return type(value) is int and value >= 0


def is_deadline(value: object) -> bool:
    """Whether a value is a number of seconds above 0, or None for no limit."""
    return value is None or (is_number(value) and value > 0)


COUNT: Shape = (is_count, "a whole number, 0 or more")
TRUE_OR_FALSE: Shape = (lambda value: isinstance(value, bool), "True or False")
# A single name need not be in a list.
INPUT_NAMES: Shape = (lambda value: isinstance(value, str) or is_list(value), "a list of input names")
NUMBERS: Shape = (_is_number_list, "a list of numbers")


def one_of(choices: object) -> Shape:
    """Return the shape of a value that is one of the choices of a Literal."""
    names = get_args(choices)
    choice_list = ", ".join(repr(name) for name in names)
    return lambda value: value in names, f"one of {choice_list}"


setting = partial(Option, "what the prompt file says")
"""An option that replaces, or adds to, a setting of the prompt file."""


# A separate base, because DeepEval's metrics have a parameter `threshold`, and a TypedDict cannot drop a key.
class PromptOptions(TypedDict, total=False):
    """The options of a rubric except its threshold."""

    parameters: Annotated[
        Mapping[str, Any] | None,
        setting(
            "Sampling parameters, named as in the chat completions API; added to the file's.",
            (_has_names, "a mapping with names, as in {'temperature': 0}"),
        ),
    ]
    reply: Annotated[Format | None, setting("The reply format.", command_line="none")]
    scale: Annotated[
        Scale | None, setting("The numbers or labels that a reply may give.", command_line="none")
    ]
    levels: Annotated[
        Mapping[float, str] | None,
        setting(
            "The label of each level, by the level's highest value.",
            (_is_levels, "a mapping of numbers to labels, as in {2: 'poor', 5: 'good'}"),
        ),
    ]
    not_applicable: Annotated[
        Sequence[float] | None, setting('Values that mean "nothing to judge".', NUMBERS)
    ]
    passes: Annotated[
        Passes | None,
        setting(
            "Which score the threshold applies to: score (the headline), or weakest (the lowest of the "
            "parts).",
        ),
    ]
    empty_response: Annotated[
        EmptyResponse | None,
        Option(
            "error",
            "What happens to a case whose response is missing or blank: error, because the application has "
            "probably crashed; not_applicable; or worst, a score of 0.",
        ),
    ]
    may_be_empty: Annotated[
        Sequence[str] | None,
        setting(
            "Names of inputs that must be given but may be blank, such as the context when a search finds "
            "nothing; added to the file's.",
            INPUT_NAMES,
        ),
    ]
    optional: Annotated[
        Sequence[str] | None,
        setting("Names of inputs that can be left out; added to the file's.", INPUT_NAMES),
    ]
    weighted: Annotated[
        Weighted | None,
        setting(
            "Whether the score is the mean of all values, weighted by their probabilities: stated uses the "
            "shares that the reply states; true uses token probabilities, which the endpoint must return; "
            "false uses the value alone.",
            (lambda value: isinstance(value, bool) or value == "stated", "'stated', True or False"),
        ),
    ]
    structured: Annotated[
        Structured | None,
        Option(
            "reask",
            "When to ask the endpoint for a JSON format's schema: reask (after an unreadable reply), always "
            "or never.",
        ),
    ]
    tool_titles: Annotated[
        bool | None,
        Option(
            "true",
            'Whether a mapping without a kind is a tool result if its title is "Tool Result: ..."; set it to '
            "false if anyone but the application can write titles.",
            TRUE_OR_FALSE,
        ),
    ]
    citations: Annotated[
        bool | None,
        Option(
            "false",
            "Whether to check the citations of a response, such as [2]: does that document support the "
            "sentence? It takes no extra call; only for judges that cite the source's sentences by number.",
            TRUE_OR_FALSE,
        ),
    ]
    window: Annotated[
        int | None,
        Option(
            "sources of any length, in one call",
            "How many tokens of a source, estimated, one call may show. A longer one is cut into windows: "
            "each of them is searched with one call, and a last call judges by what was found. Only for "
            "judges that cite the source's sentences by number.",
        ),
    ]


class RubricOptions(PromptOptions, total=False):
    """The options of a rubric; None leaves what the prompt file says."""

    threshold: Annotated[float | None, setting("The lowest score, 0..1, that passes.", command_line="flag")]


@cache
def declared_options(options_type: Any) -> Mapping[str, Option]:  # noqa: ANN401  a TypedDict
    """Return the options of a TypedDict that are declared with an `Option`, by name."""
    declared: dict[str, Option] = {}
    for name, option_type in get_type_hints(options_type, include_extras=True).items():
        for note in getattr(option_type, "__metadata__", ()):
            if isinstance(note, Option):
                declared[name] = note
    return declared


def check_options(options: Mapping[str, object], options_type: Any) -> None:  # noqa: ANN401  a TypedDict
    """Refuse options that a TypedDict does not have, and values with a wrong shape; None is always valid.

    Raises:
        TypeError: an option is unknown, and the message names the nearest known one; or its value is invalid.
    """
    names = list(options_type.__annotations__)
    declared = declared_options(options_type)
    for name, value in options.items():
        if name not in names:
            raise TypeError(_describe_unknown_option(name, value, names))
        option = declared.get(name)
        if value is None or option is None or option.shape is None:
            continue
        has_shape, shape = option.shape
        if not has_shape(value):
            # A value can be long, for example all verdicts of an earlier run.
            shown = reprlib.repr(value)
            if option.command_line == "none":  # an object, or a key
                shown = f"a {type(value).__name__}"
            message = f"{name} must be {shape}, not {shown}"
            raise TypeError(message)


def pop_options(options: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Remove the options with these names, and return them in the order of the names."""
    values: dict[str, Any] = {}
    for name in names:
        if name in options:
            values[name] = options.pop(name)
    return values


def _describe_unknown_option(option: str, value: object, names: Sequence[str]) -> str:
    """Return the message for an unknown option: pass a request parameter, or the nearest option."""
    nearest = get_close_matches(option, [*REQUEST_PARAMETERS, *names], 1)
    # `temperature=0` is often passed as an option, but belongs in `parameters`.
    if nearest and nearest[0] in REQUEST_PARAMETERS:
        shown_value = repr(value) if is_number(value) else "..."  # a text may be long, or a secret
        remedy = f"parameters={{{nearest[0]!r}: {shown_value}}}"
        if "parameters" not in names:  # those of a run
            remedy += " to load()"
        if option == nearest[0]:
            return f"unknown option {option!r}: it is a parameter of the model's request, so pass {remedy}"
        return f"unknown option {option!r}, did you mean {remedy}?"
    hint = did_you_mean(option, names) or "."
    return f"unknown option {option!r}{hint} The options are: {name_list(names, option)}"


def check_choice(code: str, option: str, choice: object, choices: object) -> None:
    """Refuse anything but the choices of a Literal.

    Raises:
        PromptError: with that code; the message lists the choices.
    """
    is_choice, shape = one_of(choices)
    if not is_choice(choice):
        raise PromptError(code, f"{option} must be {shape}, not {choice!r}", str(choice))
