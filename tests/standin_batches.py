"""A stand-in for the batch APIs of OpenAI and Anthropic: real HTTP on the loopback interface.

    with BatchStandIn(lambda body: "fine") as server:
        openai.OpenAI(base_url=server.url, api_key="k").batches.create(...)
        anthropic.Anthropic(base_url=server.root, api_key="k").messages.batches.create(...)

No clock: a batch goes on by one stage each time it is polled. What goes wrong is planned by the name of the
call (see `Call`) and its number: `server.fail("create", Status(500))`, `server.stop("content", "midway")`.
Everything that was created is kept, so that a test can count how often a request was paid for.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import formatdate
from itertools import count
from typing import Any, Final, Literal, Self, TypeAlias, cast

from aiohttp import web
from formatter import sure
from standin_openai import Cut, Status, Text, completion, error_of

GOOD = f"<S0>t</S0><S1>The context says so.</S1>{sure(5)}"
COMPLETIONS: Final = "/v1/chat/completions"

Call: TypeAlias = Literal[
    "upload", "content", "files", "delete", "create", "retrieve", "list", "cancel", "results", "chat"
]
"""The names of the calls. `content` downloads a file, `results` those of Anthropic, `files` lists files, and
`chat` asks online."""

Moment: TypeAlias = Literal["before", "midway", "after"]
"""Before a call takes effect, after half of the download has been sent, or before the answer is sent."""

STAGES = {"completed": ("in_progress", "finalizing", "completed"), "failed": ("failed",)}
"""What follows "validating", one stage for each poll."""

FINAL = {"completed", "failed", "cancelled"}

KINDS = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error"}
"""Anthropic's types of errors by status."""

REFUSED = {"temperature": "", "top_p": "", "max_tokens": "max_completion_tokens"}
"""What OpenAI's reasoning models refuse, with new names."""

CUSTOM_ID = re.compile("[a-zA-Z0-9_-]{1,64}")
"""What Anthropic's API takes as an id."""


@dataclass(frozen=True)
class Unanswered:
    """A request that was not answered before the batch ended."""

    why: Literal["expired", "cancelled"]


@dataclass(frozen=True)
class Missing:
    """A request of which the results say nothing."""


LineAnswer: TypeAlias = str | Text | Status | Unanswered | Missing
"""What becomes of a request in a batch; a plain str is short for Text(str)."""

Script: TypeAlias = Callable[[dict[str, Any]], LineAnswer]


@dataclass
class Stop:
    """A call that is held until its connection is cut.

    Attributes:
        moment: where it is held.
        reached: it has come to its moment.
        ended: it need not be held any more.
    """

    moment: Moment
    reached: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def wait(self) -> None:
        """Wait until the call has come to its moment."""
        assert self.reached.wait(60)

    def cut(self) -> None:
        """Close the connection; what has not taken effect never will."""
        self.ended.set()


@dataclass(frozen=True)
class Part:
    """So much of the right answer to a download, and then a cut, or an end as if that were all.

    Attributes:
        share: how much of it.
        is_sized: whether its length is announced.
        is_cut: whether the connection is cut.
    """

    share: float = 0.5
    is_sized: bool = True
    is_cut: bool = True


@dataclass(frozen=True)
class Fault:
    """Another answer than the right one; `takes_effect` if the call is carried out all the same."""

    answer: Status | Cut | Part
    takes_effect: bool = False


@dataclass
class Batch:
    """A batch of either API.

    Attributes:
        id: its id.
        requests: the body of each request, by custom_id, in order.
        stages: what it goes through at the next polls.
        status: its status in OpenAI's words.
        creation: what the client asked for, in OpenAI's form.
        errors: why it failed.
        output_file_id: OpenAI's file of replies, once it has ended.
        error_file_id: OpenAI's file of what failed.
        answers: what became of each request, once it has ended, in any order.
        hidden_for: in how many more listings it does not appear.
        late_for: at how many more polls after its end it announces results that are not there.
        n_in_files: how many results its files have.
        created_at: when it was created, by the server's clock.
    """

    id: str
    requests: dict[str, dict[str, Any]]
    stages: list[str]
    created_at: float
    status: str = "validating"
    creation: dict[str, Any] = field(default_factory=dict[str, Any])
    errors: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    output_file_id: str | None = None
    error_file_id: str | None = None
    answers: list[tuple[str, LineAnswer]] = field(default_factory=list[tuple[str, LineAnswer]])
    hidden_for: int = 0
    late_for: int = 0
    n_in_files: int = 0


@dataclass
class UploadedFile:
    """A file, uploaded or made by a batch."""

    id: str
    name: str
    purpose: str
    content: bytes


@dataclass
class BatchStandIn:
    """The server, running inside `with`.

    Attributes:
        script: from the body of a request to what becomes of it, in a batch or online.
        ends: how the first batch ends, the second, and so on; the last is repeated.
        ahead: the seconds by which the server's clock is ahead.
        hidden_for: in how many listings a new batch does not appear yet.
        late_for: at how many polls a batch that has ended announces results that are not all there.
        late_share: the share of the results that are there meanwhile.
        max_enqueued: the most tokens in the prompts of all batches that have not ended; more are refused.
        has_ranges: whether a part of a file can be asked for.
        batches: all batches by id, in order of creation.
        files: all files by id.
        calls: the name of each call, in order of arrival.
        chats: the bodies of the requests that were made online.
        downloads: how many bytes of a file were asked for, for each call.
        most_open: the most batches that were in progress at a time.
        port: where it listens.
    """

    script: Script = lambda _: GOOD
    ends: Sequence[Literal["completed", "failed"]] = ("completed",)
    ahead: float = 0.0
    hidden_for: int = 0
    late_for: int = 0
    late_share: float = 0.0
    max_enqueued: float = math.inf
    has_ranges: bool = True
    batches: dict[str, Batch] = field(default_factory=dict[str, Batch])
    files: dict[str, UploadedFile] = field(default_factory=dict[str, UploadedFile])
    calls: list[Call] = field(default_factory=list[Call])
    chats: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    downloads: list[int] = field(default_factory=list[int])
    most_open: int = 0
    port: int = 0
    _plans: dict[tuple[Call, int], Stop | Fault] = field(default_factory=dict[tuple[Call, int], Stop | Fault])
    _stops: list[Stop] = field(default_factory=list[Stop])
    _numbers: count[int] = field(default_factory=lambda: count(1))

    @property
    def root(self) -> str:
        """The base_url for an Anthropic client."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The base_url for an OpenAI client."""
        return f"{self.root}/v1"

    def fail(
        self, call: Call, answer: Status | Cut | Part, *, nth: int = 1, takes_effect: bool = False
    ) -> None:
        """Plan another answer for the nth call of this name from now on."""
        self._plans[call, self.calls.count(call) + nth] = Fault(answer, takes_effect)

    def stop(self, call: Call, moment: Moment = "before", nth: int = 1) -> Stop:
        """Plan to hold the nth call of this name from now on."""
        stop = Stop(moment)
        self._stops.append(stop)
        self._plans[call, self.calls.count(call) + nth] = stop
        return stop

    def upload(self, name: str, content: bytes, purpose: str = "batch") -> str:
        """The id of a new file."""
        file = UploadedFile(self._new_id("file"), name, purpose, content)
        self.files[file.id] = file
        return file.id

    def uploads(self) -> list[str]:
        """The names of the files of requests that are there."""
        return [file.name for file in self.files.values() if file.purpose == "batch"]

    def paid(self) -> Counter[str]:
        """How often each request was created, by custom_id; a batch that failed costs nothing."""
        counts = Counter[str]()
        for batch in self.batches.values():
            if batch.status != "failed":
                counts.update(batch.requests.keys())
        return counts

    def __enter__(self) -> Self:
        up = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(up)), daemon=True)
        self._thread.start()
        assert up.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        for stop in self._stops:
            stop.cut()
        self._loop.call_soon_threadsafe(self._down.set)
        self._thread.join(10)

    async def _serve(self, up: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._down = asyncio.Event()
        app = web.Application(client_max_size=2**29)
        app.on_response_prepare.append(self._stamp)
        for method, path, call, do in self._routes():
            app.router.add_route(method, f"/v1{path}", self._route(call, do))
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self.port, backlog=1024, reuse_address=True).start()
        self.port = runner.addresses[0][1]
        up.set()
        await self._down.wait()
        await runner.cleanup()

    def _routes(self) -> list[tuple[str, str, Call, Handler]]:
        calls_of_batches: list[tuple[str, str, Call, Handler]] = [
            ("POST", "", "create", self._create),
            ("GET", "", "list", self._list),
            ("GET", "/{id}", "retrieve", self._retrieve),
            ("POST", "/{id}/cancel", "cancel", self._cancel),
        ]
        routes: list[tuple[str, str, Call, Handler]] = [
            ("POST", "/files", "upload", self._upload),
            ("GET", "/files/{id}/content", "content", self._content),
            ("GET", "/files", "files", self._list_files),
            ("DELETE", "/files/{id}", "delete", self._delete),
            ("GET", "/messages/batches/{id}/results", "results", self._results),
            ("POST", "/chat/completions", "chat", self._chat),
            ("POST", "/messages", "chat", self._chat),
        ]
        for method, path, call, do in calls_of_batches:
            routes.append((method, f"/batches{path}", call, do))
            routes.append((method, f"/messages/batches{path}", call, do))
        return routes

    # --- every call ---------------------------------------------------------------------------

    def _route(self, call: Call, do: Handler) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            self.calls.append(call)
            match self._plans.pop((call, self.calls.count(call)), None):
                case Stop() as stop:
                    return await _hold(request, stop, do)
                case Fault(Part() as part):
                    beginning = await _send_beginning(request, part, await do(request))
                    if part.is_cut:
                        return _error_response(request, Cut(), beginning)
                    return beginning
                case Fault(Status() | Cut() as answer, takes_effect):
                    if takes_effect:
                        await do(request)
                    else:
                        await request.read()
                    return _error_response(request, answer)
                case _:
                    return await do(request)

        return handle

    def _now(self) -> float:
        return time.time() + self.ahead

    async def _stamp(self, _: web.Request, response: web.StreamResponse) -> None:
        response.headers["Date"] = formatdate(self._now(), usegmt=True)

    def _new_id(self, kind: str) -> str:
        return f"{kind}-{next(self._numbers)}"

    def _answers_of(self, batch: Batch) -> list[tuple[str, LineAnswer]]:
        """What became of each request of a batch that has ended, in an order of its own."""
        n_done = len(batch.requests)
        if batch.status == "cancelled":
            n_done //= 2
        answers: list[tuple[str, LineAnswer]] = []
        for index, (custom_id, body) in enumerate(batch.requests.items()):
            answer = self.script(body) if index < n_done else Unanswered("cancelled")
            answers.append((custom_id, answer))
        random.Random(batch.id).shuffle(answers)  # noqa: S311  not a secret
        return [(custom_id, answer) for custom_id, answer in answers if not isinstance(answer, Missing)]

    def _new_batch(self, kind: str, requests: dict[str, dict[str, Any]]) -> Batch:
        end = self.ends[min(len(self.batches), len(self.ends) - 1)]
        batch = Batch(self._new_id(kind), requests, [*STAGES[end]], self._now())
        batch.hidden_for = self.hidden_for
        batch.late_for = self.late_for
        self.batches[batch.id] = batch
        open_batches = [other for other in self.batches.values() if other.status not in FINAL]
        if sum(tokens_of(other) for other in open_batches) > self.max_enqueued:
            batch.stages = ["failed"]
        self.most_open = max(self.most_open, len(open_batches))
        return batch

    def _advance(self, batch: Batch) -> None:
        """The next stage, and what comes of the requests if it is the last one."""
        if not batch.stages:
            batch.late_for = max(batch.late_for - 1, 0)
            return
        batch.status = batch.stages.pop(0)
        if batch.status == "failed" and not batch.errors:
            message = "Enqueued token limit reached. Please try again once some batches have completed."
            batch.errors = [{"code": "token_limit_exceeded", "message": message, "line": None, "param": None}]
        if batch.status in FINAL - {"failed"} and not batch.answers:
            batch.answers = self._answers_of(batch)

    def _visible(self, request: web.Request) -> list[Batch]:
        """The batches of this API that appear in a listing, the newest first."""
        kind = "msgbatch" if _is_anthropic(request) else "batch"
        visible_batches: list[Batch] = []
        for batch in reversed(self.batches.values()):
            if not batch.id.startswith(f"{kind}-"):
                continue
            if batch.hidden_for <= 0:
                visible_batches.append(batch)
            batch.hidden_for -= 1
        return visible_batches

    def _ready_answers(self, batch: Batch) -> list[tuple[str, LineAnswer]]:
        """The results that can be downloaded now."""
        if batch.late_for <= 0:
            return batch.answers
        n_ready = int(len(batch.answers) * self.late_share)
        return batch.answers[:n_ready]

    def _batch(self, request: web.Request) -> Batch:
        return self.batches[request.match_info["id"]]

    def _description(self, request: web.Request, batch: Batch) -> dict[str, Any]:
        """A batch as its API describes it."""
        if _is_anthropic(request):
            return self._message_batch(batch)
        return _batch_object(batch)

    # --- calls about batches ------------------------------------------------------------------

    async def _create(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if _is_anthropic(request):
            requests = {str(entry["custom_id"]): entry["params"] for entry in body["requests"]}
            are_names_valid = all(CUSTOM_ID.fullmatch(custom_id) for custom_id in requests)
            if len(requests) < len(body["requests"]) or not are_names_valid:
                return _error_response(
                    request, Status(400, "custom_id: must be unique and match the pattern")
                )
            return web.json_response(self._message_batch(self._new_batch("msgbatch", requests)))
        file = self.files[body["input_file_id"]]
        requests, errors = read_lines(file.content, body["endpoint"], 50_000)
        batch = self._new_batch("batch", requests)
        batch.creation = body
        batch.errors = errors
        if errors:
            batch.stages = ["failed"]
        return web.json_response(_batch_object(batch))

    async def _list(self, request: web.Request) -> web.StreamResponse:
        descriptions = [self._description(request, batch) for batch in self._visible(request)]
        return web.json_response(_page(descriptions))

    async def _retrieve(self, request: web.Request) -> web.StreamResponse:
        if request.match_info["id"] not in self.batches:
            return _error_response(request, Status(404, "No such Batch"))
        batch = self._batch(request)
        self._advance(batch)
        answers = self._ready_answers(batch)
        if len(answers) != batch.n_in_files:
            batch.n_in_files = len(answers)
            replies: list[tuple[str, LineAnswer]] = []
            failures: list[tuple[str, LineAnswer]] = []
            for custom_id, answer in answers:
                results = replies if isinstance(answer, str | Text) else failures
                results.append((custom_id, answer))
            batch.output_file_id = self._result_file(f"{batch.id}_output.jsonl", replies)
            batch.error_file_id = self._result_file(f"{batch.id}_error.jsonl", failures)
        return web.json_response(self._description(request, batch))

    def _result_file(self, name: str, answers: Sequence[tuple[str, LineAnswer]]) -> str | None:
        """The id of a new file of OpenAI's results; None if there are none."""
        if not answers:
            return None
        lines = [json.dumps(result_line(custom_id, answer)) + "\n" for custom_id, answer in answers]
        return self.upload(name, "".join(lines).encode(), "batch_output")

    async def _results(self, request: web.Request) -> web.StreamResponse:
        batch = self._batch(request)
        text = ""
        for custom_id, answer in self._ready_answers(batch):
            result = _result(batch.requests[custom_id], answer)
            text += json.dumps({"custom_id": custom_id, "result": result}) + "\n"
        return web.Response(text=text, content_type="application/x-jsonl")

    async def _cancel(self, request: web.Request) -> web.StreamResponse:
        batch = self._batch(request)
        if not batch.stages:
            return _error_response(
                request, Status(409, f"Cannot cancel a batch with status '{batch.status}'.")
            )
        batch.status = "cancelling"
        batch.stages = ["cancelled"]
        return web.json_response(self._description(request, batch))

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.chats.append(body)
        answer = self.script(body)
        if isinstance(answer, Status):
            return _error_response(request, answer)
        text = Text(GOOD) if isinstance(answer, Unanswered | Missing) else _text_of(answer)
        if _is_anthropic(request):
            return web.json_response(_message_of(body, text))
        return web.json_response(completion(text))

    # --- files --------------------------------------------------------------------------------

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        form_file = form["file"]
        assert isinstance(form_file, web.FileField)
        file_id = self.upload(form_file.filename, form_file.file.read(), str(form["purpose"]))
        return web.json_response(_file_object(self.files[file_id]))

    async def _list_files(self, request: web.Request) -> web.StreamResponse:
        purpose = request.query.get("purpose")
        files = [_file_object(file) for file in self.files.values() if purpose in {None, file.purpose}]
        return web.json_response(_page(files))

    async def _delete(self, request: web.Request) -> web.StreamResponse:
        file = self.files.pop(request.match_info["id"], None)
        if file is None:
            return _error_response(request, Status(404, "No such File"))
        return web.json_response({"id": file.id, "object": "file", "deleted": True})

    async def _content(self, request: web.Request) -> web.StreamResponse:
        file = self.files.get(request.match_info["id"])
        if file is None:
            return _error_response(request, Status(404, "No such File"))
        start = 0
        if self.has_ranges and request.http_range.start:
            start = request.http_range.start
        self.downloads.append(len(file.content) - start)
        if not start:
            return web.Response(body=file.content, content_type="application/octet-stream")
        if start >= len(file.content):
            return _error_response(request, Status(416, "The range cannot be satisfied."))
        place = {"Content-Range": f"bytes {start}-{len(file.content) - 1}/{len(file.content)}"}
        return web.Response(status=206, body=file.content[start:], headers=place)

    def _message_batch(self, batch: Batch) -> dict[str, Any]:
        is_ended = batch.status in FINAL
        processing_status = "in_progress"
        if batch.status == "cancelling":
            processing_status = "canceling"
        results_url = None
        if is_ended:
            processing_status = "ended"
            if self.late_share or batch.late_for <= 0:
                results_url = f"{self.root}/v1/messages/batches/{batch.id}/results"
        kinds = Counter(_result(batch.requests[name], answer)["type"] for name, answer in batch.answers)
        counts = {kind: kinds[kind] for kind in ("succeeded", "errored", "canceled", "expired")}
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": processing_status,
            "request_counts": {**counts, "processing": 0 if is_ended else len(batch.requests)},
            "created_at": datetime.fromtimestamp(batch.created_at, UTC).isoformat(),
            "results_url": results_url,
        }


Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


def refuse_as_reasoning_models(script: Script) -> Script:
    """A script that refuses what reasoning models refuse, one parameter at a time."""

    def answer_request(body: dict[str, Any]) -> LineAnswer:
        is_anthropic = "system" in body
        if is_anthropic and {"temperature", "top_p"} <= body.keys():
            return Status(400, "`temperature` and `top_p` cannot both be specified for this model.")
        if is_anthropic:
            return script(body)
        for name, new_name in REFUSED.items():
            if name in body:
                remedy = f" Use '{new_name}' instead." if new_name else ""
                message = f"Unsupported parameter: '{name}' is not supported with this model.{remedy}"
                return Status(400, message, "unsupported_parameter", name)
        return script(body)

    return answer_request


def read_lines(
    content: bytes, endpoint: str, max_lines: int
) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    """The bodies in a file of requests by custom_id, and what is wrong with the file."""
    requests: dict[str, dict[str, Any]] = {}
    lines = [line for line in content.decode().split("\n") if line]
    faults: list[str] = []
    if not 0 < len(lines) <= max_lines:
        faults.append(f"There are {len(lines)} requests.")
    models = set[str]()
    for line in lines:
        entry = json.loads(line)
        custom_id, body = entry["custom_id"], entry["body"]
        models.add(body["model"])
        right_entry = {"custom_id": custom_id, "method": "POST", "url": endpoint, "body": body}
        if custom_id in requests or entry != right_entry or not body["messages"] or len(models) > 1:
            faults.append(f"This line is none of a batch: {line}")
        requests[custom_id] = body
    return requests, [{"code": "invalid_request", "message": fault} for fault in faults]


def tokens_of(batch: Batch) -> int:
    """About how many tokens the prompts of a batch have, as long as it has not ended."""
    if batch.status in FINAL:
        return 0
    n_characters = 0
    for body in batch.requests.values():
        for message in body["messages"]:
            n_characters += len(message["content"])
    return n_characters // 4


async def _send_beginning(
    request: web.Request, part: Part, response: web.StreamResponse
) -> web.StreamResponse:
    """Send the beginning of a response with a body."""
    assert isinstance(response, web.Response)
    body = cast("bytes", response.body)
    beginning = web.StreamResponse(status=response.status, headers=response.headers)
    if part.is_sized and part.is_cut:
        beginning.content_length = len(body)
    else:
        beginning.content_length = None  # the headers have that of the whole
        beginning.enable_chunked_encoding()
    await beginning.prepare(request)
    n_bytes = int(len(body) * part.share)
    await beginning.write(body[:n_bytes])
    return beginning


async def _hold(request: web.Request, stop: Stop, do: Handler) -> web.StreamResponse:
    """Do what is asked up to the planned moment, and hold the call there."""
    response = None
    if stop.moment != "before":
        response = await do(request)
    elif request.content_type != "multipart/form-data":  # which can be read only once
        await request.read()
    if stop.moment == "midway" and response is not None:
        response = await _send_beginning(request, Part(is_sized=False), response)
    stop.reached.set()
    await asyncio.to_thread(stop.ended.wait)
    return _error_response(request, Cut(), response)


def _error_response(
    request: web.Request, answer: Status | Cut, beginning: web.StreamResponse | None = None
) -> web.StreamResponse:
    if isinstance(answer, Cut):
        if request.transport:
            request.transport.abort()
        if beginning is None:
            return web.Response()
        return beginning
    headers = dict(answer.headers)
    if answer.retry_after is not None:
        headers["Retry-After"] = str(answer.retry_after)
    body = _anthropic_error(answer) if _is_anthropic(request) else error_of(answer)
    return web.json_response(body, status=answer.status, headers=headers)


def _is_anthropic(request: web.Request) -> bool:
    return request.path.startswith("/v1/messages")


def _anthropic_error(answer: Status) -> Any:
    kind = KINDS.get(answer.status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": answer.message}, "request_id": None}


def _page(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """A list as its only page."""
    first_id = last_id = None
    if entries:
        first_id = entries[0]["id"]
        last_id = entries[-1]["id"]
    return {"object": "list", "data": entries, "has_more": False, "first_id": first_id, "last_id": last_id}


def _file_object(file: UploadedFile) -> dict[str, Any]:
    return {
        "id": file.id,
        "object": "file",
        "filename": file.name,
        "purpose": file.purpose,
        "status": "processed",
    }


def _batch_object(batch: Batch) -> dict[str, Any]:
    n_replies = sum(isinstance(answer, str | Text) for _, answer in batch.answers)
    n_failed = len(batch.answers) - n_replies
    counts = {"total": len(batch.requests), "completed": n_replies, "failed": n_failed}
    return {
        "id": batch.id,
        "object": "batch",
        "endpoint": batch.creation.get("endpoint"),
        "input_file_id": batch.creation.get("input_file_id"),
        "metadata": batch.creation.get("metadata"),
        "errors": {"object": "list", "data": batch.errors} if batch.status == "failed" else None,
        "completion_window": "24h",
        "status": batch.status,
        "output_file_id": batch.output_file_id,
        "error_file_id": batch.error_file_id,
        "created_at": int(batch.created_at),
        # a batch that was never validated has no counts
        "request_counts": None if batch.status in {"validating", "failed"} else counts,
    }


def result_line(custom_id: str, answer: LineAnswer) -> dict[str, Any]:
    """A line of OpenAI's output file or error file."""
    line: dict[str, Any] = {"id": f"batch_req_{custom_id}", "custom_id": custom_id}
    if isinstance(answer, Unanswered):
        error = {"code": f"batch_{answer.why}", "message": f"The batch was {answer.why} before this request."}
        return {**line, "response": None, "error": error}
    if isinstance(answer, Status):
        status, body = answer.status, error_of(answer)
    else:
        assert not isinstance(answer, Missing)
        status, body = 200, completion(replace(_text_of(answer), logprobs=None))
    response = {"status_code": status, "request_id": f"req_{custom_id}", "body": body}
    return {**line, "response": response, "error": None}


def _text_of(answer: str | Text) -> Text:
    return Text(answer) if isinstance(answer, str) else answer


def _result(params: Mapping[str, Any], answer: LineAnswer) -> dict[str, Any]:
    """Anthropic's result of a request."""
    if not _is_valid(params):
        answer = Status(400)
    match answer:
        case Unanswered("expired"):
            return {"type": "expired"}
        case Unanswered() | Missing():
            return {"type": "canceled"}
        case Status():
            return {"type": "errored", "error": _anthropic_error(answer)}
        case _:
            return {"type": "succeeded", "message": _message_of(params, _text_of(answer))}


def _is_valid(params: Mapping[str, Any]) -> bool:
    """Whether Anthropic's API takes the parameters of a request."""
    roles = {message["role"] for message in params["messages"]}
    names = {"model", "messages", "max_tokens", "system", "temperature", "top_p"}
    return params.keys() <= names and bool(params["max_tokens"]) and roles <= {"user", "assistant"}


def _message_of(params: Mapping[str, Any], answer: Text) -> dict[str, Any]:
    """A message as Anthropic answers it."""
    reasons = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
    n_prompt, n_completion = 0, 0
    if answer.usage:
        n_prompt, n_completion = answer.usage
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": params["model"],
        "content": [{"type": "text", "text": answer.text}] if answer.text else [],
        "stop_reason": reasons.get(answer.finish_reason or "", answer.finish_reason),
        "stop_sequence": None,
        "usage": {"input_tokens": n_prompt, "output_tokens": n_completion},
    }
