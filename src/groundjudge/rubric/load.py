"""Loads a rubric by its judge's name, or from the path of a prompt file."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from functools import cache, lru_cache
from inspect import signature
from pathlib import Path
from typing import Any, Unpack, cast

from pydantic import TypeAdapter, ValidationError

from groundjudge.errors import PromptError, ReplyError, did_you_mean
from groundjudge.prompt.front_matter import ExampleReply, FrontMatter
from groundjudge.prompt.prompt import Prompt
from groundjudge.replies import FORMAT_EXAMPLES, FORMATS, Format, Reading
from groundjudge.replies.reply import Reply
from groundjudge.rubric.options import RubricOptions, check_options, declared_options
from groundjudge.rubric.rubric import PROMPTS, Rubric, change_prompt, prompt_error, read_settings
from groundjudge.scale import Scale, fold_label
from groundjudge.text.patterns import compile_when_used

SINGLE_BRACES = compile_when_used(r"(?<!\{)\{([A-Za-z_]\w*)\}(?!\})")
"""Looks like a placeholder, in the text around the placeholders."""


def names() -> list[str]:
    """Return the names of the judges that come with the library."""
    # There is no list of them: each file in the folder is a judge.
    return sorted(file.stem for file in PROMPTS.glob("*.prompty"))


def load_rubric(name: str | Path, **options: Unpack[RubricOptions]) -> Rubric:
    """Load a rubric by the name of its judge, or your own prompt file by its path.

    Args:
        name: one of `names()`, or the path of a prompt file.
        options: settings that the file lacks, or that replace the file's; see `RubricOptions`.

    Raises:
        PromptError: there is no such judge, its file is invalid, an option is out of range, or an option
            names an input that the prompt does not have.
        TypeError: an option is unknown, or its value has a wrong type.
    """
    check_options(options, RubricOptions)
    prompt = Prompt.from_file(_find_prompt_file(name))
    front_matter = prompt.front_matter
    if front_matter.offline is not None and front_matter.offline not in names():
        fault = f"offline: {front_matter.offline!r} is not one of the library's judges: {', '.join(names())}"
        raise prompt_error("bad_front_matter", prompt, fault)
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
    rubric = Rubric(prompt=change_prompt(prompt, options), **settings)
    for problem in _find_problems(rubric):
        warnings.warn(f"{prompt.path}: {problem}", UserWarning, stacklevel=2)
    return rubric


def _find_problems(rubric: Rubric) -> list[str]:
    """Return the likely mistakes in a prompt file that do not prevent loading it."""
    problems: list[str] = []
    ignored_keys = rubric.prompt.front_matter.ignored_keys
    if ignored_keys:
        problems.append(f"these keys of other tools are ignored: {', '.join(ignored_keys)}")
    labels: tuple[str, ...] = getattr(rubric.format, "labels", ())  # formats need not have them
    literal_names: list[str] = []
    text = rubric.prompt.text
    for name in dict.fromkeys(SINGLE_BRACES.findall(text)):
        if fold_label(name) not in map(fold_label, labels):
            literal_names.append(f"{{{name}}}")
    if literal_names:
        problems.append(
            f"the model is sent {', '.join(literal_names)} literally, because no field of a case has that "
            "name: rename each placeholder to a field, or declare it under `inputs:`"
        )
    if rubric.structured == "always":
        labels = ()  # the schema in the request names the keys
    if labels and not any(_is_mentioned(label, _fold_text(text)) for label in labels):
        problems.append(
            f"its text never mentions {' or '.join(labels)}, where replies must give the verdict: ask for it "
            "there, or correct `reply:`"
        )
    return problems


@lru_cache(maxsize=32)  # it takes a third of the time for loading a judge, and often the same one is loaded
def _fold_text(text: str) -> str:
    return fold_label(text)


def _is_mentioned(label: str, text: str) -> bool:
    """Whether a folded text contains a label as a word: "score" in "score: 4", but not in "underscored"."""
    return re.search(rf"(?<!\w){re.escape(fold_label(label.strip('[]')))}(?!\w)", text) is not None


def _find_prompt_file(name: str | Path) -> Path:
    """Find the prompt file of a judge by its name, or by the file's path.

    Raises:
        PromptError: `unknown_judge`.
    """
    if not isinstance(name, str) and not hasattr(name, "__fspath__"):
        kind = type(name).__name__
        message = f"load a rubric by its judge's name or the path of a prompt file, not from {kind}"
        raise PromptError("unknown_judge", message, kind)
    # A path may contain any character, but a line break suggests a prompt's text.
    if "\n" in str(name):
        first_line = str(name).strip().partition("\n")[0][:60]
        message = f"{first_line!r} is the start of a prompt's text: save the text to a file and pass its path"
        raise PromptError("unknown_judge", message, first_line)
    path = Path(name)
    if str(name) in names():  # takes precedence over a file with that name in the working folder
        path = PROMPTS / f"{name}.prompty"
    if not path.is_file():
        hint = did_you_mean(str(name), names()) or ";"
        if "," in str(name):  # rows may name several judges like this, but the option may not
            hint = ": name each judge separately;"
        judges = ", ".join(names())
        message = f"there is no judge {str(name)!r} and no file with that name{hint} the judges are: {judges}"
        raise PromptError("unknown_judge", message, str(name))
    return path


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
