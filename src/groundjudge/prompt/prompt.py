"""A prompt file: YAML front matter that describes the judge, and the text that is sent to the model.

Prompt files follow the Prompty layout (front matter between `---` lines, then `system:` and `user:`
sections); Markdown files with front matter and plain templates work too. There is no template
language: each placeholder is replaced once by its value, between tags that mark it as data.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from groundjudge.case.case import Case
from groundjudge.case.fields import ALIASES, FIELD_NAMED, RESERVED
from groundjudge.case.numbered import Sentences
from groundjudge.errors import CaseError, PromptError, name_list
from groundjudge.prompt.fences import Block, code_for, fence_block, without_control_tokens
from groundjudge.prompt.front_matter import FrontMatter, split_front_matter
from groundjudge.prompt.input import Input
from groundjudge.text.patterns import compile_when_used
from groundjudge.verdict import Frozen, PromptId, well_formed

# Also in capitals, but only ASCII letters: no endpoint has a role with the long s of "ſystem".
ROLE = compile_when_used(
    r"^[^\S\n]*+#?[^\S\n]*+((?a:system|user|assistant|developer))[^\S\n]*:[^\S\n]*$",
    re.IGNORECASE | re.MULTILINE,
)
# Text in double braces is a placeholder unless it looks like JSON.
DOUBLE = compile_when_used(r"\{\{\s*(?P<name>[#/^&>]?\s*[A-Za-z_][^{}\"':\n]*?)\s*\}\}")
CUSTOM_NAME = compile_when_used(r"[A-Za-z][A-Za-z0-9_-]*")
"""The names that a custom input may have: the name is used in a tag."""

MAX_PROMPT = 2**20
"""The limit for the characters of a prompt file. It is sent with every case; bundled ones have thousands."""

NAME_THE_PATH = "or give its path in `fields`, where that option exists"
"""The other remedy for a field with another name: commands and most adapters have `fields`."""

Section = tuple[str, tuple[str, ...]]
"""A role and its text, split at the placeholders: literal, name, literal, name, ..., literal."""


class Prompt(Frozen):
    """A prompt file that has been read and checked.

    Attributes:
        name: the judge's name; the file's stem if the front matter gives none.
        sha256: the hash of the file's text, as hex digits; line endings do not change it.
        front_matter: what the file says about the judge.
        sections: the messages, split at their placeholders.
        search_sections: those that ask to search a window of a long source; () if the file has none.
        inputs: what the prompt shows of a case, one for each placeholder.
        parameters: sampling parameters by their names in the chat completions API.
        path: the file, for error messages.
    """

    name: str
    sha256: str
    front_matter: FrontMatter
    sections: tuple[Section, ...]
    search_sections: tuple[Section, ...]
    inputs: tuple[Input, ...]
    parameters: Mapping[str, Any]
    path: str

    @classmethod
    def from_file(cls, path: str | Path) -> Prompt:
        """Read a prompt file and check it.

        Raises:
            PromptError: the file cannot be read or is not valid; the message names the file and the key.
        """
        try:
            with Path(path).open(encoding="utf-8") as file:
                # One character more, so that a longer file is refused and not cut.
                text = file.read(MAX_PROMPT + 1)
        except (OSError, ValueError) as error:
            message = f"{path}: the prompt file cannot be read: {error}"
            raise PromptError("unreadable_prompt", message, str(path)) from error
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: str, path: str = "prompt") -> Prompt:
        """Read a prompt from its text and check it.

        Args:
            text: the content of a prompt file.
            path: the path for error messages; its stem is the judge's name if the front matter gives none.

        Raises:
            PromptError: as for `from_file`.
        """
        if len(text) > MAX_PROMPT:
            message = f"{path}: the prompt file is too long: the limit is {MAX_PROMPT} characters"
            raise PromptError("unreadable_prompt", message, path)
        # Git and editors change line ends and the byte order mark, which must not change the hash.
        text = well_formed(text).removeprefix("\ufeff").replace("\r\n", "\n")
        try:
            front_matter, body = split_front_matter(text)
            body = _with_rules(body, front_matter)
            sections = _split_sections(body, _placeholder_pattern(body, front_matter))
            inputs = _check_inputs(front_matter, sections)
            search_sections = _read_search(front_matter, inputs)
        except PromptError as error:  # without the file's name
            raise PromptError(error.code, f"{path}: {error.message}", path) from error
        return cls(
            name=front_matter.name or Path(path).stem,
            sha256=hashlib.sha256(text.encode()).hexdigest(),
            front_matter=front_matter,
            sections=sections,
            search_sections=search_sections,
            inputs=inputs,
            parameters=dict(front_matter.parameters),
            path=path,
        )

    @property
    def description(self) -> str:
        """One sentence that says what the judge rates; "" if the file has none."""
        return self.front_matter.description

    @cached_property
    def id(self) -> PromptId:
        """The name, version and hash that identify the prompt in a verdict."""
        return PromptId(name=self.name, version=self.front_matter.version, sha256=self.sha256)

    @property
    def search(self) -> Prompt:
        """The prompt for searching a window of a long source, which is in the same file."""
        shown = _placeholders_in(self.search_sections)
        inputs = tuple(prompt_input for prompt_input in self.inputs if prompt_input.name in shown)
        # That of a verdict does not fit.
        parameters = {name: self.parameters[name] for name in self.parameters if name != "response_format"}
        changes = {"sections": self.search_sections, "inputs": inputs, "parameters": parameters}
        return self.model_copy(update=changes)

    @property
    def has_constant_system(self) -> bool:
        """Whether the first message is a system message without placeholders: the same for every case."""
        role, pieces = self.sections[0]
        return role == "system" and len(pieces) == 1

    @property
    def text(self) -> str:
        """The text of all messages, in which to look for mistakes: with a space for each placeholder."""
        pieces: list[str] = []
        for _, section in self.sections:
            pieces.append(" ".join(section[::2]))
        return "\n".join(pieces)

    def missing(self, case: Case, blank_fields: Collection[str] = ()) -> list[Input]:
        """Return the required inputs that a case lacks.

        Args:
            case: the case.
            blank_fields: the fields that must be given, but may be blank.

        Raises:
            CaseError: the value of an input, required or not, cannot be read.
        """
        missing: list[Input] = []
        for prompt_input in self.inputs:
            if prompt_input.is_missing(case, blank_fields):
                missing.append(prompt_input)
        return missing

    def check(self, case: Case, blank_fields: Collection[str] = ()) -> None:
        """Check that a case has every required input.

        Args:
            case: the case.
            blank_fields: as for `missing`.

        Raises:
            CaseError: `missing_field`; the message names all missing fields, and those that the case has. Its
                subject is the first missing field.
        """
        missing = self.missing(case, blank_fields)
        if not missing:
            return
        faults: list[str] = []
        places: list[str] = []
        can_be_empty: list[str] = []
        for prompt_input in missing:
            field = prompt_input.field
            if prompt_input.value(case) is not None:
                faults.append(f"{field}, which is given, but blank")
                if field != "response":  # which has the option `empty_response`
                    can_be_empty.append(field)
                continue
            faults.append(f"{field}, which is not given{case.hint(field)}")
            if field in case.empty_paths:
                continue  # the remedy is to correct the path
            subject = "it" if len(missing) == 1 else field
            if prompt_input.is_custom:
                place = f"{field}, as a key of the case's mapping or of its metadata"
            else:
                place = " or ".join(ALIASES[field])
            places.append(f"{subject} as {place}")
        message = f"{self.name} needs {', and '.join(faults)}."
        if places:
            message += f" Give {'; '.join(places)}"
            message += f", {NAME_THE_PATH}." if case.has_other_keys() else "."
        if can_be_empty:
            option = f"may_be_empty={json.dumps(can_be_empty)}"
            message += f" If it may be blank, for example when a search finds nothing, pass {option}."
        message += f" The case has: {name_list(case.field_names()) or 'nothing'}"
        raise CaseError("missing_field", message, missing[0].field)

    def render(
        self, case: Case, blank_fields: Collection[str] = (), sentences: Sentences | None = None
    ) -> tuple[Mapping[str, str], ...]:
        """Make the chat messages for a case: the file's text, with fenced values for its placeholders.

        The tags of a case end in a code that is derived from the values that the prompt shows, none of which
        contains it. Equal values give equal messages.

        Args:
            case: the case.
            blank_fields: as for `missing`.
            sentences: the case's sentences, if it is shown as numbered sentences.

        Returns:
            One mapping with `role` and `content` for each section.

        Raises:
            CaseError: `missing_field`, as for `check`.
        """
        self.check(case, blank_fields)
        blocks = [prompt_input.block(case, sentences) for prompt_input in self.inputs]
        code = code_for(blocks)
        values = {block.name: fence_block(block, code) for block in blocks}
        return tuple({"role": role, "content": text} for role, text in self.fill(values))

    def fill(self, values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Yield the role and the text of each message, with values in the places of the placeholders."""
        for role, pieces in self.sections:
            texts = list(pieces)
            for index in range(1, len(pieces), 2):
                texts[index] = values[pieces[index]]
            yield role, "".join(texts)

    def quoted(self, case: Case, texts: Iterable[str], sentences: Sentences | None = None) -> str:
        """Fence texts from a reply or a response, using the code of the case's tags; "" if there are none.

        A re-ask can then quote them as data, not as instructions.
        """
        code = code_for([prompt_input.block(case, sentences) for prompt_input in self.inputs])
        quotes: list[str] = []
        for text in texts:
            # None of the case's values contains the code, but a model that has seen it may have repeated it.
            quote = re.sub(code, " ", text, flags=re.IGNORECASE)
            quotes.append(fence_block(Block("quote", without_control_tokens(quote)), code))
        return "\n".join(quotes)

    def with_inputs(
        self, *, may_be_empty: Sequence[str] | None = None, optional: Sequence[str] | None = None
    ) -> Prompt:
        """Make a copy in which some inputs are less strict.

        Args:
            may_be_empty: the names of inputs that must be given but may be blank.
            optional: the names of inputs that can be left out.

        Raises:
            PromptError: `unknown_input`; the message gives the name and the prompt's inputs.
        """
        blank_fields = self._fields_named("may_be_empty", may_be_empty)
        optional_fields = self._fields_named("optional", optional)
        inputs: list[Input] = []
        for prompt_input in self.inputs:
            changes: dict[str, bool] = {}
            if prompt_input.field in blank_fields:
                changes["may_be_empty"] = True
            if prompt_input.field in optional_fields:
                changes["required"] = False
            inputs.append(prompt_input.model_copy(update=changes))
        return self.model_copy(update={"inputs": tuple(inputs)})

    def _fields_named(self, option: str, names: Sequence[str] | None) -> set[str]:
        """Return the fields that an option names, by the names of placeholders, fields or aliases."""
        if isinstance(names, str):  # otherwise each letter would be a name
            names = [names]
        input_fields = {prompt_input.field for prompt_input in self.inputs}
        fields: set[str] = set()
        for name in names or ():
            field = FIELD_NAMED.get(name, name)
            if field not in input_fields:
                inputs = ", ".join(prompt_input.name for prompt_input in self.inputs)
                message = f"{option}: {name!r} is not an input of {self.name}, whose inputs are: {inputs}"
                raise PromptError("unknown_input", message, self.path)
            fields.add(field)
        return fields


def _with_rules(body: str, front_matter: FrontMatter) -> str:
    """Insert the questions' rules where the body refers to them: they are written once, for both."""
    rules = (front_matter.questions or {}).get("rules")
    names = {prompt_input.name for prompt_input in front_matter.inputs or ()}
    if not isinstance(rules, str) or "rules" in names:
        return body
    return body.replace("{{rules}}", rules.strip())


def _placeholder_pattern(body: str, front_matter: FrontMatter) -> re.Pattern[str]:
    """Return the pattern for a file's placeholders: double braces if it has any, otherwise single ones."""
    if DOUBLE.search(body):
        return DOUBLE
    # Single braces are common in other text, such as JSON: there, only names of inputs are placeholders.
    names = set(FIELD_NAMED)
    for prompt_input in front_matter.inputs or ():
        names.add(prompt_input.name)
    alternatives = "|".join(re.escape(name) for name in sorted(names))
    return compile_when_used(rf"\{{(?P<name>{alternatives})\}}")


def _split_sections(body: str, placeholder: re.Pattern[str]) -> tuple[Section, ...]:
    r"""Split a text into its role sections, and these at their placeholders.

    "system:\nJudge.\nuser:\nQ: {{query}}" -> (("system", ("Judge.",)), ("user", ("Q: ", "query", ""))).
    """
    if "{%" in body:
        message = "{% … %} is not supported: write plain text with placeholders"
        raise PromptError("template_language", message)
    pieces = ROLE.split(body)  # the text before the first role, a role, its text, a role, its text, ...
    texts: list[tuple[str, str]] = []
    if pieces[0].strip():  # a template without roles is one user message
        texts.append(("system" if len(pieces) > 1 else "user", pieces[0].strip()))
    for role, text in zip(pieces[1::2], pieces[2::2], strict=True):
        if text.strip():  # some endpoints refuse an empty message
            texts.append((role.lower(), text.strip()))
    if not texts:
        raise PromptError("empty_prompt", "the prompt has no text")
    return tuple((role, tuple(placeholder.split(text))) for role, text in texts)


def _placeholders_in(sections: Iterable[Section]) -> dict[str, None]:
    """Return the names of the placeholders, in the order of the text."""
    placeholders: dict[str, None] = {}
    for _, pieces in sections:
        placeholders.update(dict.fromkeys(pieces[1::2]))
    return placeholders


def _read_search(front_matter: FrontMatter, inputs: Iterable[Input]) -> tuple[Section, ...]:
    """Return the sections that ask to search a window of a long source; () if the file has none.

    Raises:
        PromptError: they do not show context and response, or show something that the prompt does not.
    """
    if not front_matter.search:
        return ()
    text = _with_rules(front_matter.search, front_matter)
    try:
        sections = _split_sections(text, _placeholder_pattern(text, front_matter))
    except PromptError as error:
        raise PromptError(error.code, f"search: {error.message}") from error
    fields = {prompt_input.name: prompt_input.field for prompt_input in inputs}
    placeholders = _placeholders_in(sections)
    for name in placeholders:
        if name not in fields:
            message = (
                f"search: the prompt itself has no placeholder {name!r}: show it there too, or remove it"
            )
            raise PromptError("unknown_placeholder", message)
    if not {"context", "response"} <= {fields[name] for name in placeholders}:
        message = "search: show what is searched, and for what: {{context}} and {{response}}"
        raise PromptError("no_placeholder", message)
    return sections


def _check_inputs(front_matter: FrontMatter, sections: Iterable[Section]) -> tuple[Input, ...]:
    """Return the inputs that the file declares or, if it declares none, those that its placeholders name.

    Raises:
        PromptError: an input's name is invalid, or inputs and placeholders do not match.
    """
    placeholders = _placeholders_in(sections)
    inputs = front_matter.inputs
    if inputs is None:
        # Known answers are rare.
        inputs = tuple(Input(name=name, required=FIELD_NAMED.get(name) != "answers") for name in placeholders)
    names = [prompt_input.name for prompt_input in inputs]
    for prompt_input in inputs:
        if prompt_input.is_custom:
            file_has_inputs = front_matter.inputs is not None
            _check_custom_name(prompt_input.name, placeholders, file_has_inputs=file_has_inputs)
    for name in placeholders:
        if name not in names:
            message = f"the placeholder {name!r} is not under `inputs`: declare it there, or remove it"
            raise PromptError("unknown_placeholder", message)
    for name in names:
        if name not in placeholders:
            message = f"the input {name!r} is declared, but the text has no placeholder for it"
            raise PromptError("unused_input", message)
    if not placeholders:
        message = "the text has no placeholder such as {{response}}: the model would not see the case"
        raise PromptError("no_placeholder", message)
    return inputs


def _check_custom_name(name: str, placeholders: Collection[str], *, file_has_inputs: bool) -> None:
    """Check the name of a custom input.

    Args:
        name: the name.
        placeholders: all that the text has.
        file_has_inputs: whether the file lists its inputs. If not, each placeholder is one.

    Raises:
        PromptError: `unknown_input`: the name is reserved, invalid or most likely misspelt.
    """
    if name in RESERVED or name == "document":  # the tag around each document has that name
        fault = f"{name!r} is reserved: give it another name"
    elif not CUSTOM_NAME.fullmatch(name):
        fault = "a custom input must have a name of ASCII letters, digits, _ and -"
    elif not file_has_inputs:
        # Declared inputs replace those that placeholders name, so list all of them.
        inputs = ", ".join(f"{{name: {placeholder}}}" for placeholder in placeholders)
        fault = f"if it is a custom input, add this to the front matter: inputs: [{inputs}]"
    elif name not in placeholders:  # it is more likely a misspelt field than a new input
        fault = "the text has no placeholder for it"
    else:
        return
    message = f"is not a field of a case: {fault}; the fields are: {', '.join(FIELD_NAMED)}"
    raise PromptError("unknown_input", f"the input {name!r} {message}")
