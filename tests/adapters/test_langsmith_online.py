"""Evaluators that LangSmith runs itself, with the real package and a local stand-in for its server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langsmith import AsyncClient, Client
from loopback import Seen, json_server, running, url_of

from groundjudge import GroundjudgeError, PromptError, load_rubric
from groundjudge.adapters.langsmith_online import online_evaluator
from groundjudge.decisions.questionnaire import questionnaire_of

CREATED = {"id": "00000000-0000-0000-0000-000000000001", "display_name": "created"}


class Server:
    """LangSmith's API as far as evaluators are made there."""

    def __init__(self) -> None:
        self.requests: list[Seen] = []
        self.status = 200
        self.server = json_server(self.answer)
        self.url = url_of(self.server)
        self.client = Client(api_url=self.url, api_key="a-key", auto_batch_tracing=False)

    def answer(self, request: Seen) -> tuple[int, Any]:
        self.requests.append(request)
        return self.status, CREATED


@pytest.fixture
def server() -> Iterator[Server]:
    langsmith = Server()
    with running(langsmith.server):
        yield langsmith


def test_a_judge_becomes_an_evaluator_of_a_project(server: Server) -> None:
    paths = {"query": "inputs.question", "response": "outputs.answer"}
    evaluator = online_evaluator(
        "groundedness", project_id="p", variable_mapping=paths, client=server.client, sampling_rate=0.1
    )
    assert evaluator.id == CREATED["id"]
    (request,) = server.requests
    rubric = load_rubric("groundedness")
    body = request.body
    assert (request.method, request.path) == ("POST", "/api/v1/runs/rules/decision-models")
    assert body["display_name"] == f"groundedness {rubric.prompt.id.version} {rubric.prompt.sha256[:12]}"
    assert (body["session_id"], body["sampling_rate"], body["provider"]) == ("p", 0.1, "openai_decisions")
    assert body["variable_mapping"] == {**paths, "context": "outputs.context"}
    (system, human) = body["prompt"]
    assert system == ["system", questionnaire_of(rubric).rules]
    for name in ("query", "context", "response"):
        assert f"{{{{{name}}}}}" in human[1]
    question = body["questions"]["groundedness"]
    assert question["type"] == "choice"
    assert set(question["options"]) == set(rubric.levels.values())


def test_parts_are_feedback_of_their_own_with_their_levels(server: Server) -> None:
    online_evaluator("passage_quality", dataset_id="d", client=server.client, provider="typesafe")
    (request,) = server.requests
    assert list(request.body["questions"]) == ["passage_recall", "passage_precision"]
    assert {len(question["levels"]) for question in request.body["questions"].values()} == {5}
    assert request.body["variable_mapping"]["reference"] == "reference_outputs.reference"
    assert (request.body["dataset_id"], request.body["provider"]) == ("d", "typesafe")


@pytest.mark.parametrize(
    ("variable", "path"),
    [
        ("LANGSMITH_ENDPOINT", ""),
        ("LANGCHAIN_ENDPOINT", "/"),
        ("LANGCHAIN_ENDPOINT", "/api"),
        ("LANGSMITH_ENDPOINT", "/api/v1"),
    ],
)
def test_the_environment_says_where_and_with_which_key_it_is_created(
    server: Server, variable: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, server.url + path)
    monkeypatch.setenv("LANGSMITH_API_KEY", "the-key")
    monkeypatch.setenv("LANGSMITH_WORKSPACE_ID", "the-workspace")
    assert online_evaluator("groundedness", project_id="p").display_name == "created"
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/api/v1/runs/rules/decision-models")
    headers = {name.lower(): value for name, value in request.headers.items()}
    assert (headers["x-api-key"], headers["x-tenant-id"]) == ("the-key", "the-workspace")


def test_misspelt_setting_is_refused_before_a_request(server: Server) -> None:
    with pytest.raises(TypeError, match=r"no setting 'sampling_rat'.*did you mean 'sampling_rate'"):
        online_evaluator("groundedness", project_id="p", client=server.client, sampling_rat=0.1)
    assert not server.requests


@pytest.mark.parametrize("settings", [{}, {"auto_batch_tracing": True}, {"timeout_ms": 5_000}])
def test_a_client_of_langsmiths_says_where_it_is_created(server: Server, settings: dict[str, Any]) -> None:
    client = Client(api_url=server.url, api_key="its-key", **settings)
    assert online_evaluator("groundedness", project_id="p", client=client).id == CREATED["id"]
    # A client that traces asks for the settings of the API too, in a thread.
    (request,) = [request for request in server.requests if request.method == "POST"]
    headers = {name.lower(): value for name, value in request.headers.items()}
    assert (request.path, headers["x-api-key"]) == ("/api/v1/runs/rules/decision-models", "its-key")


@pytest.mark.parametrize("client", ["a-key", Client, AsyncClient(api_url="http://127.0.0.1:9", api_key="k")])
def test_another_client_is_refused_by_its_class(server: Server, client: Any) -> None:
    with pytest.raises(TypeError, match=r"client must be a langsmith\.Client, not a "):
        online_evaluator("groundedness", project_id="p", client=client)
    assert not server.requests


@pytest.mark.parametrize(("status", "key"), [(401, None), (403, None), (401, "a-key"), (422, "a-key")])
def test_a_refusal_says_which_key_is_missing_if_one_is(
    server: Server, status: int, key: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LANGSMITH_API_KEY", raising=False)
    server.status = status
    client = Client(api_url=server.url, api_key=key, auto_batch_tracing=False)
    with pytest.raises(GroundjudgeError, match=f"langsmith_refused: .*{status}") as raised:
        online_evaluator("groundedness", project_id="p", client=client)
    is_named = "set LANGSMITH_API_KEY, or pass client=langsmith.Client(api_key=...)" in raised.value.message
    assert is_named == (key is None)


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "each sentence": ("statement_groundedness", {"dataset_id": "d"}, "statement_groundedness: it asks"),
    "a list of messages": ("knowledge_hallucination", {"dataset_id": "d"}, "conversation"),
    "neither project nor dataset": ("groundedness", {}, "project_id or dataset_id"),
    "both": ("groundedness", {"dataset_id": "d", "project_id": "p"}, "either project_id or dataset_id"),
    "a misspelt input": (
        "groundedness",
        {"dataset_id": "d", "variable_mapping": {"qery": "inputs.q"}},
        "'qery' is not an input of groundedness, did you mean 'query'?",
    ),
}


@pytest.mark.parametrize(("judge", "arguments", "message"), REFUSED.values(), ids=REFUSED)
def test_what_langsmith_cannot_ask_is_refused_by_name(
    server: Server, judge: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(PromptError, match=message) as raised:
        online_evaluator(judge, client=server.client, **arguments)
    assert raised.value.code == "not_hosted"
    assert not server.requests
