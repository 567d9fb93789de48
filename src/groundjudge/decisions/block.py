"""The block `questions:` of a prompt file: rules, and questions with their options."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from groundjudge.text.patterns import compile_when_used
from groundjudge.verdict import Frozen

MAX_RULES = 1500
"""Characters of the rules. Decision models read short texts closely, and are billed by what is sent."""

MAX_OPTIONS = 10
"""Options of a question. Probabilities come with two decimals: the sum of more would say nothing."""

SENTENCE = "sentence"
"""The id of the question about each sentence of the response."""

NUMBER = "{{n}}"
"""The placeholder for the number of the sentence in that question."""

REFERENCE = compile_when_used(r"\{\{[^{}]*\}\}")


def _check_references(text: str, allowed: str = "") -> str:
    """Refuse references in braces.

    No value of a case is put into a question, where it could pass as part of it: values are in the state.
    """
    for reference in REFERENCE.findall(text):
        if reference != allowed:
            message = f"{reference} is not filled in: name the field, as in `{reference.strip('{} ')}`"
            raise ValueError(message)
    return text


NumberedText: TypeAlias = Annotated[
    str, Field(min_length=1), AfterValidator(partial(_check_references, allowed=NUMBER))
]
"""A text that may contain the number of a sentence."""


# The value 8.5 is a number in YAML; a misspelt key is refused.
CONFIG = ConfigDict(
    frozen=True, coerce_numbers_to_str=True, extra="forbid", defer_build=True, str_strip_whitespace=True
)


class EvidenceQuestion(Frozen):
    """The question of which sentence of the source supports a sentence of the response.

    Attributes:
        instructions: the question.
        none: the situation in which no sentence supports it.
    """

    model_config = CONFIG

    instructions: NumberedText
    none: Annotated[str, Field(min_length=1), AfterValidator(_check_references)]


class AskedQuestion(Frozen):
    """One question of a prompt file.

    Attributes:
        id: "verdict" for a judge with one value, the name of a part, or "sentence" for a question about each
            sentence of the response.
        type: "choice", or "score" for levels from the lowest to the highest.
        instructions: the question; `{{n}}` is the number of the sentence.
        options: a value of the scale, or the label of a level -> the situation in which it is right.
        evidence: for each sentence, which sentence of the source supports it; None: that is not asked.
    """

    model_config = CONFIG

    id: str
    type: Literal["choice", "score"]
    instructions: NumberedText
    options: Annotated[Mapping[str, NumberedText], Field(min_length=2, max_length=MAX_OPTIONS)]
    evidence: EvidenceQuestion | None = None

    @model_validator(mode="after")
    def _check_sentence(self) -> AskedQuestion:
        has_number = NUMBER in f"{self.instructions} {self.options}"
        if self.id != SENTENCE and (has_number or self.evidence is not None):
            message = f"only a question about each sentence, `id: {SENTENCE}`, can have evidence or {NUMBER}"
            raise ValueError(message)
        return self


class Questions(Frozen):
    """Everything that a decision model is told.

    Attributes:
        rules: what applies to all questions.
        ask: the questions.
    """

    model_config = CONFIG

    rules: Annotated[str, Field(max_length=MAX_RULES), AfterValidator(_check_references)] = ""
    ask: tuple[AskedQuestion, ...]
