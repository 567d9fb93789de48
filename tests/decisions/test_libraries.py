"""Decision models of other libraries, with their own clients at a strict stand-in.

Most of these libraries are newer than the oldest that groundjudge supports, and some need a newer version of
`openai` than that: what is not installed is skipped.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from inspect import iscoroutinefunction
from typing import Any

import pytest
from decision_requests import RULES, decision_request, probabilities_in
from standin_decisions import Decisions
from standin_openai import Raw, StandIn, Status

from groundjudge import ModelError, Reply
from groundjudge.decisions.libraries import decisions_by
from groundjudge.models.lookup import as_model
from groundjudge.models.loop_thread import shared_loop
from groundjudge.rubric.model import Model, way_of

KEY = "live/4f9a81c2d7e6b35a0c+qx"
PROBABILITIES = {
    "verdict": {"A": pytest.approx(1 / 3), "B": pytest.approx(2 / 3)},
    "recall": {"0": pytest.approx(1 / 6), "1": pytest.approx(2 / 6), "2": pytest.approx(3 / 6)},
}

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*is in beta"),
    pytest.mark.filterwarnings("ignore:replies of:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # clients that only their library could close
]


def module(name: str) -> Any:
    """A module of a library, or the reason why the test is skipped."""
    pytest.importorskip(name.partition(".")[0], reason=f"{name} is not installed")
    return pytest.importorskip(name, reason=f"the installed version has no {name}")


def langchain_core(server: StandIn) -> Any:
    """A BaseDecisionModel of the user's, which asks a System One endpoint."""
    decisions: Any = module("langchain_core.decisions")
    httpx: Any = module("httpx")

    class MyDecisionModel(decisions.BaseDecisionModel):  # type: ignore[misc]  # a class that is imported late
        model: str = "jev-1.13.0"
        api_key: str = KEY

        @property
        def _provider(self) -> str:
            return "mine"

        def _classify(self, state: Any, questions: Any) -> Any:
            body = {"model": self.model, "state": state}
            body["questions"] = {name: question.model_dump() for name, question in questions.items()}
            headers = {"Authorization": f"Bearer {self.api_key}"}
            response = httpx.post(f"{server.root}/v1/systemone", json=body, headers=headers)
            response.raise_for_status()
            return decisions.ClassifierResponse.model_validate(response.json())

    return MyDecisionModel()


def langchain_openai(server: StandIn) -> Any:
    decisions: Any = module("langchain_openai.decisions")
    return decisions.OpenAIDecisions(
        model="gpt-6-luna", base_url=server.url, api_key=KEY, max_retries=0, timeout=5
    )


def langchain_typesafe(server: StandIn) -> Any:
    return module("langchain_typesafe").TypeSafeClassifier(
        model="jev-1.13.0", base_url=server.root, api_key=KEY
    )


def deepeval_typesafe(server: StandIn) -> Any:
    module("typesafe_sdk")
    models: Any = module("deepeval.models.system_one")
    return models.TypeSafeModel("jev-1.13.0", api_key=KEY, base_url=server.root, compression=False)


def deepeval_own(server: StandIn) -> Any:
    """A DeepEvalBaseSystemOneModel of the user's, which asks a System One endpoint."""
    base: Any = module("deepeval.models.base_model")
    system_one: Any = module("deepeval.models.system_one")
    httpx: Any = module("httpx")

    class MyModel(base.DeepEvalBaseSystemOneModel):  # type: ignore[misc]  # a class that is imported late
        def __init__(self) -> None:
            self.api_key = KEY
            self.name = "jev-1.13.0"

        def load_model(self) -> Any:
            return self.name

        def decide(self, state: Any, questions: Mapping[str, Any]) -> Any:
            asked: dict[str, Any] = {}
            for name, question in questions.items():
                criteria = getattr(question, "options", None) or question.levels
                kind = "choice" if isinstance(criteria, dict) else "score"
                asked[name] = {"type": kind, "instructions": question.instructions, "criteria": criteria}
            body = {"model": self.name, "state": state, "questions": asked}
            headers = {"Authorization": f"Bearer {self.api_key}"}
            response = httpx.post(f"{server.root}/v1/systemone", json=body, headers=headers)
            response.raise_for_status()
            answers: Any = {"choices": {}, "scores": {}}
            for name, answer in response.json()["answers"].items():
                answers[f"{answer.pop('type')}s"][name] = answer
            return system_one.SystemOneAnswers.model_validate(answers), 0.25

        async def a_decide(self, state: Any, questions: Mapping[str, Any]) -> Any:
            return await asyncio.to_thread(self.decide, state, questions)

        def get_model_name(self) -> str:
            return f"{self.name} by me"

    return MyModel()


def pydantic_ai_system_one(server: StandIn) -> Any:
    models: Any = module("pydantic_ai.models.system_one")
    providers: Any = module("pydantic_ai.providers.system_one")
    provider = providers.SystemOneProvider(base_url=server.root, api_key=KEY)
    return models.SystemOneModel("jev-1.13.0", provider=provider)


def pydantic_ai_decisions(server: StandIn) -> Any:
    models: Any = module("pydantic_ai.models.openai_decisions")
    providers: Any = module("pydantic_ai.providers.openai")
    openai: Any = module("openai")
    client = openai.AsyncOpenAI(base_url=server.url, api_key=KEY, max_retries=0)
    return models.OpenAIDecisionsModel("gpt-6-luna", provider=providers.OpenAIProvider(openai_client=client))


@dataclass(frozen=True)
class Made:
    """How a library's model is made, and what it says of itself, of a reply and of an error."""

    make: Callable[[StandIn], Any]
    name: str = "jev-1.13.0"
    answers_as: str | None = "jev-1.13.0"
    tokens: int | None = 213
    cost: float | None = None
    has_status: bool = True
    works_in_any_loop: bool = True


LIBRARIES: Mapping[str, Made] = {
    "BaseDecisionModel": Made(langchain_core, has_status=False),
    "OpenAIDecisions": Made(langchain_openai, "gpt-6-luna", "gpt-6-luna"),
    "TypeSafeClassifier": Made(langchain_typesafe),
    "TypeSafeModel of DeepEval": Made(
        deepeval_typesafe, "jev-1.13.0 (TypeSafe AI)", answers_as=None, tokens=None, cost=210 * 0.042e-6
    ),
    "DeepEvalBaseSystemOneModel": Made(
        deepeval_own, "jev-1.13.0 by me", answers_as=None, tokens=None, cost=0.25, has_status=False
    ),
    "SystemOneModel of pydantic-ai": Made(pydantic_ai_system_one, works_in_any_loop=False),
    "OpenAIDecisionsModel of pydantic-ai": Made(
        pydantic_ai_decisions, "gpt-6-luna", "gpt-6-luna", works_in_any_loop=False
    ),
}


@contextmanager
def model_of(library: str, server: StandIn, wrap: Callable[[Any], Any] | None = None) -> Generator[Any]:
    """A library's model, whose asynchronous clients are closed at the end: libraries leave them open."""
    llm = LIBRARIES[library].make(server)
    yield as_model(wrap(llm) if wrap else llm)
    clients: list[Any] = [getattr(llm, "client", None), getattr(llm, "async_client", None)]
    clients.append(getattr(llm, "_async_client", None))
    for client in clients:
        for method in ("aclose", "close"):
            if iscoroutinefunction(getattr(client, method, None)):
                shared_loop().run(getattr(client, method))
                break


def ask(model: Model) -> Reply:
    return shared_loop().run(model.acomplete, decision_request())


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_models_of_libraries_answer_questions(library: str) -> None:
    made = LIBRARIES[library]
    with StandIn(Decisions(usage=(210, 3))) as server, model_of(library, server) as model:
        replies = [ask(model)]
        if made.works_in_any_loop:
            replies.append(asyncio.run(model.acomplete(decision_request())))
    assert not way_of(model).writes_text
    assert model.name == made.name
    assert KEY not in model.identity
    for reply in replies:
        assert probabilities_in(reply) == PROBABILITIES
        assert reply.model == made.answers_as
        assert (reply.usage.total_tokens if reply.usage else None) == made.tokens
        assert reply.cost == (None if made.cost is None else pytest.approx(made.cost))
    for request in server.requests:
        assert request.headers["Authorization"] == f"Bearer {KEY}"
        assert RULES in str(request.body)
        assert "Which of these is true of `response`?" in str(request.body["questions"])
        assert "All of it is in `context`." in str(request.body["questions"])


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_question_that_a_library_does_not_answer_has_no_probabilities(library: str) -> None:
    script = Decisions(refused=frozenset({"recall"}))
    with StandIn(script) as server, model_of(library, server) as model:
        if "pydantic-ai" in library:  # it leaves out all answers then
            with pytest.raises(ModelError, match="failed: "):
                ask(model)
            return
        probabilities = probabilities_in(ask(model))
    assert not probabilities.pop("recall", None)
    assert probabilities == {"verdict": PROBABILITIES["verdict"]}


ERRORS: Mapping[str, tuple[Any, set[str]]] = {
    "a wrong key": (Status(401, body={"error": {"message": "wrong"}, "detail": "wrong"}), {"auth"}),
    "too many requests": (Status(429, body={"error": {"message": "slow down"}}), {"rate_limited"}),
    "a fault": (Status(500, body={"error": {"message": "no GPU"}}), {"server"}),
    "an unknown model": (Status(404, body={"error": {"message": "no model"}}), {"not_found"}),
    "a page": (Raw(b"<h1>It works</h1>", "text/html"), {"server", "failed"}),
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_errors_of_libraries_have_the_codes_of_an_endpoint_and_no_key(library: str) -> None:
    made = LIBRARIES[library]
    codes_by_fault: dict[str, str] = {}
    with StandIn() as server, model_of(library, server) as model:
        for fault, (answer, _) in ERRORS.items():
            server.script = [answer]
            with pytest.raises(ModelError) as raised:
                ask(model)
            codes_by_fault[fault] = raised.value.code
            assert KEY not in f"{raised.value} {raised.value.__cause__}"
    for fault, (_, codes) in ERRORS.items():
        # An error of the user's own HTTP client says its status in another way.
        expected = codes if made.has_status else {"failed", "server"}
        assert codes_by_fault[fault] in expected


def with_retry(model: Any) -> Any:
    return model.with_retry(stop_after_attempt=2)


def with_config(model: Any) -> Any:
    return model.with_config(tags=["mine"])


def with_fallbacks(model: Any) -> Any:
    return model.with_fallbacks([model])


@pytest.mark.parametrize(
    ("library", "wrap"),
    [
        pytest.param("BaseDecisionModel", with_retry, id="with_retry"),
        pytest.param("BaseDecisionModel", with_config, id="with_config"),
        pytest.param("BaseDecisionModel", with_fallbacks, id="with_fallbacks"),
        pytest.param("OpenAIDecisions", with_retry, id="of OpenAI"),
        pytest.param("TypeSafeClassifier", with_retry, id="of TypeSafe"),
    ],
)
def test_a_runnable_around_a_decision_model_is_one(library: str, wrap: Callable[[Any], Any]) -> None:
    with StandIn(Decisions()) as server, model_of(library, server, wrap) as model:
        assert not way_of(model).writes_text
        assert probabilities_in(ask(model)) == PROBABILITIES


def test_a_runnable_around_itself_is_no_decision_model() -> None:
    class Runnable:
        def __init__(self) -> None:
            self.bound = self

        def invoke(self, _: object) -> str:
            return "a text"

        async def ainvoke(self, _: object) -> str:
            return "a text"

    assert way_of(as_model(Runnable())).writes_text


def test_an_echo_of_a_key_of_the_environment_in_a_librarys_answer_is_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TYPESAFE_API_KEY", KEY)
    body = b'{"model": "jev %s", "answers": {}}' % KEY.encode()
    with StandIn([Raw(body)]) as server:
        reply = ask(as_model(langchain_core(server)))
    assert reply.model == "jev [redacted]"


def test_a_system_one_client_is_a_function_of_state_and_questions() -> None:
    sdk: Any = module("typesafe_sdk")
    with StandIn(Decisions()) as server:
        client = sdk.TypeSafeClient(api_key=KEY, base_url=server.root, model="jev-1.13.0", compression=False)
        model = decisions_by(client.system_one)
        assert not way_of(model).writes_text
        assert probabilities_in(ask(model)) == PROBABILITIES
        with suppress(AttributeError):
            client.close()


def test_all_libraries_are_there_where_they_are_expected() -> None:
    if os.environ.get("DECISION_LIBRARIES") != "all":
        pytest.skip("set DECISION_LIBRARIES=all in an environment that has all of them")
    libraries = ("langchain_openai", "langchain_typesafe", "typesafe_sdk", "deepeval", "pydantic_ai")
    assert [name for name in libraries if find_spec(name) is None] == []
