"""Strategies for what no endpoint should send and no file hold: any bytes, any JSON, almost the right one."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Any

from command_line import GOOD, ROW
from hypothesis import strategies as st
from raw_endpoint import RawReply, completion, good_reply, response

ODD = {
    "@digits@": "9" * 4000,
    "@too many digits@": "-" + "9" * 5000,
    "@fraction@": "0." + "3" * 4000,
    "@exponent@": "1e999",
    "@deep@": "[" * 900 + "]" * 900,
    "@deeper@": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "@huge@": '"' + "x y\u2028. " * 50_000 + '"',
    "@twice@": '{"content": 1, "content": "a"}',
    "@unfinished@": '{"a": [',
}
"""JSON that Python does not write by itself, by the texts that stand for it."""

TEXTS = st.text(
    st.one_of(st.characters(), st.sampled_from("\ud83d\udfff\x00\x1b\x85\u2028\u202e\ufeff")), max_size=8
)
GRADES = [
    GOOD.replace("5", grade)
    for grade in (
        "9" * 5000,
        "NaN",
        "1e999",
        "5e0",
        "-5",
        "٥",
        "5\x00",
        "5\ud83d",
        "<S2>5",
        "",
        "3",
        "4 or 5",
    )
]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    TEXTS,
    st.sampled_from([*ODD, *GRADES, GOOD, "length", "stop"]),
)
KEYS = st.one_of(
    TEXTS, st.sampled_from(["content", "text", "type", "role", "message", "error", "id", "code"])
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=6,
)

MESSAGE = ("choices", 0, "message")
COMPLETION_PATHS = (
    *(("choices",), ("choices", 0), MESSAGE, ("model",), ("id",), ("object",), ("created",), ("error",)),
    *(
        (*MESSAGE, name)
        for name in ("content", "refusal", "role", "tool_calls", "reasoning_content", "audio")
    ),
    *(("choices", 0, name) for name in ("finish_reason", "logprobs", "index")),
    *(("usage", *name) for name in ((), ("prompt_tokens",), ("completion_tokens",), ("total_tokens",))),
)
ROW_PATHS = tuple(
    (name,)
    for name in (
        *("id", "query", "context", "response", "reference", "conversation", "messages", "metadata"),
        *("inputs", "outputs", "judges", "label", "documents", "tool_calls"),
    )
)


def as_json(value: object) -> bytes:
    """A value as JSON, with what no value of Python stands for."""
    text = json.dumps(value)
    for name, odd in ODD.items():
        text = text.replace(json.dumps(name), odd)
    return text.encode()


def changed(value: Any, path: Sequence[Any], new: object) -> Any:
    """The value with another one at the path, if there is such a place."""
    copy = place = deepcopy(value)
    with suppress(TypeError, LookupError):
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = new
    return copy


@st.composite
def almost(draw: st.DrawFn, right: Any, paths: Sequence[Sequence[Any]]) -> Any:
    """The right value with something else in some places."""
    for path in draw(st.lists(st.sampled_from(paths), max_size=3)):
        right = changed(right, path, draw(ANYTHING))
    return right


BODIES = st.one_of(
    almost(completion(GOOD), COMPLETION_PATHS).map(as_json),
    almost(completion(GOOD), COMPLETION_PATHS).map(as_json),
    ANYTHING.map(as_json),
    st.dictionaries(st.sampled_from(["error", "message", "detail", "code", "type", "param"]), ANYTHING).map(
        as_json
    ),
    st.binary(max_size=40),
    st.sampled_from([b"", b"<html>503 of 5", *(ODD[name].encode() for name in ODD)]),
)

STATUS_LINES = st.one_of(
    st.sampled_from(
        [200, 200, 200, 201, 202, 204, 206, 400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503]
    ),
    st.integers(100, 599),
    st.sampled_from(
        [
            b"HTTP/1.1 999 X",
            b"HTTP/1.1 099 X",
            b"HTTP/1.1 200",
            b"HTTP/1.0 200 OK",
            b"HTTP/2 200",
            b"HTTP/1.1 20 OK",
            b"HTTP/1.1 -200 OK",
            b"HTTP/1.1 200 \xff\x1b[31m",
            b"ICY 200 OK",
            b"",
            b"HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 200 OK",
        ]
    ),
)
LONGEST_LINE = b"a" * 70_000
HEADER_VALUES: Mapping[bytes, Sequence[bytes]] = {
    b"Retry-After": (
        *(
            b"0",
            b"-1",
            b"0.001",
            b"1e-320",
            b"1e400",
            b"nan",
            b"inf",
            b"-inf",
            b"59",
            b"61",
            b"9" * 5000,
            b"1_0",
            b"",
        ),
        *(
            b"Fri, 31 Dec 9999 23:59:59 GMT",
            b"Mon, 99 Foo 0000",
            b"Thu, 01 Jan 1970 00:00:00 -9999",
            b"\xff\x00",
        ),
        *("٣".encode(), b"0x10", b"1, 2", b"Fri, 31 Dec 99999999999999999999 23:59:59 +99999999999"),
    ),
    b"Retry-After-Ms": (b"nan", b"-1", b"1e999", b"", b"1"),
    b"X-Should-Retry": (b"true", b"false", b"\x00"),
    b"Content-Type": (
        *(
            b"application/json",
            b"application/json; charset=utf-16",
            b"text/html; charset=no-such",
            b"text/event-stream",
        ),
        *(
            b"",
            b"application/problem+json",
            b"application/json; charset=\xff",
            b"text/plain; charset=base64",
            LONGEST_LINE,
        ),
    ),
    b"Content-Encoding": (b"gzip", b"deflate", b"br", b"zstd", b"identity", b"gzip, gzip", b"x", b""),
    b"Transfer-Encoding": (b"chunked", b"gzip, chunked", b"identity", b"x"),
    b"Location": (
        b"/v1/chat/completions",
        b"",
        b"file:///etc/passwd",
        b"http://[",
        b"http://127.0.0.1:1/",
        b"\xff",
        b"//",
    ),
    b"Set-Cookie": (b"a=b", b"a=\xff; Expires=Foo; Max-Age=" + b"9" * 400, b"=" * 5000),
    b"X-Odd": (b"\x00", b"\xff", LONGEST_LINE, b"a\r\n folded"),
    b"Connection": (b"keep-alive", b"close", b"upgrade"),
    b"X\x00": (b"a",),
    b"": (b"no name",),
}
HEADERS = st.lists(
    st.sampled_from([*HEADER_VALUES]).flatmap(
        lambda name: st.tuples(st.just(name), st.sampled_from(HEADER_VALUES[name]))
    ),
    max_size=3,
)
LENGTHS = st.sampled_from(
    [None, None, None, None, b"", b"0", b"1", b"-1", b"x", b"9" * 30, b"100000", b"5, 5", b"+3", "٣".encode()]
)


def chunked(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


WRAPPED: list[Callable[[bytes], bytes]] = [
    *([bytes] * 5),
    *(gzip.compress, lambda body: gzip.compress(body)[:-9]),
    *(chunked, lambda body: chunked(body)[:-7], lambda body: b"ffffffffffffffffff\r\n" + body),
    *(lambda body: b"\xef\xbb\xbf" + body, lambda body: body.decode(errors="replace").encode("utf-16")),
    lambda body: body[: len(body) // 2],
]
WRAPPINGS = st.sampled_from(WRAPPED)


def holds_a_grade(body: bytes) -> bool:
    """Whether there is a reply with a grade in the place where completions have their text."""
    with suppress(ValueError, RecursionError, LookupError, TypeError):
        content = json.loads(body)["choices"][0]["message"]["content"]
        return "<S2>" in json.dumps(content)
    return False


@st.composite
def replies(draw: st.DrawFn) -> RawReply:
    """A reply of any kind, and whether it could have a score."""
    if draw(st.integers(0, 5)) == 0:
        return good_reply(GOOD)
    if draw(st.integers(0, 9)) == 0:
        return RawReply(draw(st.binary(max_size=60)))
    status, body, headers = draw(STATUS_LINES), draw(BODIES), draw(HEADERS)
    length = draw(LENGTHS)
    sent = response(status, draw(WRAPPINGS)(body), headers, length=length)
    is_good = b" 200" in status if isinstance(status, bytes) else 200 <= status < 300
    is_final = not isinstance(status, bytes) and status >= 200
    return RawReply(
        sent, is_good and holds_a_grade(body), is_final and length is None and draw(st.booleans())
    )


LINES = st.one_of(
    almost(ROW, ROW_PATHS).map(as_json),
    almost(ROW, ROW_PATHS).map(as_json),
    ANYTHING.map(as_json),
    st.binary(max_size=30).map(lambda line: line.decode(errors="replace").encode()),
    st.sampled_from([b"", b"  ", b"\xff", "\u2003".encode(), b"\r", b"\x0c", b"\xef\xbb\xbf", b"\x00"]),
)
