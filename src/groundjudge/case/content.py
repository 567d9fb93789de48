"""The content of a message or a document, of every vendor's shape, cut into pieces.

Nothing is dropped silently: data that is not a block is kept as JSON, and what cannot be shown as text leaves
its name in brackets. Only a model's reasoning is left out, because it is not part of what the model said.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from groundjudge.case.data import as_json, first_value, is_list, is_mapping
from groundjudge.text.patterns import compile_when_used

OUTPUT_NAMES = ("content", "output", "outputs", "result", "results", "response", "code_execution_result")
"""The keys or attributes under which blocks of all vendors hold what a tool returned."""

BLOCK = compile_when_used(
    r"(?P<text>text|(?:input|output)_text|refusal)"
    r"|(?P<reasoning>(?:redacted_)?thinking|reasoning(?:_content)?|mcp_(?:list|approval)_\w+|item_reference|compaction)"
    r"|(?P<result>\w*(?:tool_result|_call_output|function_response)|code_execution_result)"
    r"|(?P<media>(?:input_)?(?:image|audio|video|file|media|document)(?:_url|_file|_generation_call)?|(?:inline|file)_data)"
    r"|(?P<call>\w*tool_use|\w+_call|executable_code)"
)
"""The types of content blocks, of every vendor: the name of the group says how a block is read."""

NOT_SNAKE = compile_when_used("[A-Z]|-")
"""What some vendors write in place of `_` in the types of blocks: `toolUse`, `tool-call`."""


class Piece(NamedTuple):
    """A piece of what a message or a document holds.

    Attributes:
        sort: a group of `BLOCK`, "data", or "beside" for what stands beside a message's content.
        text: what the piece says.
        body: of a call or a result, the mapping or object with its name, arguments or output.
    """

    sort: str
    text: str = ""
    body: object = None


def sort_of_block(block_type: object) -> str:
    """Return how a block of that type is read: a group of `BLOCK`, or "data"."""
    snake_case = NOT_SNAKE.sub(r"_\g<0>", str(block_type)).replace("-", "").lower()
    match = BLOCK.fullmatch(snake_case)
    if match is None:
        return "data"
    return str(match.lastgroup)


def read_block(block: object) -> Piece:
    """Read a string, or a block of any vendor's; anything else is data, which is kept as JSON."""
    if isinstance(block, str):
        return Piece("text", str(block))
    if is_mapping(block) and not block:
        return Piece("text")
    block_type = first_value(block, "type")
    body = block
    text = first_value(block, "text", "refusal")
    has_one_key = is_mapping(block) and len(block) == 1
    if is_mapping(block) and has_one_key:
        key, inner = next(iter(block.items()))
        if is_mapping(inner):
            # Bedrock and Gemini: the only key is the type.
            block_type = key
            body = inner

    sort = sort_of_block(block_type)
    if sort == "call":
        return read_call(body)
    if sort == "media":
        source = first_value(body, "source")
        if first_value(source, "type") in {"text", "content"}:
            # A document of Anthropic's that holds text, or blocks of text.
            sort = "text"
            text = content_text(first_value(source, "data", "content"))
    if isinstance(text, str) and (sort == "text" or has_one_key or not is_mapping(block)):
        return Piece("text", text)
    if sort == "text" and text is not None:
        # What it has under the name of a text is none, as in {"text": {"a": 1}}.
        return Piece("data", as_json(block), body)
    if sort in {"data", "result"}:
        return Piece(sort, as_json(block), body)
    if sort == "media":
        return Piece("media", f"[{block_type}]", body)
    return Piece(sort, "", body)


def read_call(call: object) -> Piece:
    """Read a call of a tool, or its result, if it has one: then the provider made the call."""
    if first_value(call, *OUTPUT_NAMES) is not None:
        return Piece("result", as_json(call), call)
    return Piece("call", body=call)


def read_content(content: object) -> list[Piece]:
    """Cut a content into pieces, without a model's reasoning.

    Data that is not among blocks is one piece.
    """
    if isinstance(content, str):
        return [Piece("text", content)]
    if not is_list(content):
        return [Piece("data", as_json(content))]
    blocks = [read_block(block) for block in content]
    if {block.sort for block in blocks} == {"data"}:
        # A list of nothing but data is what a tool returned, not blocks.
        return [Piece("data", as_json(content))]
    return [block for block in blocks if block.sort != "reasoning"]


def join_pieces(pieces: Iterable[Piece], between: str = "\n") -> str:
    """The texts of pieces, one per line; adjacent texts with something else between them."""
    strings: list[str] = []
    follows_text = False
    for piece in pieces:
        if not piece.text:
            continue
        is_text = piece.sort == "text"
        if is_text and follows_text:
            strings.append(between)
        elif strings:
            strings.append("\n")
        strings.append(piece.text)
        follows_text = is_text
    return "".join(strings)


def content_text(content: object) -> str:
    """A string as it is; of a list of content blocks the texts, one per line; any other data as JSON."""
    return join_pieces(read_content(content))
