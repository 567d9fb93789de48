"""The block `questions:` of a prompt file: rules, and questions with their options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import ConfigDict, field_validator, model_validator

from groundjudge.text.patterns import compile_when_used
from groundjudge.verdict import Frozen

MAX_RULES = 1500
"""Characters of the rules. Decision models read short texts closely, and are billed by what is sent."""

MAX_OPTIONS = 10
"""Options of a question. Probabilities come with two decimals: the sum of more would say nothing."""

MIN_OPTIONS = 2

NUMBER = "{{n}}"
"""The placeholder for the number of the sentence in a question about each sentence."""

REFERENCE = compile_when_used(r"\{\{\s*([^{}]*?)\s*\}\}")


# The value 8.5 is a number in YAML; a misspelt key is refused.
CONFIG = ConfigDict(frozen=True, coerce_numbers_to_str=True, extra="forbid", defer_build=True)


class EvidenceQuestion(Frozen):
    """The question of which sentence of the source supports a sentence of the response.

    Attributes:
        instructions: the question.
        none: the situation in which no sentence supports it.
    """

    model_config = CONFIG

    instructions: str
    none: str


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
    instructions: str
    options: Mapping[str, str]
    evidence: EvidenceQuestion | None = None

    @field_validator("options")
    @classmethod
    def _check_number_of_options(cls, options: Mapping[str, str]) -> Mapping[str, str]:
        if not MIN_OPTIONS <= len(options) <= MAX_OPTIONS:
            message = f"a question has {MIN_OPTIONS} to {MAX_OPTIONS} options, not {len(options)}"
            raise ValueError(message)
        return options

    @property
    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield the texts of the question, each after its key."""
        yield "instructions", self.instructions
        for name, description in self.options.items():
            yield f"options.{name}", description
        if self.evidence is not None:
            yield "evidence.instructions", self.evidence.instructions
            yield "evidence.none", self.evidence.none


class Questions(Frozen):
    """Everything that a decision model is told.

    Attributes:
        rules: what applies to all questions.
        ask: the questions.
    """

    model_config = CONFIG

    rules: str = ""
    ask: tuple[AskedQuestion, ...]

    @field_validator("rules")
    @classmethod
    def _check_length(cls, rules: str) -> str:
        rules = rules.strip()
        if len(rules) > MAX_RULES:
            message = f"it has {len(rules):,} characters, and at most {MAX_RULES:,} are allowed"
            raise ValueError(message)
        return rules

    @model_validator(mode="after")
    def _check_texts(self) -> Questions:
        """Refuse blank texts, and references in braces.

        No value of a case is put into a question, where it could pass as part of it: values are in the state.
        """
        texts = [("rules", self.rules or "-", "")]
        for question in self.ask:
            for key, text in question.texts:
                texts.append((f"ask.{question.id}.{key}", text, question.id))
        for place, text, question_id in texts:
            # Rules may be missing: then "-" takes their place in the list.
            if not text.strip():
                message = f"{place} is blank: write it out"
                raise ValueError(message)
            allowed = {"n"} if question_id == "sentence" else set[str]()
            for name in REFERENCE.findall(text):
                if name not in allowed:
                    message = f"{place}: {{{{{name}}}}} is not filled in: name the field, as in `{name}`"
                    raise ValueError(message)
        return self


class _Block(Frozen):
    """The block under its key, which errors name."""

    questions: Questions


def read_questions(block: Mapping[str, Any]) -> Questions:
    """Read the block of a prompt file.

    Raises:
        ValidationError: it is not valid; the places in it begin with "questions".
    """
    return _Block.model_validate({"questions": block}).questions
