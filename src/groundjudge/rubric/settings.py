"""The settings of a rubric: those of its prompt file, and the options that are added or replace them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from inspect import signature
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from groundjudge.errors import PromptError, ReplyError
from groundjudge.prompt.front_matter import ExampleReply, FrontMatter
from groundjudge.prompt.prompt import Prompt
from groundjudge.replies import FORMAT_EXAMPLES, FORMATS, Format, Reading
from groundjudge.replies.reply import Reply
from groundjudge.rubric.options import RubricOptions, declared_options
from groundjudge.scale import Scale
from groundjudge.verdict import Weighted

ADDED_TO_PROMPT = ("parameters", "may_be_empty", "optional")
"""The options that are added to the prompt's settings; the others replace a field of the rubric."""


def change_prompt(prompt: Prompt, options: RubricOptions) -> Prompt:
    """Make a copy of the prompt with the options that are added to its file's settings."""
    new_parameters = options.get("parameters") or {}
    parameters = {**prompt.parameters, **new_parameters}
    # Both limit the same: a reasoning model, which knows only the newer name, would get the file's limit.
    if "max_completion_tokens" in new_parameters and "max_tokens" not in new_parameters:
        parameters.pop("max_tokens", None)
    prompt = prompt.with_inputs(may_be_empty=options.get("may_be_empty"), optional=options.get("optional"))
    return prompt.model_copy(update={"parameters": parameters})


def read_settings(options: RubricOptions, weighted: Weighted) -> dict[str, Any]:
    """Return the fields of a rubric that the options replace, and how it is weighted.

    Stated shares do not work with the caller's scale or format: the prompt asks for those of its own scale,
    in its own format.

    Args:
        options: the options.
        weighted: how it is weighted if the options do not say.
    """
    is_replaced = options.get("reply") is not None or options.get("scale") is not None
    if weighted == "stated" and is_replaced:
        weighted = False
    settings: dict[str, Any] = {"weighted": weighted}
    for option, value in options.items():
        if value is not None and option not in ADDED_TO_PROMPT:
            settings["format" if option == "reply" else option] = value
    return settings


def settings_of_file(prompt: Prompt, options: RubricOptions) -> dict[str, Any]:
    """Return the fields of a rubric, but for its prompt, that a file and the options set.

    Raises:
        PromptError: the file says nothing readable about its replies, or lacks the scale.
    """
    front_matter = prompt.front_matter
    settings: dict[str, Any] = {}
    for option in declared_options(RubricOptions):
        # For `reply`, a file has the name and the options of a format, from which it is made below.
        if option in FrontMatter.model_fields and option != "reply":
            settings[option] = getattr(front_matter, option)
    if options.get("reply") is None:
        settings["format"] = _read_format(prompt)
    settings.update(read_settings(options, front_matter.weighted))
    if settings["scale"] is None:
        fault = (
            "scale is missing: add it to the file, or pass a Scale in code. For numbers, write "
            "scale: {worst: 1, best: 5}; for labels, scale: {choices: {supported: 1, unsupported: 0}}"
        )
        raise prompt_error("no_scale", prompt, fault)
    example = front_matter.example_reply
    # The example uses the file's own format and scale.
    if example is not None and options.get("reply") is None and options.get("scale") is None:
        _check_example(prompt, example, settings["format"], settings["scale"])
    return settings


def _read_format(prompt: Prompt) -> Format:
    """Make the reply format that a prompt file names."""
    if prompt.front_matter.reply is None:
        fault = (
            "reply is missing: add it, or pass a format in Python. Find below the kind of reply that the "
            "prompt asks for, copy its two lines to the front matter (between two lines of --- at the top of "
            "the file), and adapt the names and the scale:\n\n" + "\n".join(FORMAT_EXAMPLES.values())
        )
        raise prompt_error("no_reply_format", prompt, fault)
    options = dict(prompt.front_matter.reply)
    format_name = str(options.pop("format", None))
    if format_name not in FORMATS:
        fault = f"reply.format: unknown format {format_name!r}; the formats are {', '.join(FORMATS)}"
        raise prompt_error("unknown_reply_format", prompt, fault)
    types, adapter = _format_options(format_name)
    if options.keys() <= types.keys():
        try:
            return adapter.validate_python(options)
        except ValidationError:
            pass  # a value with a wrong type is refused like an unknown option
    known_options = ", ".join(f"{name} ({type_})" for name, type_ in types.items()) or "(none)"
    fault = f"reply: the format {format_name} has the options {known_options}, not {options}"
    raise prompt_error("bad_reply_option", prompt, fault)


@cache  # making the adapter takes longer than reading a prompt file
def _format_options(format_name: str) -> tuple[Mapping[str, object], TypeAdapter[Format]]:
    """Return a format's options with their types, and the adapter that checks them and makes the format."""
    # A class, or a function that makes a format: both have parameters, and pydantic calls either.
    make_format: Any = FORMATS[format_name]
    types = {name: option.annotation for name, option in signature(make_format).parameters.items()}
    return types, cast("TypeAdapter[Format]", TypeAdapter(make_format))


def _check_example(prompt: Prompt, example: ExampleReply, reply_format: Format, scale: Scale) -> None:
    """Make sure that the file's own example is read as the file says."""
    try:
        reading = reply_format.read_reply(Reply(example.text), scale)
    except ReplyError as error:
        raise prompt_error("bad_example", prompt, f"example_reply cannot be read: {error}") from error
    value = _value_like(example.value, reading)
    if value != example.value:
        fault = f"example_reply is read as {value}, not as {example.value}"
        raise prompt_error("bad_example", prompt, fault)


def _value_like(example_value: object, reading: Reading) -> object:
    """Return what was read in the shape of the example: one verdict, those of the parts, or those by name."""
    if isinstance(example_value, float | int | str):
        return reading.label or reading.value
    if isinstance(example_value, Mapping):
        return {part.name: part.label or part.value for part in reading.parts}
    return tuple(part.label or part.value for part in reading.parts)


def prompt_error(code: str, prompt: Prompt, fault: str) -> PromptError:
    """Make the error for a fault in a prompt file; it names the file."""
    return PromptError(code, f"{prompt.path}: {fault}", prompt.path)
