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
ODD_GRADES = ("9" * 5000, "NaN", "1e999", "5e0", "-5", "٥", "5\x00", "5\ud83d", "<S2>5", "", "3", "4 or 5")
GRADES = [GOOD.replace("5", grade) for grade in ODD_GRADES]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    TEXTS,
    st.sampled_from([*ODD, *GRADES, GOOD, "length", "stop"]),
)
KEYS = st.one_of(TEXTS, st.sampled_from("content text type role message error id code detail param".split()))
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=6,
)

COMPLETION_PATHS = (
    ("choices",),
    ("model",),
    ("id",),
    ("object",),
    ("created",),
    ("error",),
    ("usage",),
    ("choices", 0),
    ("choices", 0, "message"),
    ("choices", 0, "message", "content"),
    ("choices", 0, "message", "refusal"),
    ("choices", 0, "message", "role"),
    ("choices", 0, "message", "tool_calls"),
    ("choices", 0, "message", "reasoning_content"),
    ("choices", 0, "message", "audio"),
    ("choices", 0, "finish_reason"),
    ("choices", 0, "logprobs"),
    ("choices", 0, "index"),
    ("usage", "prompt_tokens"),
    ("usage", "completion_tokens"),
    ("usage", "total_tokens"),
)
"""The places in a chat completion that may hold something else."""

ROW_KEYS = """id query context response reference conversation messages metadata inputs outputs judges label
    documents tool_calls"""
ROW_PATHS = [(key,) for key in ROW_KEYS.split()]


def as_json(value: object) -> bytes:
    """A value as JSON, with what no value of Python stands for."""
    text = json.dumps(value)
    for name, odd in ODD.items():
        text = text.replace(json.dumps(name), odd)
    return text.encode()


def replace_at(path: Sequence[Any], value: Any, new_value: object) -> Any:
    """Copy a value with another one at the path, if there is such a place."""
    copy = deepcopy(value)
    container = copy
    *keys, last_key = path
    with suppress(TypeError, LookupError):
        for key in keys:
            container = container[key]
        container[last_key] = new_value
    return copy


@st.composite
def almost(draw: st.DrawFn, right_value: Any, paths: Sequence[Sequence[Any]]) -> Any:
    """The right value with something else in some places."""
    value = right_value
    for path in draw(st.lists(st.sampled_from(paths), max_size=3)):
        value = replace_at(path, value, draw(ANYTHING))
    return value


BODIES = st.one_of(
    almost(completion(GOOD), COMPLETION_PATHS).map(as_json),
    almost(completion(GOOD), COMPLETION_PATHS).map(as_json),
    ANYTHING.map(as_json),
    st.dictionaries(KEYS, ANYTHING).map(as_json),
    st.binary(max_size=40),
    st.sampled_from([b"", b"<html>503 of 5", *(odd.encode() for odd in ODD.values())]),
)

# A good status several times, so that the body is read.
STATUSES = [200, 200, 200, 201, 204, 206, 400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503]
ODD_LINES = (
    b"HTTP/1.1 999 X|HTTP/1.1 099 X|HTTP/1.1 200|HTTP/1.0 200 OK|HTTP/2 200|HTTP/1.1 20 OK|HTTP/1.1 -200 OK|"
    b"HTTP/1.1 200 \xff\x1b[31m|ICY 200 OK||HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 200 OK"
)
STATUS_LINES = st.one_of(
    st.sampled_from(STATUSES),
    st.integers(100, 599),
    st.sampled_from(ODD_LINES.split(b"|")),
)
LONG = b"a" * 70_000
HEADER_VALUES: Mapping[bytes, Sequence[bytes]] = {
    b"Retry-After": [
        *b"0|-1|0.001|1e-320|1e400|nan|inf|-inf|59|61|1_0||0x10|1, 2|\xff\x00".split(b"|"),
        *b"Fri, 31 Dec 9999 23:59:59 GMT|Mon, 99 Foo 0000|Thu, 01 Jan 1970 00:00:00 -9999".split(b"|"),
        *("٣".encode(), b"9" * 5000, b"Fri, 31 Dec 99999999999999999999 23:59:59 +99999999999"),
    ],
    b"Retry-After-Ms": b"nan|-1|1e999||1".split(b"|"),
    b"X-Should-Retry": b"true|false|\x00".split(b"|"),
    b"Content-Type": [
        *(b"", b"application/json", b"text/event-stream", b"application/problem+json"),
        *(b"text/html; charset=" + name for name in (b"utf-16", b"\xff", b"base64", b"no-such")),
        LONG,
    ],
    b"Content-Encoding": b"gzip|deflate|br|zstd|identity|gzip, gzip|x|".split(b"|"),
    b"Transfer-Encoding": b"chunked|gzip, chunked|identity|x".split(b"|"),
    b"Location": b"/v1/chat/completions||file:///etc/passwd|http://[|http://127.0.0.1:1/|\xff|//".split(b"|"),
    b"Set-Cookie": (b"a=b", b"a=\xff; Expires=Foo; Max-Age=" + b"9" * 400, b"=" * 5000),
    b"X-Odd": (b"\x00", b"\xff", LONG, b"a\r\n folded"),
    b"Connection": b"keep-alive|close|upgrade".split(b"|"),
    b"X\x00": (b"a",),
    b"": (b"no name",),
}
HEADERS = st.lists(
    st.sampled_from([(name, value) for name in HEADER_VALUES for value in HEADER_VALUES[name]]),
    max_size=3,
)
LENGTHS = st.sampled_from([*[None] * 4, *b"|0|1|-1|x|100000|5, 5|+3".split(b"|"), b"9" * 30, "٣".encode()])


def in_chunks(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


ENCODERS: list[Callable[[bytes], bytes]] = [
    # Most bodies stay as they are, so that something else in the reply is what is odd.
    *([bytes] * 5),
    gzip.compress,
    lambda body: gzip.compress(body)[:-9],
    in_chunks,
    lambda body: in_chunks(body)[:-7],
    lambda body: b"ffffffffffffffffff\r\n" + body,
    lambda body: b"\xef\xbb\xbf" + body,
    lambda body: body.decode(errors="replace").encode("utf-16"),
    lambda body: body[: len(body) // 2],
]


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
    status = draw(STATUS_LINES)
    body = draw(BODIES)
    headers = draw(HEADERS)
    length = draw(LENGTHS)
    encode = draw(st.sampled_from(ENCODERS))
    content = response(status, encode(body), headers, length=length)
    if isinstance(status, bytes):
        is_good = b" 200" in status
        is_final = False
    else:
        is_good = 200 <= status < 300
        is_final = status >= 200
    can_be_kept = is_final and length is None
    return RawReply(content, is_good and holds_a_grade(body), can_be_kept and draw(st.booleans()))


LINES = st.one_of(
    almost(ROW, ROW_PATHS).map(as_json),
    almost(ROW, ROW_PATHS).map(as_json),
    ANYTHING.map(as_json),
    st.binary(max_size=30).map(lambda line: line.decode(errors="replace").encode()),
    st.sampled_from([b"", b"  ", b"\xff", "\u2003".encode(), b"\r", b"\x0c", b"\xef\xbb\xbf", b"\x00"]),
)
