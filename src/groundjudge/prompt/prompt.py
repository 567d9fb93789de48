"""A prompt file: YAML front matter that describes the judge, and the text that is sent to the model.

Prompt files follow the Prompty layout (front matter between `---` lines, then `system:` and `user:`
sections); Markdown files with front matter and plain templates work too. There is no template
language: each placeholder is replaced once by its value, between tags that mark it as data.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from groundjudge.case.case import Case, Document, Message
from groundjudge.case.data import is_list, is_mapping
from groundjudge.case.fields import ALIASES, FIELD_NAMED, RESERVED
from groundjudge.case.shapes import TOOL_TITLE, is_blank, text_of
from groundjudge.errors import CaseError, PromptError, did_you_mean, first_fault
from groundjudge.prompt.fences import Block, attribute, code_for, fence_block, without_control_tokens
from groundjudge.scale import Scale
from groundjudge.verdict import Finite, Frozen, Passes, PromptId, well_formed

FRONT_MATTER = re.compile(
    r"\s*---[^\S\n]*\n(?:(?P<head>.*?)^---[^\S\n]*(?:\n|\Z)(?P<body>.*))?", re.DOTALL | re.MULTILINE
)
ROLE = re.compile(
    r"^[^\S\n]*+#?[^\S\n]*+(system|user|assistant|developer)[^\S\n]*:[^\S\n]*$", re.IGNORECASE | re.MULTILINE
)
# Text in double braces is a placeholder unless it looks like JSON.
DOUBLE = re.compile(r"\{\{\s*(?P<name>[#/^&>]?\s*[A-Za-z_][^{}\"':\n]*?)\s*\}\}")
OWN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
"""What an input of a prompt's own may be called: the name stands in a tag."""
TYPES = {"string": "text", "str": "text", "array": "list", "object": "text"}
"""Prompty's names of input types, and what they are here."""

VALUE_TYPES = {"number": "text", "integer": "text", "boolean": "text"}
"""Prompty's types that only an input of the prompt's own can have, and what they are here."""

MESSAGE_FIELDS = ("query", "response", "conversation")
"""The fields that may hold messages. A string in Prompty's sense shows all of them."""

LARGEST_PROMPT = 2**20
"""Characters of a prompt file. It is sent with every case; the longest of the library has some thousands."""

MOST_VALUES = 10_000
DEEPEST = 50
"""How many values front matter has at most, and how deeply they are nested."""

Section = tuple[str, tuple[str, ...]]
"""A role and its text, split at the placeholders: literal, name, literal, name, ..., literal."""


class Input(Frozen):
    """A field of the case, or an entry of its metadata, that the prompt shows to the model.

    Attributes:
        name: the name of the placeholder: the field's own name, one of its aliases, or a key of the metadata.
        type: how the value is written: as text (of messages the last one), as JSON messages, as numbered
            documents or as a JSON list.
        required: a case without the field, or with a blank one, is an error.
        may_be_empty: a required field must be given but may be blank.
    """

    name: str
    type: Literal["text", "messages", "documents", "list"] = "text"
    required: bool = True
    may_be_empty: bool = False

    @cached_property
    def field(self) -> str:
        """The name of the case's field, or the key of the metadata."""
        return FIELD_NAMED.get(self.name, self.name)

    @property
    def is_custom(self) -> bool:
        """Whether the input is the prompt's own: it is looked up in the case's metadata."""
        return self.name not in FIELD_NAMED

    def value(self, case: Case) -> Any:  # noqa: ANN401  any field's value
        """What a case has for the input; None if it was not given.

        Raises:
            CaseError: the value cannot be read, or two keys give different ones.
        """
        return case.metadata_value(self.name, self.type) if self.is_custom else case.value(self.field)


class ExampleReply(Frozen):
    """A reply as the model should write it, and the value or values that must be read from it."""

    text: str
    value: Finite | str | tuple[Finite | str | None, ...] | Mapping[str, Finite | str]


class FrontMatter(BaseModel):
    """The keys of a prompt file's front matter."""

    model_config = ConfigDict(frozen=True, coerce_numbers_to_str=True, defer_build=True)

    name: str | None = None
    description: str = ""
    version: str = "0"
    authors: Any = None
    tags: Any = None
    sample: Any = None
    model: Mapping[str, Any] = Field(default_factory=dict)
    inputs: tuple[Input, ...] | None = None
    reply: Mapping[str, Any] | None = None
    scale: Scale | None = None
    levels: Mapping[Finite, str] = Field(default_factory=dict[float, str])
    not_applicable: tuple[Finite, ...] = ()
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.5
    passes: Passes = "score"
    example_reply: ExampleReply | None = None


class Prompt(Frozen):
    """A prompt file that has been read and checked.

    Attributes:
        name: the judge's name; the file's stem if the front matter gives none.
        description: one sentence that says what the judge rates.
        version: the version of the prompt, "0" if the front matter gives none.
        sha256: the hash of the file's text, as hex digits; line endings do not change it.
        sections: the messages, split at their placeholders.
        inputs: what the prompt shows of a case, one for each placeholder.
        parameters: sampling parameters by their names in the chat completions API.
        reply: the reply format and its options, or None if the file names none.
        scale: the scale of the value in the reply, or None if the file names none.
        levels: the highest value of each level -> the level's label.
        not_applicable: the values that mean that there is nothing to judge.
        threshold: the score, 0..1, from which a response passes.
        passes: which score that is: the headline ("score"), or the lowest score of the parts ("weakest").
        example_reply: an example that the reply format must read correctly.
        path: the file, for error messages.
    """

    name: str
    description: str
    version: str
    sha256: str
    sections: tuple[Section, ...]
    inputs: tuple[Input, ...]
    parameters: Mapping[str, Any]
    reply: Mapping[str, Any] | None
    scale: Scale | None
    levels: Mapping[float, str]
    not_applicable: tuple[float, ...]
    threshold: float
    passes: Passes
    example_reply: ExampleReply | None
    path: str

    @classmethod
    def from_file(cls, path: str | Path) -> Prompt:
        """Read a prompt file and check it.

        Raises:
            PromptError: the file cannot be read or is not valid; the message names the file and the key.
        """
        try:
            with Path(path).open(encoding="utf-8") as file:
                text = file.read(LARGEST_PROMPT + 1)
        except (OSError, ValueError) as error:
            message = f"{path}: the prompt file cannot be read: {error}"
            raise PromptError("unreadable_prompt", message, str(path)) from error
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: str, path: str = "prompt") -> Prompt:
        """Read a prompt from its text and check it.

        Args:
            text: the content of a prompt file.
            path: named in errors; its stem is the judge's name if the front matter gives none.

        Raises:
            PromptError: as for `from_file`.
        """
        if len(text) > LARGEST_PROMPT:
            message = f"{path}: a prompt file has at most {LARGEST_PROMPT} characters"
            raise PromptError("unreadable_prompt", message, path)
        text = well_formed(text).removeprefix("\ufeff").replace("\r\n", "\n")
        try:
            head, body = _split(text)
            sections = _sections(body, _placeholder(body, head))
            inputs = _inputs(head, {name: None for _, pieces in sections for name in pieces[1::2]})
        except PromptError as error:  # it does not know the file
            raise PromptError(error.code, f"{path}: {error.message}", path) from error
        settings: dict[str, Any] = dict(head) | {  # those of other tools are ignored
            "name": head.name or Path(path).stem,
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
            "sections": sections,
            "inputs": inputs,
            "parameters": dict(head.model.get("parameters") or {}),
        }
        return cls(**settings, path=path)

    @cached_property
    def id(self) -> PromptId:
        """The name, version and hash that identify the prompt in a verdict."""
        return PromptId(name=self.name, version=self.version, sha256=self.sha256)

    def missing(self, case: Case) -> list[Input]:
        """The required inputs that a case does not have."""
        values = [(each, each.value(case)) for each in self.inputs]
        return [
            each
            for each, value in values
            if each.required and (value is None or (is_blank(value) and not each.may_be_empty))
        ]

    def check(self, case: Case) -> None:
        """Check that a case has every required input.

        Raises:
            CaseError: `missing_field`; the message names all fields that are missing, and those that the case
                has. Its subject is the first that is missing.
        """
        missing = self.missing(case)
        if missing:
            needed = ", and ".join(f"{each.field}, which is {_state(each, case)}" for each in missing)
            places = [f"{'it' if len(missing) == 1 else each.field} as {_places(each)}" for each in missing]
            has = ", ".join(case.field_names()) or "nothing"
            message = f"{self.name} needs {needed}. Give {'; '.join(places)}. The case has: {has}"
            raise CaseError("missing_field", message, missing[0].field)

    def render(self, case: Case) -> tuple[Mapping[str, str], ...]:
        """The chat messages for a case: the file's text, with each placeholder replaced by its fenced value.

        The tags of a case end in a code that is made from the values that the prompt shows, and is in none
        of them. Equal values give equal messages.

        Returns:
            One mapping with `role` and `content` for each section.

        Raises:
            CaseError: `missing_field`, as for `check`.
        """
        self.check(case)
        blocks, code = self._blocks(case)
        values = {block.name: fence_block(block, code) for block in blocks}
        return tuple({"role": role, "content": _filled(pieces, values)} for role, pieces in self.sections)

    def quoted(self, case: Case, texts: Iterable[str]) -> str:
        """Texts from a reply or a response between the same tags as the values of the case; "" for none."""
        _, code = self._blocks(case)
        harmless = (re.sub(code, " ", without_control_tokens(text), flags=re.IGNORECASE) for text in texts)
        return "\n".join(fence_block(Block("quote", text), code) for text in harmless)

    def _blocks(self, case: Case) -> tuple[list[Block], str]:
        """The values of a case that are shown, and the code of their tags."""
        blocks = [_block(each, each.value(case)) for each in self.inputs]
        return blocks, code_for(blocks)

    def with_inputs(
        self, *, may_be_empty: Sequence[str] | None = None, optional: Sequence[str] | None = None
    ) -> Prompt:
        """The prompt with some of its inputs made less strict.

        Args:
            may_be_empty: the names of inputs that must be given but may be blank.
            optional: the names of inputs that need not be given.

        Raises:
            PromptError: `unknown_input`; the message gives the name and the prompt's inputs.
        """
        blank = self._fields_named("may_be_empty", may_be_empty)
        left_out = self._fields_named("optional", optional)
        inputs = tuple(
            each.model_copy(
                update={
                    "may_be_empty": each.may_be_empty or each.field in blank,
                    "required": each.required and each.field not in left_out,
                }
            )
            for each in self.inputs
        )
        return self.model_copy(update={"inputs": inputs})

    def _fields_named(self, option: str, names: Sequence[str] | None) -> set[str]:
        """The fields that an option names, by the names of placeholders, fields or aliases."""
        fields = {
            name: FIELD_NAMED.get(name, name) for name in ([names] if isinstance(names, str) else names or ())
        }
        for name, field in fields.items():
            if field not in {each.field for each in self.inputs}:
                inputs = ", ".join(each.name for each in self.inputs)
                message = f"{option}: {name!r} is not an input of {self.name}, whose inputs are: {inputs}"
                raise PromptError("unknown_input", message, self.path)
        return {*fields.values()}


def _state(shown: Input, case: Case) -> str:
    """What is wrong with the value of a missing input."""
    return f"not given{case.hint(shown.field)}" if shown.value(case) is None else "blank"


def _places(shown: Input) -> str:
    """Where an input's value can be given, for error messages."""
    if shown.is_custom:
        return f"{shown.name}, as a key of the case's mapping or of its metadata"
    return " or ".join((shown.field, *ALIASES[shown.field]))


def _filled(pieces: Sequence[str], values: Mapping[str, str]) -> str:
    """A section's text, with the value in place of each placeholder."""
    return "".join(values[piece] if index % 2 else piece for index, piece in enumerate(pieces))


def _block(shown: Input, value: Any) -> Block:  # noqa: ANN401  any field's value
    """A field of a case as a block of text: documents as numbered blocks inside it, other lists as JSON."""
    if shown.field == "context" or (shown.is_custom and shown.type == "documents"):
        documents = [document for document in value or () if not is_blank(document)]
        return Block(shown.name, tuple(_document(*numbered) for numbered in enumerate(documents, 1)))
    return Block(shown.name, without_control_tokens(_written(shown, value)))


def _written(shown: Input, value: Any) -> str:  # noqa: ANN401  any field's value
    """A field of a case as text; lists and messages as JSON."""
    if value is None or value == ():
        return "[]" if shown.type == "list" else ""
    if shown.type == "text" and shown.field in {"query", "response"}:
        value = text_of(value, "user" if shown.field == "query" else "assistant")
    if isinstance(value, str):
        return value
    items = [_message(item) if isinstance(item, Message) else item for item in value]
    return json.dumps(items, ensure_ascii=False)


def _document(number: int, document: Document) -> Block:
    """A document between its own tags; a tool result is marked as one by its kind and its title."""
    is_tool, title = document.kind == "tool", document.title
    if is_tool and not title.startswith(TOOL_TITLE):
        title = f"{TOOL_TITLE} {title}".strip()
    attributes = {"number": str(number), "kind": "tool result" if is_tool else "", "title": title}
    shown = (attribute(name, value) for name, value in attributes.items() if value.strip())
    return Block("document", without_control_tokens(document.content.strip()), "".join(shown))


def _message(message: Message) -> dict[str, Any]:
    optional = {"name": message.name, "tool_calls": [dict(call) for call in message.tool_calls]}
    given = {key: value for key, value in optional.items() if value}
    return {"role": message.role, "content": message.content, **given}


# The functions that read a file name the key in their errors, and `Prompt.parse` adds the file's name.


def _split(text: str) -> tuple[FrontMatter, str]:
    """The front matter, which may be missing, and the text after it."""
    match = FRONT_MATTER.match(text)
    if match is None:
        return FrontMatter(), text
    if match["head"] is None:
        raise PromptError("bad_front_matter", "the front matter has no end: add a second line of ---")
    return _front_matter(match["head"]), match["body"]


def _front_matter(head: str) -> FrontMatter:
    settings = _yaml_mapping(head)
    if "inputs" in settings:
        settings["inputs"] = _input_list(settings["inputs"])
    if "reply" not in settings and isinstance(settings.get("model"), str):
        del settings["model"]  # other tools put the model's name here
    unknown = _unknown_keys(settings) if "reply" in settings else []
    if unknown:
        choice = (
            "; the model is chosen in code or by --model" if any("model." in key for key in unknown) else ""
        )
        raise PromptError("bad_front_matter", f"unknown key {', '.join(unknown)}{choice}")
    try:
        made = FrontMatter.model_validate(settings)
    except ValidationError as error:
        raise PromptError("bad_front_matter", first_fault(error)) from error
    if not is_mapping(made.model.get("parameters") or {}):
        raise PromptError("bad_front_matter", "model.parameters must be a mapping")
    return made


def _yaml_mapping(head: str) -> dict[str, Any]:
    """The keys of the front matter that have a value."""
    import yaml  # noqa: PLC0415  needed when a prompt is read, not when the library is imported

    try:
        make: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C where it is there: ten times as fast
        text = f"\n{head}"  # one line down, so that errors name the line of the file
        _refuse_bombs(yaml.parse(text, make))
        loader = make(text)
        root = loader.get_single_node()
        _refuse_repeated_keys(root)
        loaded = None if root is None else loader.construct_document(root)
    except Exception as error:  # not only YAMLError: a date such as 2024-13-01 raises ValueError
        raise PromptError("bad_front_matter", f"the front matter is not valid YAML: {error}") from error
    if loaded is not None and not is_mapping(loaded):
        raise PromptError("bad_front_matter", "the front matter must be a mapping")
    return {key: value for key, value in (loaded or {}).items() if value is not None}


def _refuse_bombs(events: Iterable[Any]) -> None:
    """Raise a ValueError for YAML that grows when it is read: aliases repeat values that hold aliases."""
    depth = 0
    for number, event in enumerate(events):
        kind = type(event).__name__
        depth += kind in {"MappingStartEvent", "SequenceStartEvent"}
        depth -= kind in {"MappingEndEvent", "SequenceEndEvent"}
        faults = {
            f"aliases (*{getattr(event, 'anchor', '')}) are not read: write the value out": kind
            == "AliasEvent",
            f"it has more than {MOST_VALUES} values": number > MOST_VALUES,
            f"it has more than {DEEPEST} values in each other": depth > DEEPEST,
        }
        for fault in filter(faults.get, faults):
            message = f"{fault}{event.start_mark}"
            raise ValueError(message)


def _refuse_repeated_keys(root: Any) -> None:  # noqa: ANN401  a node of YAML, which has no types
    """Raise a ValueError if a mapping has a key twice: YAML would keep the last one only."""
    nodes: list[Any] = [] if root is None else [root]
    for node in nodes:  # which grows
        if isinstance(node.value, str):
            continue
        nodes += [value for _, value in node.value] if node.id == "mapping" else node.value
        keys: dict[str, Any] = {}
        for key, _ in node.value if node.id == "mapping" else ():
            if keys.setdefault(str(key.value), key) is not key:
                message = f"the key {key.value!r} occurs twice{key.start_mark}"
                raise ValueError(message)


def _input_list(inputs: object) -> object:
    """The inputs as a list of mappings; other tools' files have names, or a mapping from names.

    Such a mapping gives each name a mapping with its type, or just a sample value.
    """
    if is_mapping(inputs):
        inputs = [
            {"name": name, **(settings if is_mapping(settings) else {})} for name, settings in inputs.items()
        ]
    return [_input_settings(item) for item in inputs] if is_list(inputs) else inputs


def _input_settings(item: object) -> object:
    if isinstance(item, str):
        return {"name": item}
    if is_mapping(item) and isinstance(item.get("type"), str):
        return {**item, "type": _type(item["type"], item.get("name"))}
    return item


def _type(declared: str, name: object) -> str:
    """An input's type by the name that the file has for it."""
    field = FIELD_NAMED.get(name) if isinstance(name, str) else None
    if field in MESSAGE_FIELDS and TYPES.get(declared) == "text":
        return "messages"
    return (TYPES if field else TYPES | VALUE_TYPES).get(declared, declared)


def _unknown_keys(settings: Mapping[str, Any]) -> list[str]:
    """The keys that nothing reads, which are probably misspelt, each with the nearest that is read there."""
    model = settings.get("model")
    settings = {**settings, "model.configuration": model.get("configuration") if is_mapping(model) else None}
    known = {
        "model": ("api", "configuration", "parameters", "response"),  # Prompty's
        # What would be taken for the choice of a model is refused: the caller chooses it.
        "model.configuration": ("type", "api_version", "organization", "connection"),
        "inputs": Input.model_fields,
        "scale": Scale.model_fields,
        "example_reply": ExampleReply.model_fields,
    }
    top = FrontMatter.model_fields
    unknown = [f"{key}{did_you_mean(str(key), top)}" for key in settings if key not in {*top, *known}]
    for name, keys in known.items():
        value = settings.get(name)
        for item in value if is_list(value) else [value]:
            if is_mapping(item):
                unknown += [f"{name}.{key}{did_you_mean(str(key), keys)}" for key in item if key not in keys]
    return unknown


def _placeholder(body: str, head: FrontMatter) -> re.Pattern[str]:
    """What a placeholder looks like in a file: in double braces if it has any, otherwise in single ones."""
    if DOUBLE.search(body):
        return DOUBLE
    names = sorted({*FIELD_NAMED, *(each.name for each in head.inputs or ())})
    return re.compile(rf"\{{(?P<name>{'|'.join(map(re.escape, names))})\}}")


def _sections(body: str, placeholder: re.Pattern[str]) -> tuple[Section, ...]:
    """The role sections, split at their placeholders."""
    if "{%" in body:
        message = "{% … %} is not supported: a prompt is plain text with placeholders"
        raise PromptError("template_language", message)
    before, *rest = ROLE.split(body)
    texts = [(role.lower(), text.strip()) for role, text in zip(rest[::2], rest[1::2], strict=True)]
    if before.strip():
        texts.insert(0, ("system" if texts else "user", before.strip()))
    sections = tuple((role, tuple(placeholder.split(text))) for role, text in texts if text)
    if not sections:
        raise PromptError("empty_prompt", "the prompt has no text")
    return sections


def _inputs(head: FrontMatter, placeholders: Collection[str]) -> tuple[Input, ...]:
    """The inputs that the file declares or, if it declares none, those that its placeholders name."""
    inputs = head.inputs
    if inputs is None:
        inputs = tuple(Input(name=name, required=FIELD_NAMED.get(name) != "answers") for name in placeholders)
    declared = [each.name for each in inputs]
    for each in inputs:
        fault = each.is_custom and _own_fault(each.name, placeholders, is_declared=head.inputs is not None)
        if fault:
            message = f"is not a field of a case and {fault}; the fields' names are: {', '.join(FIELD_NAMED)}"
            raise PromptError("unknown_input", f"the input {each.name!r} {message}")
    for name in placeholders:
        if name not in declared:
            message = f"the placeholder {name!r} is not among the inputs: declare it or remove it"
            raise PromptError("unknown_placeholder", message)
    for name in declared:
        if name not in placeholders:
            message = f"the input {name!r} is declared, but the text has no placeholder for it"
            raise PromptError("unused_input", message)
    if not placeholders:
        message = "the text has no placeholder such as {{response}}: the model would not see the case"
        raise PromptError("no_placeholder", message)
    return inputs


def _own_fault(name: str, placeholders: Collection[str], *, is_declared: bool) -> str:
    """Why this input name is reserved, or why it cannot be an input of the prompt's own; "" if it can."""
    if name in RESERVED or name == "document":
        return f"{name!r} is reserved: give it another name"
    if not OWN_NAME.fullmatch(name):
        return "an input of your own must have a name of ASCII letters, digits, _ and -"
    if not is_declared:
        return f"if it is an input of your own, declare it: inputs: [{{name: {name}, type: text}}, …]"
    return "" if name in placeholders else "the text has no placeholder for it"
