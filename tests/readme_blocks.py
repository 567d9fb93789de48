"""The code blocks of README.md. As a program, this prints its Python blocks for type checkers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"^```(?P<language>.*)\n(?P<code>(?s:.*?))^```$", re.MULTILINE)
COMMAND = re.compile(r"^\$ (?P<line>(?:.*\\\n)*.*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)


class Block(NamedTuple):
    """A code block; `line` is the line of README.md that opens it."""

    language: str
    code: str
    line: int

    @property
    def name(self) -> str:
        """The block's first line."""
        return self.code.partition("\n")[0]

    @property
    def in_its_place(self) -> str:
        """The code after so many empty lines that error messages give its lines in README.md."""
        return "\n" * self.line + self.code


class Command(NamedTuple):
    """A command of a console block, and the output that README.md shows below it."""

    line: str
    output: str


def blocks() -> Iterator[Block]:
    """Every block, in order."""
    text = README.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        yield Block(found["language"], found["code"], text.count("\n", 0, found.start()) + 1)


def commands(block: Block) -> Iterator[Command]:
    """The commands of a console block: its lines that begin with a `$`."""
    for found in COMMAND.finditer(block.code.replace("\n\n$ ", "\n$ ")):
        yield Command(found["line"].replace("\\\n", " "), found["output"])


def module() -> str:
    """The Python blocks as one module, without the checks that DeepEval's and LangSmith's own types fail."""
    leave_out = "# mypy: disable-error-code=attr-defined\n# pyright: reportUnknownVariableType=false\n"
    return leave_out + "\n".join(block.code for block in blocks() if block.language == "python")


if __name__ == "__main__":
    print(module())  # noqa: T201
