"""The content of a message or a document, in any vendor's shape, cut into pieces.

Nothing is dropped silently: data that is not a block is kept as JSON, anything that cannot be shown as text
leaves its name in brackets, and an unread key is left over (see `Entry`). Only a model's reasoning is left
out, because it is not part of what the model said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from groundjudge.case.data import as_json, fields_of, first_value, is_list, is_mapping
from groundjudge.text.patterns import compile_when_used

OUTPUT_NAMES = ("content", "output", "outputs", "result", "results", "response", "code_execution_result")
"""The keys or attributes in which vendors' blocks have what a tool returned."""

BLOCK = compile_when_used(
    r"(?P<text>text|(?:input|output)_text|refusal)"
    r"|(?P<reasoning>(?:redacted_)?thinking(?:_blocks)?|reasoning(?:_content|_details)?|mcp_(?:list|approval)_\w+|item_reference|compaction)"
    r"|(?P<result>\w*(?:tool_result|_call_output|function_response)|code_execution_result)"
    r"|(?P<media>(?:input_)?(?:images?|audio|video|file|media|document)(?:_url|_file|_generation_call)?|(?:inline|file)_data)"
    r"|(?P<call>\w*tool_use|\w+_call|executable_code)"
)
"""The types of content blocks of all vendors: the name of the group says how a block is read."""

NOT_SNAKE = compile_when_used("[A-Z]|-")
"""What some vendors write instead of `_` in block types: `toolUse`, `tool-call`."""


WITHOUT_CONTENT = compile_when_used(
    r"(?:\w*_)?ids?|\w*Id|uuid|\w*(?:_at|At|time|_ms|date)|timestamp|lc"
    r"|type|object|role|kind|name|title|index|status|state|model\w*|\w*_?reason|stopReason"
    r"|(?:\w+_)?metadatas?|\w*_?usage(?:_metadata)?|annotations|citations|(?:\w+_)?logprobs"
    r"|cache_control|\w*_?signature|artifact|embeddings?|uris?|urls?"
)
"""The keys without content for a judge: ids, times, kinds, usage, offsets, and what no model was shown."""

WIDE_MARKS = frozenset("。！？")
"""What ends a sentence in scripts that put no spaces between words."""

FILE_NAME = compile_when_used(r"[^\n]*\.[^\W\d_]\w{0,4}")
"""Text that ends in a file suffix; a sentence ends in its full stop."""

MAX_LOOKED_AT = 1000
"""How many characters distinguish a passage from a name."""

MIN_WORDS = 3
"""How many words make a text more than a name, such as "Recent News"."""


def is_passage(text: str) -> bool:
    """Return whether a text says something: not just a file name, URL, number, date, or a word or two."""
    start = text[:MAX_LOOKED_AT].strip()
    if not WIDE_MARKS.isdisjoint(start):
        return True
    n_words = 0
    for word in start.split():
        if any(sign.isalpha() for sign in word):
            n_words += 1
    return n_words >= MIN_WORDS and not FILE_NAME.fullmatch(start)


class Entry:
    """A message, block or document that is read key by key: what has not been read is left over.

    The `additional_kwargs` of LangChain's messages are read as if they were in the message itself.
    """

    def __init__(self, value: object) -> None:
        self.value = value
        self._places = [value]
        more: object = first_value(value, "additional_kwargs")
        if more is not None:
            self._places.append(more)
        self._keys_read = {"additional_kwargs"}

    def take(self, *names: str) -> Any:  # noqa: ANN401  any value
        """Read the first of some names that has a value, leaving those after it unread; else None."""
        for name in names:
            self._keys_read.add(name)
            for place in self._places:
                value = first_value(place, name)
                if value is not None:
                    return value
        return None

    def take_all(self, name: str) -> list[Any]:
        """Read the values of a name in the entry and in its `additional_kwargs`."""
        self._keys_read.add(name)
        values = [first_value(place, name) for place in reversed(self._places)]
        return [value for value in values if value is not None]

    def take_media(self) -> Iterator[Piece]:
        """Read the keys that are named like blocks of images and similar media, such as Ollama's `images`."""
        for key, value in self._unread():
            if value and sort_of_block(key) == "media":
                self._keys_read.add(key)
                yield Piece("media", f"[{key}]")

    def keys_left(self, *, with_names: bool = False) -> list[str]:
        """List the leftover keys with a text, or with a mapping or list that contains one.

        Args:
            with_names: whether a single word, number or name is a text, too: if nothing else was read, it may
                be all that the entry says.
        """
        keys: list[str] = []
        for key, value in self._unread():
            if not has_no_content(key) and _holds_text(value, with_names=with_names):
                keys.append(key)
        return keys

    def _unread(self) -> Iterator[tuple[str, object]]:
        for place in self._places:
            for key, value in (fields_of(place) or {}).items():
                if key not in self._keys_read:
                    yield str(key), value


def has_no_content(key: str) -> bool:
    """Return whether a key's value says nothing to a judge, or is a model's reasoning."""
    return WITHOUT_CONTENT.fullmatch(key) is not None or sort_of_block(key) == "reasoning"


def _holds_text(value: object, *, with_names: bool) -> bool:
    """Return whether a value is a text that says something, or a mapping or list with one."""
    if isinstance(value, str):
        return is_passage(value) or (with_names and bool(value.strip()))
    inner_values: Iterable[object] = ()
    if is_mapping(value):
        inner_values = value.values()
    elif is_list(value):
        inner_values = value
    return any(_holds_text(inner, with_names=with_names) for inner in inner_values)


class Piece(NamedTuple):
    """A piece of the contents of a message or a document.

    Attributes:
        sort: a group of `BLOCK`, "data", or "beside" for what accompanies a message's content.
        text: what the piece says.
        body: for a call or a result, the mapping or object with its name, arguments or output.
        is_whole: whether all of the block was read.
    """

    sort: str
    text: str = ""
    body: object = None
    is_whole: bool = True


def sort_of_block(block_type: object) -> str:
    """Return how to read a block of that type: a group of `BLOCK`, or "data"."""
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
    entry = Entry(block)
    block_type = entry.take("type")
    body = block
    text = entry.take("text", "refusal")
    if text is None and sort_of_block(block_type) == "text":
        text = entry.take("content")
    has_one_key = False
    if is_mapping(block) and len(block) == 1:
        has_one_key = True
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
            # An Anthropic document that contains text, or blocks of text.
            entry.take("source")
            sort = "text"
            text = content_text(first_value(source, "data", "content"))
    # Without a type, a text is one if it is all there is ({"text": "..."}), and in an object of an SDK.
    if isinstance(text, str) and (sort == "text" or has_one_key or not is_mapping(block)):
        return Piece("text", text, is_whole=not entry.keys_left())
    if sort == "text" and (text is not None or entry.keys_left(with_names=True)):
        # Its value under a text's name is not a text, as in {"text": {"a": 1}}, or has another name.
        return Piece("data", as_json(block), body)
    if sort in {"data", "result"}:
        return Piece(sort, as_json(block), body)
    if sort == "media":
        return Piece("media", f"[{block_type}]", body)
    return Piece(sort, "", body)


def read_call(call: object) -> Piece:
    """Read a tool call, or its result if it has one: then the provider made the call."""
    if first_value(call, *OUTPUT_NAMES) is not None:
        return Piece("result", as_json(call), call)
    return Piece("call", body=call)


def read_content(content: object) -> list[Piece]:
    """Cut content into pieces, without a model's reasoning.

    Data that is not among blocks is one piece.
    """
    if isinstance(content, str):
        return [Piece("text", content)]
    if not is_list(content):
        return [Piece("data", as_json(content))]
    blocks = [read_block(block) for block in content]
    if {block.sort for block in blocks} == {"data"}:
        # A list of only data is what a tool returned, not blocks.
        return [Piece("data", as_json(content))]
    return [block for block in blocks if block.sort != "reasoning"]


def join_pieces(pieces: Iterable[Piece], between: str = "\n") -> str:
    """Return the texts of pieces, one per line; adjacent texts have a given separator."""
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
    """Return a string unchanged, the texts of content blocks, one per line, or other data as JSON."""
    return join_pieces(read_content(content))
