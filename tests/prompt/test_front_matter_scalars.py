"""Scalars in front matter are those of YAML 1.2's core schema, in linear time."""

from __future__ import annotations

from contextlib import suppress
from time import process_time

import pytest

from groundjudge.errors import PromptError
from groundjudge.prompt.prompt import Prompt

SCALARS: dict[str, tuple[str, object]] = {
    "yes is a text": ("yes", "yes"),
    "no is a text": ("No", "No"),
    "on is a text": ("on", "on"),
    "off is a text": ("OFF", "OFF"),
    "true": ("true", True),
    "true in capitals": ("TRUE", True),
    "false": ("False", False),
    "a number": ("40", 40),
    "a number with a sign": ("+40", 40),
    "a number that begins with 0 is decimal": ("010", 10),
    "an octal number": ("0o10", 8),
    "a hexadecimal number": ("0x1F", 31),
    "a binary number is a text": ("0b11", "0b11"),
    "an hour is a text": ("1:30", "1:30"),
    "a number with underscores is a text": ("1_000", "1_000"),
    "a fraction": ("0.5", 0.5),
    "a fraction without digits before the point": (".5", 0.5),
    "a fraction without digits behind the point": ("5.", 5.0),
    "an exponent": ("1e3", 1000.0),
    "infinite": ("-.inf", float("-inf")),
    "a version is a text": ("1.2.3", "1.2.3"),
    "a date is a text": ("2024-03-12", "2024-03-12"),
    "no date is a text": ("2024-13-45", "2024-13-45"),
    "a number in quotation marks is a text": ('"40"', "40"),
    "an equals sign is a text": ("=", "="),
    "nothing": ("~", None),
    "null": ("null", None),
}


@pytest.mark.parametrize("name", SCALARS)
def test_scalars_are_those_of_the_core_schema(name: str) -> None:
    written, value = SCALARS[name]
    prompt = Prompt.parse(f"---\nmodel: {{parameters: {{stop: {written}}}}}\n---\nuser:\n{{{{query}}}}")
    read = prompt.parameters["stop"]
    assert (type(read), read) == (type(value), value)


def test_words_for_yes_and_no_are_labels() -> None:
    prompt = Prompt.parse("---\nscale: {choices: {yes: 1, no: 0}}\n---\nuser:\n{{query}}")
    assert prompt.front_matter.scale is not None
    assert prompt.front_matter.scale.choices == {"yes": 1, "no": 0}


LONG = {
    "a number of base 60": "1:",
    "digits": "1",
    "digits with underscores": "1_",
    "exponents": "1e",
    "fractions": "1.",
    "hexadecimal digits": "0x1",
    "tags": "!!",
    "brackets": "[",
}


@pytest.mark.parametrize("name", LONG)
def test_long_scalars_are_read_or_refused_in_time(name: str) -> None:
    text = LONG[name] * (300_000 // len(LONG[name]))
    started = process_time()
    with suppress(PromptError):
        Prompt.parse(f"---\ndescription: {text}\n---\nuser:\n{{{{query}}}}")
    assert process_time() - started < 1  # a number of base 60 took five seconds
