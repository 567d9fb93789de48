"""A provider's error is its code: in the status, or in the body of any status; each code has its remedy."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from typing import Any

import openai
import pytest
from adapter_entries import ENTRIES
from adapters_table import Exchange
from formatter import sure
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models.chat_models import SimpleChatModel
from langchain_core.messages import BaseMessage
from loopback import json_server, running, url_of
from many_rows import codes, until_error
from standin_openai import Answer, Raw, StandIn, Status, Text, completion, refuses

from groundjudge import ModelError, load, run
from groundjudge.batches.lines import read_result, request_lines
from groundjudge.models.loop_thread import shared_loop
from groundjudge.models.openai import OpenAIModel
from groundjudge.models.transport import StatusError
from groundjudge.types import AnyJudge

ROW = {"query": "When do you open?", "context": "We open at 9.", "response": "At 9."}
EXCHANGE = Exchange("a", {"query": ROW["query"]}, {"response": ROW["response"], "context": [ROW["context"]]})
GOOD = f"<S0>t</S0><S1>all of it</S1>{sure(5)}"

# LangSmith says this of evaluations that are not uploaded.
pytestmark = pytest.mark.filterwarnings("ignore:'upload_")


def error_200(beside: Any = None, **error: Any) -> Raw:
    """A response of status 200 with an error in its body."""
    return Raw(json.dumps({**(beside or {}), "error": error}).encode())


def choice_200(**error: Any) -> Raw:
    """A completion of status 200, the choice of which has an error, as a gateway sends it."""
    body = completion(Text(GOOD[:20], "error"))
    body["choices"][0]["error"] = error
    return Raw(json.dumps(body).encode())


def from_provider(raw: str, code: int = 400) -> Status:
    """A gateway's error that has a provider's own as a text."""
    error = {
        "message": "Provider returned error",
        "code": code,
        "metadata": {"raw": raw, "provider_name": "p"},
    }
    return Status(code, body={"error": error})


def by_run(judge: AnyJudge) -> Any:
    try:
        (verdict,) = run(judge, [ROW])
    except ModelError as error:  # it ends the run
        return error
    return verdict.error


def by_adapter(name: str) -> Callable[[AnyJudge], Any]:
    return lambda judge: ENTRIES[name](judge, [EXCHANGE])[0].error


WAYS: dict[str, Callable[[AnyJudge], Any]] = {
    "judge": lambda judge: judge.evaluate(ROW).error,
    "run": by_run,
    "langchain": by_adapter("langchain"),
    "deepeval": by_adapter("deepeval"),
    "langsmith": by_adapter("langsmith"),
}

NO_CHOICES = {"choices": None}
AZURE = Status(
    400,
    body={
        "error": {
            "message": "The response was filtered due to the prompt triggering a content management policy",
            "type": None,
            "param": "prompt",
            "code": "content_filter",
            "status": 400,
            "innererror": {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {}},
        }
    },
)
FLAGGED = {
    "error": {
        "message": "openai/m requires moderation on p. Your input was flagged",
        "code": 403,
        "metadata": {"reasons": ["violence"], "flagged_input": "We open", "provider_name": "p"},
    }
}
WINDOW = (
    "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is 2048 "
    "tokens and your request has 700 input tokens (2000 > 2048 - 700)."
)
REQUESTED = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."
LLAMA = {"code": 400, "message": "the request is longer than this", "type": "exceed_context_size_error"}

LOOK = "look at the case"
SHORTER = "judge a shorter response, or pass fewer or shorter documents"
MAX_TOKENS = "if max_tokens takes up too much of the model's context window, lower it"


@pytest.mark.parametrize(
    ("way", "answer", "code", "n_requests", "words"),
    [
        # The code in the body of a success
        pytest.param(
            "langsmith",
            error_200(NO_CHOICES, code=402, message="Insufficient credits"),
            "quota",
            1,
            "402: Insufficient credits (check the plan",
            id="402 in a status 200",
        ),
        pytest.param(
            "judge",
            error_200(NO_CHOICES, code="429", message="slow down"),
            "rate_limited",
            3,
            "429: slow down (send fewer requests",
            id="429 as a text, after all retries",
        ),
        pytest.param(
            "deepeval",
            error_200(code=None, type="insufficient_quota", message="no money"),
            "quota",
            1,
            "no money (check the plan",
            id="used-up quota in a status 200, by its type",
        ),
        pytest.param(
            "judge",
            choice_200(code=502, message="upstream went away"),
            "server",
            3,
            "502: upstream went away",
            id="error of a choice",
        ),
        pytest.param(
            "langchain",
            error_200(completion(Text(GOOD)), code=400, message="no such thing"),
            "bad_request",
            1,
            "400: no such thing",
            id="error beside a completion",
        ),
        # The code in the body of an error
        pytest.param(
            "run",
            Status(503, "No available channel", "model_not_found"),
            "not_found",
            1,
            "check the model's name",
            id="gateway without such a model",
        ),
        pytest.param("judge", Status(400, "no", "invalid_api_key"), "auth", 1, "key", id="400, wrong key"),
        pytest.param(
            "judge",
            Status(402, "Insufficient Balance", "invalid_request_error", type="unknown_error"),
            "quota",
            1,
            "check the plan",
            id="402 with a code that says less",
        ),
        pytest.param(
            "judge",
            Status(413, "Request too large: Limit 6000", "rate_limit_exceeded", type="tokens"),
            "too_long",
            1,
            SHORTER,
            id="413 that is called a rate limit",
        ),
        # Content filters
        pytest.param("judge", AZURE, "refused", 1, LOOK, id="content filter of Azure"),
        pytest.param("run", Status(403, body=FLAGGED), "refused", 1, LOOK, id="moderation of a gateway"),
        pytest.param(
            "judge",
            from_provider(json.dumps({"error": {"message": "no", "code": "content_filter"}})),
            "refused",
            1,
            LOOK,
            id="content filter behind a gateway",
        ),
        pytest.param(
            "langchain",
            error_200(code="invalid_prompt", message="temperature"),
            "refused",
            1,
            LOOK,
            id="rejected prompt in a status 200",
        ),
        pytest.param(
            "judge",
            Status(400, "Blocked: temperature, content policy"),
            "refused",
            1,
            LOOK,
            id="content policy without a code",
        ),
        # The window
        pytest.param("judge", Status(400, WINDOW), "too_long", 1, MAX_TOKENS, id="max_tokens in the way"),
        pytest.param("deepeval", Status(400, body={"error": LLAMA}), "too_long", 1, SHORTER, id="llama.cpp"),
        pytest.param(
            "langsmith",
            Status(400, "temperature", "context_length_exceeded"),
            "too_long",
            1,
            SHORTER,
            id="window by its code",
        ),
        pytest.param("langchain", Status(400, REQUESTED), "too_long", 1, SHORTER, id="window without a code"),
        pytest.param(
            "judge",
            from_provider("prompt is too long: 208310 tokens > 200000 maximum"),
            "too_long",
            1,
            "prompt is too long: 208310 tokens",
            id="window behind a gateway",
        ),
        # What has no code of these stays as it was.
        pytest.param("judge", Status(400, "what?", "1500"), "bad_request", 1, "what?", id="code of its own"),
    ],
)
def test_the_code_of_an_error_decides_in_any_status(
    way: str, answer: Answer, code: str, n_requests: int, words: str
) -> None:
    with StandIn([answer]) as server:
        error = WAYS[way](load("groundedness", model=OpenAIModel("m", base_url=server.url)))
        assert len(server.requests) == n_requests
    assert error.code == code
    assert words in error.message


CLIENT_ANSWERS: dict[str, tuple[Sequence[Answer], int, str | None]] = {
    "429 once": ([error_200(NO_CHOICES, code=429, message="slow down"), GOOD], 2, None),
    "502 once": ([choice_200(code=502, message="went away"), GOOD], 2, None),
    "402": ([error_200(NO_CHOICES, code=402, message="no credits")], 1, "quota"),
    "content filter": ([AZURE], 1, "refused"),
    "window": ([Status(400, WINDOW)], 1, "too_long"),
}


@pytest.mark.parametrize("kind", [openai.OpenAI, openai.AsyncOpenAI])
def test_clients_of_every_kind_are_told_alike(kind: Any) -> None:
    async def close(client: Any) -> None:
        closing = client.close()
        if closing:
            await closing

    outcomes: dict[str, tuple[int, str | None]] = {}
    with StandIn() as server:
        client = kind(base_url=server.url, api_key="k", max_retries=1)
        judge = load("groundedness", model=OpenAIModel("m", client=client))
        for name, (answers, _, _) in CLIENT_ANSWERS.items():
            server.script = answers
            server.requests.clear()
            error = judge.evaluate(ROW).error
            outcomes[name] = (len(server.requests), error.code if error else None)
        shared_loop().run(close, client)
    expected = {name: (n_requests, code) for name, (_, n_requests, code) in CLIENT_ANSWERS.items()}
    assert outcomes == expected


def test_a_run_waits_after_a_rate_limit_in_a_status_200() -> None:
    limited = error_200(NO_CHOICES, code=429, message="slow down")
    with StandIn([limited, limited, GOOD]) as server:
        (verdict,) = run(load("groundedness", model=OpenAIModel("m", base_url=server.url)), [ROW])
    assert (verdict.score, verdict.retries) == (1.0, 2)


def test_a_run_goes_on_after_a_row_that_a_filter_rejects_and_ends_without_credit() -> None:
    with StandIn([AZURE, GOOD, error_200(NO_CHOICES, code=402, message="no credits")]) as server:
        judge = load("groundedness", model=OpenAIModel("m", base_url=server.url))
        rows = [{**ROW, "id": str(number)} for number in range(3)]
        verdicts, error = until_error(run(judge, rows, concurrency=1, ordered=True))
    assert codes(verdicts) == {"refused": 1, "ok": 1}
    assert error.code == "quota"


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        pytest.param(429, {"type": "rate_limit_error", "message": "no"}, "rate_limited", id="rate limit"),
        pytest.param(
            400,
            {
                "type": "invalid_request_error",
                "message": "prompt is too long: 208310 tokens > 200000 maximum",
            },
            "too_long",
            id="prompt too long",
        ),
        pytest.param(
            400,
            {
                "type": "invalid_request_error",
                "message": "Output blocked by content filtering policy",
            },
            "refused",
            id="content filter",
        ),
    ],
)
def test_a_chat_model_of_langchain_is_told_alike(status: int, body: Any, code: str) -> None:
    make: Any = ChatAnthropic
    server = json_server(lambda _: (status, {"type": "error", "error": body}))
    with running(server):
        llm = make(model="claude-x", api_key="k", base_url=url_of(server), max_retries=0)
        verdict = load("groundedness", model=llm).evaluate(ROW)
    assert verdict.error
    assert verdict.error.code == code


class CodedError(Exception):
    """As those of Google's client are: without a body."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code} INVALID_ARGUMENT: {message}")
        self.code = code


class BedrockError(Exception):
    """As the exceptions of Bedrock's client are."""

    def __init__(self, name: str, status: int) -> None:
        super().__init__(f"An error occurred ({name}) when calling the Converse operation: no")
        error = {"Code": name, "Message": "no"}
        self.response = {"Error": error, "ResponseMetadata": {"HTTPStatusCode": status}}


@pytest.mark.parametrize(
    ("error", "code"),
    [
        pytest.param(BedrockError("ThrottlingException", 429), "rate_limited", id="Bedrock's rate limit"),
        pytest.param(BedrockError("AccessDeniedException", 403), "auth", id="Bedrock's wrong key"),
        pytest.param(
            CodedError(400, "The input token count exceeds the maximum number of tokens allowed"),
            "too_long",
            id="Google's window",
        ),
        # As langchain_openai raises it after a status 200.
        pytest.param(ValueError({"code": 402, "message": "no"}), "quota", id="error of a body alone"),
    ],
)
def test_what_a_function_raises_is_told_alike(error: Exception, code: str) -> None:
    def raises(_: object) -> str:
        raise error

    verdict = load("groundedness", model=raises).evaluate(ROW)
    assert verdict.error
    assert verdict.error.code == code


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        pytest.param(400, AZURE.body, "refused", id="content filter"),
        pytest.param(400, {"error": {"message": WINDOW}}, "too_long", id="window"),
        pytest.param(
            200, {"choices": None, "error": {"code": 429}}, "rate_limited", id="429 in a status 200"
        ),
        pytest.param(200, {"choices": None}, "server", id="no completion"),
    ],
)
def test_a_line_of_a_batch_is_told_alike(status: int, body: Any, code: str) -> None:
    line = {"custom_id": "a", "response": {"status_code": status, "body": body}, "error": None}
    _, answer = read_result(json.dumps(line))
    assert isinstance(answer, ModelError)
    assert answer.code == code


# The role of the system


SYSTEM_REFUSALS = [
    pytest.param(Status(400, "System role not supported"), id="Gemma at vLLM"),
    pytest.param(
        Status(
            400,
            "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
            "unsupported_value",
            "messages[0].role",
        ),
        id="OpenAI",
    ),
    pytest.param(from_provider("Conversation roles must alternate user/assistant"), id="behind a gateway"),
    pytest.param(error_200(NO_CHOICES, code=400, message="System role not supported"), id="in a status 200"),
]


def without_system(refusal: Answer) -> Callable[[dict[str, Any]], Answer]:
    """An endpoint whose template does not know the role, and whose first reply cannot be read."""

    def answer_to(body: dict[str, Any]) -> Answer:
        if any(message["role"] == "system" for message in body["messages"]):
            return refusal
        return GOOD if len(body["messages"]) > 1 else "I cannot say."

    return answer_to


@pytest.mark.parametrize("refusal", SYSTEM_REFUSALS)
def test_a_refused_system_role_is_sent_in_the_users_message_and_remembered(
    refusal: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    with StandIn(without_system(refusal)) as server, caplog.at_level(logging.WARNING, "groundjudge"):
        model = OpenAIModel("m", base_url=server.url)
        judge = load("groundedness", model=model)
        verdicts = [judge.judge(ROW) for _ in range(2)]
        (line,) = request_lines(judge, [ROW])
    assert [(verdict.score, verdict.attempts) for verdict in verdicts] == [(1.0, 2)] * 2
    first, *others = [body["messages"] for body in server.bodies]
    system, user = first
    merged = {"role": "user", "content": f"{system['content']}\n\n{user['content']}"}
    assert [messages[0] for messages in others] == [merged] * 4
    assert [[message["role"] for message in messages] for messages in others] == [
        ["user"],
        ["user", "assistant", "user"],
    ] * 2
    (record,) = caplog.records
    assert record.getMessage().endswith("refuses parameters: from now on system role is sent as user")
    assert json.loads(line)["body"]["messages"] == [merged], "a batch is sent the same"


class WithoutSystem(SimpleChatModel):
    """A chat model of LangChain whose endpoint does not know the role."""

    model: str = "m"

    @property
    def _llm_type(self) -> str:
        return "chat"

    def _call(self, messages: list[BaseMessage], *_: Any, **__: Any) -> str:
        ROLES.append([message.type for message in messages])
        if messages[0].type == "system":
            raise StatusError(400, {"message": "System role not supported", "code": 400}, None)
        return GOOD


ROLES: list[list[str]] = []


def test_a_chat_model_of_langchain_is_sent_no_refused_role_either() -> None:
    ROLES.clear()
    judge = load("groundedness", model=WithoutSystem())
    assert [ENTRIES["langchain"](judge, [EXCHANGE])[0].score for _ in range(2)] == [1.0, 1.0]
    assert ROLES == [["system", "human"], ["human"], ["human"]]


@pytest.mark.parametrize(
    ("answers", "code", "n_requests"),
    [
        pytest.param([Status(400, "the system is broken")], "bad_request", 2, id="tried once, and no help"),
        pytest.param([Status(500, "system role")], "server", 1, id="fault of the endpoint"),
        pytest.param([refuses("temperature"), Status(400, "what?")], "bad_request", 2, id="a parameter"),
    ],
)
def test_a_role_is_remembered_only_if_that_helped(answers: Any, code: str, n_requests: int) -> None:
    with StandIn(answers) as server:
        model = OpenAIModel("m", base_url=server.url, max_retries=0)
        verdict = load("groundedness", model=model).evaluate(ROW)
    assert verdict.error
    assert (verdict.error.code, len(server.requests)) == (code, n_requests)
    assert model.refusals == {}
