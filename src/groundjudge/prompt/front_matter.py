"""The front matter of a prompt file: YAML between two lines of ---, which describes the judge.

The errors raised here name the key; `Prompt.parse` adds the name of the file.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from groundjudge.case.data import is_list, is_mapping
from groundjudge.case.fields import FIELD_NAMED
from groundjudge.errors import PromptError, did_you_mean, first_fault
from groundjudge.prompt.input import Input
from groundjudge.scale import Scale
from groundjudge.text.patterns import compile_when_used
from groundjudge.verdict import Finite, Frozen, Passes, Weighted

FRONT_MATTER = compile_when_used(
    r"\s*---[^\S\n]*\n(?:(?P<head>.*?)^---[^\S\n]*(?:\n|\Z)(?P<body>.*))?", re.DOTALL | re.MULTILINE
)

TYPES = {"string": "text", "str": "text", "array": "list", "object": "text"}
"""Prompty's names of input types, and their names here."""

VALUE_TYPES = {"number": "text", "integer": "text", "boolean": "text"}
"""Prompty's types that only a custom input can have, and their names here."""

MESSAGE_FIELDS = ("query", "response", "conversation")
"""The fields that may contain messages. Prompty's `string` shows all of them."""

CORE_SCALARS: Mapping[str, tuple[re.Pattern[str], Sequence[str]]] = {
    "tag:yaml.org,2002:null": (compile_when_used(r"(?:~|null|Null|NULL|)\Z"), ("~", "n", "N", "")),
    "tag:yaml.org,2002:bool": (compile_when_used(r"(?:true|True|TRUE|false|False|FALSE)\Z"), "tTfF"),
    "tag:yaml.org,2002:int": (
        compile_when_used(r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)\Z"),
        "-+0123456789",
    ),
    "tag:yaml.org,2002:float": (
        compile_when_used(
            r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"
        ),
        "-+.0123456789",
    ),
}
"""The scalars of YAML 1.2's core schema other than texts, by tag: pattern and first characters."""

MAX_VALUES = 10_000
DEEPEST = 50
"""The limits for the values in front matter, and for their nesting."""


class ExampleReply(Frozen):
    """A reply as the model should write it, and the value or values that reading it must give."""

    text: str
    value: Finite | str | tuple[Finite | str | None, ...] | Mapping[str, Finite | str]


class FrontMatter(BaseModel):
    """The keys of a prompt file's front matter.

    Attributes:
        name: the judge's name; None for the file's name.
        description: one sentence that says what the judge rates.
        version: the version of the prompt.
        authors, tags, sample: Prompty's keys, which are ignored.
        ignored_keys: the keys of the file that are ignored because other tools write them.
        model: only its `parameters`, the sampling parameters, are read; choose the model in code.
        inputs: what the prompt shows of a case; None for what its placeholders name.
        reply: the reply format and its options; None if it is passed in code.
        scale: the scale of the value in the reply; None if it is passed in code.
        levels: the highest value of each level -> the level's label.
        not_applicable: the values that mean that there is nothing to judge.
        threshold: the lowest score, 0..1, that passes.
        passes: which score must reach it: the headline ("score"), or the lowest of the parts ("weakest").
        weighted: whether the score is the mean of all values: "stated" uses the shares that the prompt asks
            for; true uses token probabilities.
        passes_without_claims: whether the prompt passes a response without claims, such as a greeting.
            The probe then leaves out the attacks that replace a wrong response with one like that.
        example_reply: an example that the reply format must read correctly.
        offline: the name of the library's judge that this one resembles, which tells the offline judge that
            this one judges grounding, and how; rows that name that judge are also for this one. None if it
            resembles none of them, or is one of them.
        questions: what to ask a model that takes no messages, instead of the prompt. Its keys depend on the
            kind of model.
        search: the messages that ask which sentences of a window of a long source matter; "" if a long
            source cannot be searched for this judge.
    """

    # A version such as 1.2 is a number in YAML.
    model_config = ConfigDict(frozen=True, coerce_numbers_to_str=True, defer_build=True)

    name: str | None = None
    description: str = ""
    version: str = "0"
    authors: Any = None
    tags: Any = None
    sample: Any = None
    ignored_keys: tuple[str, ...] = ()
    model: Mapping[str, Any] = Field(default_factory=dict)
    inputs: tuple[Input, ...] | None = None
    reply: Mapping[str, Any] | None = None
    scale: Scale | None = None
    levels: Mapping[Finite, str] = Field(default_factory=dict[float, str])
    not_applicable: tuple[Finite, ...] = ()
    threshold: Annotated[float, Field(ge=0, le=1, strict=True)] = 0.5  # strict: true is no number
    passes: Passes = "score"
    weighted: Weighted = False
    passes_without_claims: bool = False
    example_reply: ExampleReply | None = None
    offline: str | None = None
    questions: Mapping[str, Any] | None = None
    search: str = ""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The sampling parameters by their names in the chat completions API."""
        return self.model.get("parameters") or {}


KNOWN_KEYS: Mapping[str, Collection[str]] = {
    "model": ("api", "configuration", "parameters", "response"),  # Prompty's
    # Keys that seem to choose a model are refused: the caller chooses it.
    "model.configuration": ("type", "api_version", "organization", "connection"),
    "inputs": Input.model_fields,
    "scale": Scale.model_fields,
    "example_reply": ExampleReply.model_fields,
}
"""The keys that the mappings inside the front matter may have."""


OTHER_TOOLS_KEYS = frozenset(
    {
        *("author", "category", "created", "date", "id", "keywords", "language", "license", "modified"),
        *("outputs", "template", "title", "updated", "url"),
    }
)
"""The keys that other tools write in front matter, none of which can be a misspelt key of this library."""


REQUEST_PARAMETERS = (
    "temperature",
    "top_p",
    "top_k",
    "seed",
    "max_tokens",
    "max_completion_tokens",
    "reasoning_effort",
    "frequency_penalty",
    "presence_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "service_tier",
    "extra_body",
)
"""Request parameters that are often passed as options by mistake; `parameters` takes any other name too."""


def split_front_matter(text: str) -> tuple[FrontMatter, str]:
    """Split a file into its front matter, which may be missing, and the text after it.

    Raises:
        PromptError: `bad_front_matter`.
    """
    match = FRONT_MATTER.match(text)
    if match is None:
        return FrontMatter(), text
    if match["head"] is None:
        raise PromptError(
            "bad_front_matter", "the front matter never ends: close it with a second line of ---"
        )
    # A separate copy for each judge: a change to one must not affect another.
    return _read_front_matter(match["head"]).model_copy(deep=True), match["body"]


@lru_cache(maxsize=32)  # YAML takes most of the time for loading a judge, and often the same one is loaded
def _read_front_matter(head: str) -> FrontMatter:
    """Read and check the YAML between the two lines of ---."""
    settings = _read_yaml(head)
    if "inputs" in settings:  # Prompty's and other tools' spellings become ours before they are checked
        settings["inputs"] = _input_list(settings["inputs"])
    ignored_keys = [key for key in settings if key not in FrontMatter.model_fields]
    # With `reply` it is a file for this library, where an unknown key is a misspelling; without it, it may be
    # any tool's prompt, with that tool's keys.
    if "reply" in settings:
        ignored_keys = [key for key in ignored_keys if key in OTHER_TOOLS_KEYS]
        _refuse_unknown_keys({key: value for key, value in settings.items() if key not in ignored_keys})
    elif isinstance(settings.get("model"), str):
        del settings["model"]  # other tools put the model's name here
    if ignored_keys:
        settings["ignored_keys"] = [str(key) for key in ignored_keys]
    try:
        front_matter = FrontMatter.model_validate(settings)
    except ValidationError as error:
        raise PromptError("bad_front_matter", first_fault(error)) from error
    if not is_mapping(front_matter.parameters):
        raise PromptError("bad_front_matter", "model.parameters must be a mapping")
    return front_matter


def _read_yaml(head: str) -> dict[str, Any]:
    """Read the keys of the front matter that have a value."""
    import yaml  # noqa: PLC0415  needed when a prompt is read, not when the library is imported

    try:
        # The C loader is ten times as fast, but not every build of PyYAML has it.
        loader_class = _core_loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        text = f"\n{head}"  # one line down, so that errors name the line of the file
        _refuse_growing_yaml(yaml.parse(text, loader_class))
        loader = loader_class(text)
        root = loader.get_single_node()
        content = None
        if root is not None:
            _refuse_repeated_keys(root)
            content = loader.construct_document(root)
    except Exception as error:  # not only YAMLError: a date such as 2024-13-01 raises ValueError
        raise PromptError("bad_front_matter", f"the front matter is not valid YAML: {error}") from error
    if content is None:
        return {}
    if not is_mapping(content):
        raise PromptError("bad_front_matter", "the front matter must be a mapping")
    # `scale:` without a value is the same as no `scale:`.
    return {key: value for key, value in content.items() if value is not None}


@cache
def _core_loader(base: Any) -> Any:  # noqa: ANN401  PyYAML has no types
    """Return a loader that reads scalars as the core schema of YAML 1.2 does.

    PyYAML reads YAML 1.1, where `yes` is true, 010 is 8, and 1:30 is the number 90. A number of 1 MB, such as
    1:1:1, took a minute.
    """
    loader_class: Any = type("CoreLoader", (base,), {"yaml_implicit_resolvers": {}})
    for tag, (pattern, first_characters) in CORE_SCALARS.items():
        loader_class.add_implicit_resolver(tag, pattern, first_characters)
    loader_class.add_constructor("tag:yaml.org,2002:int", _construct_integer)
    return loader_class


def _construct_integer(loader: Any, node: Any) -> int:  # noqa: ANN401
    """Read an integer of YAML 1.2: "010" -> 10, "0o10" -> 8, "0x10" -> 16."""
    digits: str = loader.construct_scalar(node)
    if digits.startswith(("0o", "0x")):
        return int(digits, 0)
    return int(digits)


def _refuse_growing_yaml(events: Iterable[Any]) -> None:
    """Refuse YAML that grows when it is read: aliases repeat values that contain aliases.

    Raises:
        ValueError: it has an alias, too many values, or values nested too deeply.
    """
    from yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent  # noqa: PLC0415

    depth = 0
    for number, event in enumerate(events):
        if isinstance(event, CollectionStartEvent):
            depth += 1
        elif isinstance(event, CollectionEndEvent):
            depth -= 1
        if isinstance(event, AliasEvent):
            fault = f"aliases (*{event.anchor}) are not supported: write the value out"
        elif number > MAX_VALUES:
            fault = f"it has more than {MAX_VALUES} values"
        elif depth > DEEPEST:
            fault = f"its values are nested more than {DEEPEST} levels deep"
        else:
            continue
        message = f"{fault}{event.start_mark}"
        raise ValueError(message)


def _refuse_repeated_keys(root: Any) -> None:  # noqa: ANN401  a node of YAML, which has no types
    """Refuse a mapping with a repeated key: YAML would keep only the last one.

    Raises:
        ValueError: the message names the key and its line.
    """
    nodes = deque([root])
    while nodes:
        node = nodes.popleft()
        if node.id == "sequence":
            nodes.extend(node.value)
        if node.id != "mapping":
            continue
        keys: set[str] = set()
        for key, value in node.value:
            if str(key.value) in keys:
                message = f"the key {key.value!r} occurs twice{key.start_mark}"
                raise ValueError(message)
            keys.add(str(key.value))
            nodes.append(value)


def _input_list(inputs: object) -> object:
    """Return the inputs as a list of mappings; anything but a list or a mapping is left to validation.

    In other tools' files, inputs are names, or a mapping from each name to a mapping with its type, or just
    to a sample value.
    """
    if is_mapping(inputs):
        declarations: list[Any] = []
        for name, settings in inputs.items():
            declaration = {"name": name}
            if is_mapping(settings):
                declaration.update(settings)
            declarations.append(declaration)
        inputs = declarations
    if not is_list(inputs):
        return inputs
    return [_input_settings(declaration) for declaration in inputs]


def _input_settings(declaration: object) -> object:
    """Return an input's settings: "query" -> {"name": "query"}; for a mapping, translate its type."""
    if isinstance(declaration, str):
        return {"name": declaration}
    if is_mapping(declaration) and isinstance(declaration.get("type"), str):
        return {**declaration, "type": _input_type(declaration["type"], declaration.get("name"))}
    return declaration


def _input_type(declared_type: str, name: object) -> str:
    """Return the type of an input, given its type in the file and its name.

    ("string", "reference") -> "text", and ("string", "query") -> "messages".
    """
    field = FIELD_NAMED.get(name) if isinstance(name, str) else None
    type_ = TYPES.get(declared_type)
    # With the type text only the last message would be shown, but Prompty shows all.
    if field in MESSAGE_FIELDS and type_ == "text":
        return "messages"
    if type_ is None and field is None:
        type_ = VALUE_TYPES.get(declared_type)
    return declared_type if type_ is None else type_


def _known_place(key: object, known_keys: Collection[str]) -> str:
    """Return the end of a message: where an unknown key belongs, or which known key it resembles."""
    if key == "parameters" or key in REQUEST_PARAMETERS:
        path = "model" if key == "parameters" else "model.parameters"
        return f", which belongs under {path}"
    return did_you_mean(str(key), known_keys)


def _refuse_unknown_keys(settings: Mapping[str, Any]) -> None:
    """Refuse unknown keys, which are probably misspelt, and suggest the nearest known key for each.

    Raises:
        PromptError: `bad_front_matter`; the message lists all of them.
    """
    unknown_keys: list[str] = []
    for key in settings:
        if key not in FrontMatter.model_fields and key not in KNOWN_KEYS:
            unknown_keys.append(f"{key}{_known_place(key, FrontMatter.model_fields)}")
    for name, known_keys in KNOWN_KEYS.items():
        for mapping in _mappings_at(name, settings):
            for key in mapping:
                if key not in known_keys:
                    unknown_keys.append(f"{name}.{key}{_known_place(key, known_keys)}")
    if unknown_keys:
        hint = ""
        # Other tools put a model's name and its endpoint there.
        if any(key.startswith("model.") for key in unknown_keys):
            hint = "; choose the model in code or with --model"
        raise PromptError("bad_front_matter", f"unknown key {', '.join(unknown_keys)}{hint}")


def _mappings_at(path: str, settings: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the mappings under a dotted path, including those in a list.

    "inputs" in {"inputs": [{"name": "query"}, "context"]} -> [{"name": "query"}].
    """
    mappings = [settings]
    for name in path.split("."):
        inner_mappings: list[Mapping[str, Any]] = []
        for mapping in mappings:
            inner = mapping.get(name)
            values = inner if is_list(inner) else [inner]
            # Validation refuses anything but a mapping, with the right message.
            inner_mappings.extend(filter(is_mapping, values))
        mappings = inner_mappings
    return mappings
