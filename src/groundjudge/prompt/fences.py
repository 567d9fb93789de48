"""Fences: the tags that mark the values of a case as data.

The tags of a case end in a code that occurs in none of its values, so that no value can contain one of these
tags, and neither look-alikes nor other tags have to be found and removed. The values are shown unchanged,
except for the control tokens of chat templates, which a server may parse anywhere.
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
"""The number of hexadecimal digits in a tag's code."""

HARMLESS = "‹"
"""Replaces the opening bracket of a control token; it has the same length, so that offsets stay valid."""

OPENING = "<＜[［]］◁"
"""The characters with which a control token can begin."""

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
"""The same in square brackets, such as `[/INST]`: a list, because a text can have any word there."""

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
"""The first character of a control token, in a text whose full-width characters were replaced by ASCII.

The pattern begins with one of a few characters and has a limited lookahead, so it is fast and linear.
"""

TO_ASCII = {ord("▁"): "_"} | {code + 0xFEE0: chr(code) for code in range(0x21, 0x7F)}
"""Each full-width character -> its ASCII twin; `▁`, which tokenizers write for a blank -> `_`."""


SYNTAX = frozenset('"<>=')
"""The syntax of a tag; in attribute values, character references replace these, in any width."""

LINE_ENDS = frozenset({"Cc", "Zl", "Zp"})
"""The Unicode categories of all characters that end a line, and of other control characters."""


@dataclass(frozen=True)
class Block:
    """A value, or one document of a value, between two tags.

    Attributes:
        name: the tag's name without `data-` and the code.
        content: the text, or the blocks inside this one.
        attributes: the text after the opening tag's name, with a blank before each attribute.
    """

    name: str
    content: str | tuple[Block, ...]
    attributes: str = ""


def code_for(blocks: Iterable[Block]) -> str:
    """Return the code for the tags of some blocks: equal values have the same code; no text has it."""
    values = "\n".join(fence_block(block, "") for block in blocks)
    values_in_lower_case = values.lower()  # a model may not distinguish a code in capitals
    # Derived from the values, not random: equal cases give equal prompts, which caches recognise.
    attempt = 0
    while True:
        code = sha256(f"{attempt}\n{values}".encode()).hexdigest()[:CODE_LENGTH]
        if code not in values_in_lower_case:
            return code
        attempt += 1


def fence_block(block: Block, code: str) -> str:
    """Return a block between its tags, each on a separate line."""
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

    Syntax characters are written as in HTML: `a "b" = c` becomes `a &quot;b&quot; &#61; c`.
    """
    # An apostrophe stays readable: attributes are in double quotation marks.
    escaped = escape(without_control_tokens(value), quote=False).replace('"', "&quot;")
    chars: list[str] = []
    for char in escaped:
        # A syntax character in another width counts as that character.
        if normalize("NFKC", char) in SYNTAX or category(char) in LINE_ENDS:
            chars.append(f"&#{ord(char)};")
        else:
            chars.append(char)
    return f' {name}="{"".join(chars)}"'


def without_control_tokens(text: str) -> str:
    """Break up control tokens of chat templates visibly: `<|im_end|>` becomes `‹|im_end|>`.

    Tokens are recognised by their form, in ASCII or full-width characters; no character is added or removed.
    """
    # These characters are faster to look for than a token.
    if not any(character in text for character in OPENING):
        return text
    # One character for one, so that tokens have the same offsets as in the text itself.
    ascii_text = text if text.isascii() else text.translate(TO_ASCII)
    pieces: list[str] = []
    start = 0
    for token in CONTROL_TOKEN.finditer(ascii_text):
        pieces.append(text[start : token.start()])
        start = token.end()
    if not pieces:
        return text
    return HARMLESS.join([*pieces, text[start:]])
