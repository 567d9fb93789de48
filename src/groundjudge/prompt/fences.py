"""Fences: the tags that mark the values of a case as data.

The tags of a case end in a code that occurs in none of its values, so that no value can contain one of them:
neither look-alikes nor other tags have to be found and removed. The values are shown as they are, except for
the control tokens of chat templates, which a server may parse wherever they stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from unicodedata import category, normalize

CODE_LENGTH = 8
"""Hexadecimal digits in the code of a tag."""

HARMLESS = "‹"
"""Replaces the opening bracket of a control token; it has the same length, so that offsets stay true."""

IN_ANGLES = ("s", "bos", "eos", "pad", "unk", "sop", "SYS", "start_of_turn", "end_of_turn")
IN_SQUARES = ("INST", "SYSTEM_PROMPT", "AVAILABLE_TOOLS", "TOOL_CALLS", "TOOL_RESULTS", "gMASK")
"""Control tokens without a bar, such as `</s>`, `<<SYS>>` and `[/INST]`; those with a bar need no list."""


def _in_any_width(names: Iterable[str]) -> str:
    """Return a pattern for any of the names in ASCII or full-width characters."""
    full_width = 0xFEE0  # from an ASCII character to its twin
    patterns: list[str] = []
    for name in names:
        pattern = ""
        for char in name:
            pattern += f"[{char}{chr(ord(char) + full_width)}]"
        patterns.append(pattern)
    return "|".join(patterns)


OPENING = "<＜[［"
ANGLE = rf"[|｜]|[/／]?(?:{_in_any_width(IN_ANGLES)})[>＞]|\w{{1,40}}[|｜][>＞]"
SQUARE = rf"[/／]?(?:{_in_any_width(IN_SQUARES)})[\]］]"
CONTROL_TOKEN = re.compile(rf"[{re.escape(OPENING)}](?:(?<=[<＜])(?={ANGLE})|(?<=[\[［])(?={SQUARE}))")
"""The opening bracket of `<|im_end|>`, `<｜User｜>`, `<turn|>`, `<end_of_turn>`, `[/INST]` and the like.

The pattern begins with one set of characters and looks a limited way ahead: so it is fast and linear.
"""


SYNTAX = frozenset('"<>=')
"""What a tag is made of; in a value of an attribute a character reference stands for each, in any width."""

LINE_ENDS = frozenset({"Cc", "Zl", "Zp"})
"""The Unicode categories of all characters that end a line, and of other controls."""


@dataclass(frozen=True)
class Block:
    """A value, or one document of a value, that stands between two tags.

    Attributes:
        name: the tag's name without `data-` and the code.
        content: the text, or the blocks inside this one.
        attributes: what stands in the opening tag behind its name, with a blank before each attribute.
    """

    name: str
    content: str | tuple[Block, ...]
    attributes: str = ""


def code_for(blocks: Iterable[Block]) -> str:
    """Return the code for the tags of some blocks: the same for equal values, and in none of their texts."""
    values = "\n".join(fence_block(block, "") for block in blocks)
    values_in_lower_case = values.lower()  # a model may take a code in capitals for the same
    attempt = 0
    while True:
        code = sha256(f"{attempt}\n{values}".encode()).hexdigest()[:CODE_LENGTH]
        if code not in values_in_lower_case:
            return code
        attempt += 1


def fence_block(block: Block, code: str) -> str:
    """Return a block between its tags, each on a line of its own."""
    tag = f"data-{block.name}-{code}"
    if isinstance(block.content, str):
        content = block.content
    else:
        content = "\n".join(fence_block(inner, code) for inner in block.content)
    opening = f"<{tag}{block.attributes}>\n"
    if content:
        opening += f"{content}\n"
    return f"{opening}</{tag}>"


def attribute(name: str, value: str) -> str:
    """Return an attribute for a tag; the value can be read back, and nothing in it looks like a tag's syntax.

    What is syntax is written as in HTML: `a "b" = c` becomes `a &quot;b&quot; &#61; c`.
    """
    escaped = escape(without_control_tokens(value), quote=False).replace('"', "&quot;")
    chars: list[str] = []
    for char in escaped:
        # A sign of syntax in another width counts as that sign.
        if normalize("NFKC", char) in SYNTAX or category(char) in LINE_ENDS:
            chars.append(f"&#{ord(char)};")
        else:
            chars.append(char)
    return f' {name}="{"".join(chars)}"'


def without_control_tokens(text: str) -> str:
    """Break up control tokens of chat templates visibly: `<|im_end|>` becomes `‹|im_end|>`."""
    # One of these characters is faster to look for than a token.
    has_opening = any(char in text for char in OPENING)
    return CONTROL_TOKEN.sub(HARMLESS, text) if has_opening else text
