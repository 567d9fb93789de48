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

from groundjudge.text.patterns import compile_when_used

CODE_LENGTH = 8
"""Hexadecimal digits in the code of a tag."""

HARMLESS = "‹"
"""Replaces the opening bracket of a control token; it has the same length, so that offsets stay true."""

OPENING = "<＜[［]］◁"
"""The signs with which a control token can begin."""

IN_ANGLES = r"""
    s | (?:bos|eos|pad|unk|sop|eop|eod|eot)(?:_token)? | sys | think
    | (?:start|end|begin|beginning)_(?:of|function)_\w{1,40}
    | (?:tool|function)_(?:call|response|result|output)s? | arg_(?:key|value) | fim_\w{1,20}
    | (?:special|reserved|unused|extra_id)_?[0-9]{1,5} | longcat_\w{1,20}
"""
"""Names of control tokens without a bar, such as `</s>`, `<<SYS>>`, `<tool_call>` and `<seed:bos>`."""

IN_SQUARES = r"""
    INST | SYSTEM_PROMPT | MODEL_SETTINGS | AVAILABLE_TOOLS | TOOL_(?:CALLS|RESULTS|CONTENT) | CALL_ID | ARGS
    | THINK | IMG(?:_BREAK|_END)? | (?:BEGIN_)?AUDIO | [gs]?MASK | BOS | EOS | PAD | UNK
    | (?:UNUSED_TOKEN_|unused)[0-9]{1,5}
"""
"""The same in square brackets, such as `[/INST]`: a list, because any word can stand there in a text."""

CONTROL_TOKEN = compile_when_used(
    rf"""
    <(?=
        /?\|(?:
            # <|im_end|> and <｜DSML｜invoke; with blanks too, but not the operators of `a <| b |> c`
            [ ]?+ \w{{2,40}}+ [ ]?+ \|
            # <|"|>, <|end-of-turn|> and <｜end of sentence｜>
            | (?!\s) [^<>|‹\r\n]{{1,64}}+ (?<!\s) \|>
            # <|turn> and, below, <turn|>
            | \w{{1,40}}+ >
        )
        | /?+ (?:\w{{1,20}}+:)?+ (?i:{IN_ANGLES}) >
        | \w{{1,40}}+ \|>
    )
    | \[(?= /?+(?:{IN_SQUARES}) \] | /?+\| \w{{2,40}}+ \|\] )
    | ◁(?= /?think▷)
    # MiniMax has tokens such as ]~b], [e~[ and ]<]image[>[
    | [\[\]](?= (?: ~!?b | e~ ) [\[\]] | <\][\w ]{{1,40}}+\[>\[ )
    """,
    re.VERBOSE,
)
"""The sign that a control token begins with, in a text whose signs have the width of ASCII.

The pattern begins with one sign of few and looks a limited way ahead: so it is fast and linear.
"""

TO_ASCII = {ord("▁"): "_"} | {sign + 0xFEE0: chr(sign) for sign in range(0x21, 0x7F)}
"""Each full-width sign -> its ASCII twin, and `▁`, which tokenizers write for a blank -> a sign of words."""


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
    # Made of the values and not drawn: equal cases give equal prompts, which caches find again.
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
    # An apostrophe stays readable: attributes stand in double quotation marks.
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
    """Break up control tokens of chat templates visibly: `<|im_end|>` becomes `‹|im_end|>`.

    What is a token is decided by its form, in ASCII or full-width signs; no sign is added or removed.
    """
    # One of these signs is faster to look for than a token.
    if not any(sign in text for sign in OPENING):
        return text
    # One character for one, so that the places of tokens are those in the text itself.
    ascii_text = text if text.isascii() else text.translate(TO_ASCII)
    pieces: list[str] = []
    start = 0
    for token in CONTROL_TOKEN.finditer(ascii_text):
        pieces.append(text[start : token.start()])
        start = token.end()
    if not pieces:
        return text
    return HARMLESS.join([*pieces, text[start:]])
