"""A prompt file: YAML front matter that says what the judge is, and the text that the model gets.

The file follows the Prompty layout (front matter between `---` lines, then `system:` and `user:`
sections); Markdown files with front matter and plain templates are read too. There is no template
language: a placeholder is replaced by its value, once, and the value is fenced as data.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from groundjudge.case import (
    ALIASES,
    FIELD_NAMED,
    TOOL_TITLE,
    Case,
    Document,
    Message,
    is_blank,
    is_list,
    is_mapping,
    text_of,
    well_formed,
)
from groundjudge.errors import CaseError, PromptError
from groundjudge.verdict import Finite, Frozen, PromptId, Scale

FRONT_MATTER = re.compile(
    r"\s*---[^\S\n]*\n(?:(?P<head>.*?)^---[^\S\n]*(?:\n|\Z)(?P<body>.*))?", re.DOTALL | re.MULTILINE
)
ROLE = re.compile(
    r"^[^\S\n]*+#?[^\S\n]*+(system|user|assistant|developer)[^\S\n]*:[^\S\n]*$", re.IGNORECASE | re.MULTILINE
)
# What stands in double braces is a placeholder unless it looks like JSON.
DOUBLE = re.compile(r"\{\{\s*(?P<name>[#/^&>]?\s*[A-Za-z_][^{}\"':\n]*?)\s*\}\}")
SINGLE = re.compile(rf"\{{(?P<name>{'|'.join(FIELD_NAMED)})\}}")
# Text that a model could take for one of our fences: `<data-`, spaced, in full width, or with
# characters that cannot be seen between its letters.
_GAP = r"[\W_]{0,2}"
FENCE_LIKE = re.compile(
    rf"[<＜﹤〈](?=[\W_]{{0,4}}[dｄ]{_GAP}[aａ]{_GAP}[tｔ]{_GAP}[aａ]{_GAP}[-‐‑‒–—−﹣－\xad_:])",
    re.IGNORECASE,
)
KINDS = {"string": "text", "str": "text", "array": "list", "object": "text"}

Section = tuple[str, tuple[str, ...]]
"""A role and its text, cut at the placeholders: literal, name, literal, name, ..., literal."""


class Input(Frozen):
    """A field of the case that the prompt shows.

    `required`: it must be given and hold text; with `may_be_empty` it must be given, as empty perhaps.
    """

    name: str
    type: Literal["text", "messages", "documents", "list"] = "text"
    required: bool = True
    may_be_empty: bool = False

    @property
    def field(self) -> str:
        """The field of the case that the name stands for."""
        return FIELD_NAMED[self.name]


class ExampleReply(Frozen):
    """A reply as a model should write it, and the value or values that it must be read as."""

    text: str
    value: Finite | tuple[Finite, ...] | Mapping[str, Finite]


class FrontMatter(BaseModel):
    """What the head of a prompt file may say."""

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
    example_reply: ExampleReply | None = None

    @model_validator(mode="after")
    def _consistent(self) -> FrontMatter:
        scale = self.scale
        off = [value for value in (*self.levels, *self.not_applicable) if scale and not scale.holds(value)]
        if off:
            message = f"levels, not_applicable: {off[0]:g} is not on the scale {scale}"
            raise ValueError(message)
        return self


class Prompt(Frozen):
    """A prompt file that keeps its contract."""

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
    example_reply: ExampleReply | None
    path: str

    @classmethod
    def read(cls, path: str | Path) -> Prompt:
        """Read a prompt file and check it.

        Raises:
            PromptError: the file cannot be read or breaks its contract; the message names file and key.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            message = f"{path}: the prompt file cannot be read: {error}"
            raise PromptError("unreadable_prompt", message, str(path)) from error
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: str, path: str = "prompt") -> Prompt:
        """Read a prompt from its text; `path` names it in errors, and the judge if the text does not.

        Raises:
            PromptError: as for `read`.
        """
        text = well_formed(text).removeprefix("\ufeff").replace("\r\n", "\n")
        match = FRONT_MATTER.match(text)
        if match and match["head"] is None:
            message = f"{path}: the front matter has no end: a second line of --- is missing"
            raise PromptError("bad_front_matter", message, path)
        head = _front_matter(match["head"], path) if match else FrontMatter()
        body = match["body"] if match else text
        sections, placeholders = _sections(body, path)
        return cls(
            name=head.name or Path(path).stem,
            description=head.description,
            version=head.version,
            sha256=hashlib.sha256(text.encode()).hexdigest(),
            sections=sections,
            inputs=_inputs(head, placeholders, path),
            parameters=_parameters(head, path),
            reply=head.reply,
            scale=head.scale,
            levels=head.levels,
            not_applicable=head.not_applicable,
            threshold=head.threshold,
            example_reply=head.example_reply,
            path=path,
        )

    @property
    def id(self) -> PromptId:
        """What identifies the prompt in a verdict."""
        return PromptId(name=self.name, version=self.version, sha256=self.sha256)

    def check(self, case: Case) -> None:
        """Make sure that a case has what the prompt asks for.

        Raises:
            CaseError: `missing_field`, naming the field and what the case has instead.
        """
        for each in self.inputs:
            value = getattr(case, each.field)
            if each.required and (value is None or (is_blank(value) and not each.may_be_empty)):
                names = " or ".join((each.field, *ALIASES[each.field]))
                message = (
                    f"{self.name} needs {each.field}, which is {'not given' if value is None else 'blank'}. "
                    f"Give it as {names}. The case has: {', '.join(case.given()) or 'nothing'}"
                )
                raise CaseError("missing_field", message, each.field)

    def render(self, case: Case) -> tuple[Mapping[str, str], ...]:
        """The messages for a case: the file's text, with every placeholder replaced by its fenced value.

        Raises:
            CaseError: `missing_field`.
        """
        self.check(case)
        fences = {
            each.name: fenced(each.name, _written(getattr(case, each.field), each)) for each in self.inputs
        }
        return tuple(
            {
                "role": role,
                "content": "".join(
                    fences[piece] if index % 2 else piece for index, piece in enumerate(pieces)
                ),
            }
            for role, pieces in self.sections
        )


def fenced(name: str, text: str) -> str:
    """A value between the tags that mark it as data; `text` is neutralised already."""
    return f"<data-{name}>\n{text}\n</data-{name}>" if text else f"<data-{name}>\n</data-{name}>"


def neutralised(text: str) -> str:
    """The text with whatever looks like a fence made harmless; the length stays, so offsets do too."""
    return FENCE_LIKE.sub("‹", text)


def _written(value: Any, shown: Input) -> str:  # noqa: ANN401  any field's value
    """A field of a case as text: documents as numbered blocks, other lists as JSON."""
    if value is None or value == ():
        return "[]" if shown.type == "list" else ""
    if shown.field == "context":
        held = [document for document in value if not is_blank(document)]
        return "\n".join(_block(number, document) for number, document in enumerate(held, 1))
    if shown.type == "text" and shown.field in {"query", "response"}:
        value = text_of(value, "user" if shown.field == "query" else "assistant")
    if not isinstance(value, str):
        listed = [_message(item) if isinstance(item, Message) else item for item in value]
        value = json.dumps(listed, ensure_ascii=False)
    return neutralised(value)


def _block(number: int, document: Document) -> str:
    title = document.title
    if document.kind == "tool" and not title.startswith(TOOL_TITLE):
        title = f"{TOOL_TITLE} {title}".strip()
    tool = ' kind="tool result"' if document.kind == "tool" else ""
    titled = f' title="{_attribute(title)}"' if title else ""
    content = neutralised(document.content.strip())
    return f'<data-document number="{number}"{tool}{titled}>\n{content}\n</data-document>'


def _attribute(title: str) -> str:
    """A title that cannot leave its quotation marks or its tag."""
    return " ".join(neutralised(title).translate({ord('"'): "'", ord("<"): "‹", ord(">"): "›"}).split())


def _message(message: Message) -> dict[str, Any]:
    written: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.name:
        written["name"] = message.name
    if message.tool_calls:
        written["tool_calls"] = [dict(call) for call in message.tool_calls]
    return written


def _front_matter(head: str, path: str) -> FrontMatter:
    import yaml  # noqa: PLC0415  needed when a prompt is read, not when the library is imported

    try:
        loaded = yaml.safe_load(f"\n{head}")  # one line down, where the file has it
    except Exception as error:  # a date such as 2024-13-01 is a ValueError, and there are more
        raise PromptError(
            "bad_front_matter", f"{path}: the front matter is no YAML: {error}", path
        ) from error
    if loaded is not None and not is_mapping(loaded):
        raise PromptError("bad_front_matter", f"{path}: the front matter must be a mapping", path)
    told = {key: value for key, value in (loaded or {}).items() if value is not None}
    if "inputs" in told:
        told["inputs"] = _listed(told["inputs"])
    if "reply" not in told and isinstance(told.get("model"), str):
        del told["model"]  # other tools name their model so
    unknown = _unknown(told) if "reply" in told else []
    if unknown:
        raise PromptError("bad_front_matter", f"{path}: unknown key {', '.join(unknown)}", path)
    try:
        return FrontMatter.model_validate(told)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        message = f"{path}: {key + ': ' if key else ''}{first['msg'].removeprefix('Value error, ')}"
        raise PromptError("bad_front_matter", message, path) from error


def _listed(inputs: object) -> object:
    """The inputs as a list, also where they are told as other files do: names, or a mapping from names.

    What such a mapping holds for a name is a mapping with its type, or just a sample value.
    """
    if is_mapping(inputs):
        inputs = [{"name": name, **(told if is_mapping(told) else {})} for name, told in inputs.items()]
    return [_described(each) for each in inputs] if is_list(inputs) else inputs


def _described(told: object) -> object:
    if isinstance(told, str):
        return {"name": told}
    if is_mapping(told) and isinstance(told.get("type"), str):
        return {**told, "type": KINDS.get(told["type"], told["type"])}
    return told


def _unknown(told: Mapping[str, Any]) -> list[str]:
    """The keys that nobody reads, which are misspelt more often than not."""
    known = {
        "model": ("api", "configuration", "parameters", "response"),  # Prompty's
        "inputs": Input.model_fields,
        "scale": Scale.model_fields,
        "example_reply": ExampleReply.model_fields,
    }
    unknown = [str(key) for key in told if key not in FrontMatter.model_fields]
    for name, keys in known.items():
        held = told.get(name)
        for each in held if is_list(held) else [held]:
            if is_mapping(each):
                unknown += [f"{name}.{key}" for key in each if key not in keys]
    return unknown


def _parameters(head: FrontMatter, path: str) -> Mapping[str, Any]:
    parameters = head.model.get("parameters")
    if parameters is None:
        return {}
    if not is_mapping(parameters):
        raise PromptError("bad_front_matter", f"{path}: model.parameters must be a mapping", path)
    return dict(parameters)


def _sections(body: str, path: str) -> tuple[tuple[Section, ...], tuple[str, ...]]:
    """The role sections, cut at their placeholders, and the placeholders' names in their order."""
    if "{%" in body:
        raise PromptError(
            "template_language", f"{path}: {{% … %}} is not understood: only placeholders are", path
        )
    placeholder = DOUBLE if DOUBLE.search(body) else SINGLE
    before, *rest = ROLE.split(body)
    texts = [(role.lower(), text.strip()) for role, text in zip(rest[::2], rest[1::2], strict=True)]
    if before.strip():
        texts.insert(0, ("system" if texts else "user", before.strip()))
    sections = tuple((role, tuple(placeholder.split(text))) for role, text in texts if text)
    if not sections:
        raise PromptError("empty_prompt", f"{path}: the prompt has no text", path)
    names = tuple(dict.fromkeys(name for _, pieces in sections for name in pieces[1::2]))
    return sections, names


def _inputs(head: FrontMatter, placeholders: Sequence[str], path: str) -> tuple[Input, ...]:
    """The inputs as the file declares them or, where it does not, as its placeholders name them."""
    declared = (
        head.inputs
        if head.inputs is not None
        else tuple(Input(name=name, required=FIELD_NAMED.get(name) != "answers") for name in placeholders)
    )
    for each in declared:
        if each.name not in FIELD_NAMED:
            known = ", ".join(FIELD_NAMED)
            message = f"{path}: the input {each.name!r} is no field of a case; the names are: {known}"
            raise PromptError("unknown_input", message, path)
    unknown = [name for name in placeholders if name not in {each.name for each in declared}]
    if unknown:
        message = f"{path}: the placeholder {unknown[0]!r} is not among the inputs: declare it or take it out"
        raise PromptError("unknown_placeholder", message, path)
    for each in declared:
        if each.name not in placeholders:
            message = f"{path}: the input {each.name!r} is declared, but the text has no placeholder for it"
            raise PromptError("unused_input", message, path)
    if not placeholders:
        message = (
            f"{path}: the text has no placeholder, such as {{{{response}}}}: the model would not see the case"
        )
        raise PromptError("no_placeholder", message, path)
    return declared
