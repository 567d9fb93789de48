"""A guarded chain judges and replaces one place, and a rejected answer goes out nowhere else either."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from operator import itemgetter
from typing import Any

import pytest
from guard_table import FALLBACK, QUERY, SOURCE, Seen, judge_words
from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
from langchain.agents.structured_output import ToolStrategy
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough
from pydantic import BaseModel

from groundjudge import CaseError, Reply
from groundjudge.adapters.langchain_agents import guarded
from groundjudge.judging.guard import NOTE
from groundjudge.types import Request

JUDGE = "groundedness"
CALL: Any = {"name": "hours", "args": {}, "id": "1"}
ASKED: dict[str, Any] = {"query": QUERY, "context": [SOURCE]}


class Note(BaseModel):
    """A structured answer."""

    text: str
    tone: str = "dry"


def no_note(_: object) -> Note:
    return Note(text="none")


def options(seen: Seen, **changes: Any) -> Any:
    """The options of a guard whose judge rejects what has the word "bad" anywhere."""
    settings = {"model": judge_words, "fallback": FALLBACK, "max_reasks": 0, "retries": 0}
    return {**settings, "on_outcome": seen.outcomes.append, **changes}


def chain_of(*outputs: Any) -> RunnableLambda[Any, Any]:
    """A chain that gives one output after the other."""
    left = iter(outputs)
    return RunnableLambda(lambda _: next(left))


def by_invoke(chain: Any, asked: Any) -> Any:
    return chain.invoke(asked)


def by_ainvoke(chain: Any, asked: Any) -> Any:
    return asyncio.run(chain.ainvoke(asked))


def by_batch(chain: Any, asked: Any) -> Any:
    (output,) = chain.batch([asked])
    return output


def by_stream(chain: Any, asked: Any) -> Any:
    (output,) = chain.stream(asked)
    return output


def by_astream(chain: Any, asked: Any) -> Any:
    async def collect() -> list[Any]:
        return [chunk async for chunk in chain.astream(asked)]

    (output,) = asyncio.run(collect())
    return output


CALLS = (by_invoke, by_ainvoke, by_batch, by_stream, by_astream)


@dataclass(frozen=True)
class Place:
    """What a chain returns, where its answer is, and what goes out.

    Attributes:
        output: what the chain returns.
        key: the key with the answer; None: all of it.
        judged: the response that the judge sees; None: it cannot be judged, or is no answer yet.
        sent: what goes out.
        settings: settings of the guard.
    """

    output: Any
    key: str | None
    judged: str | None
    sent: Any
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])


BAD = AIMessage("bad one")
PLACES: Mapping[str, Place] = {
    "a good text": Place("good one", None, "good one", "good one"),
    "a bad text": Place("bad one", None, "bad one", FALLBACK),
    "a good message": Place(AIMessage("good one"), None, "good one", AIMessage("good one")),
    "a bad message": Place(BAD, None, "bad one", AIMessage(FALLBACK)),
    "a bad message of the user's": Place(HumanMessage("bad one"), None, "bad one", AIMessage(FALLBACK)),
    "a chunk": Place(AIMessageChunk(content="bad one"), None, "bad one", AIMessage(FALLBACK)),
    "blocks of a message": Place(
        AIMessage([{"type": "text", "text": "bad one"}]), None, "bad one", AIMessage(FALLBACK)
    ),
    "an object": Place(
        Note(text="bad one"),
        None,
        '{"text": "bad one", "tone": "dry"}',
        Note(text="none"),
        {"fallback": no_note},
    ),
    "a good text under a key": Place(
        {"answer": "good one", "n": 1}, "answer", "good one", {"answer": "good one", "n": 1}
    ),
    "a bad text under a key": Place(
        {"answer": "bad one", "n": 1}, "answer", "bad one", {"answer": FALLBACK, "n": 1}
    ),
    "a bad answer beside good messages": Place(
        {"final_answer": "bad one", "messages": [AIMessage("ok")]},
        "final_answer",
        "bad one",
        {"final_answer": FALLBACK, "messages": [AIMessage("ok")]},
    ),
    "a good answer beside bad messages": Place(
        {"answer": "good one", "messages": [BAD]},
        "answer",
        "good one",
        {"answer": "good one", "messages": [BAD]},
    ),
    "two names of an answer": Place(
        {"answer": "bad one", "output": "other"}, "answer", "bad one", {"answer": FALLBACK, "output": "other"}
    ),
    "data under a key": Place(
        {"answer": {"text": "bad one"}}, "answer", '{"text": "bad one"}', {"answer": FALLBACK}
    ),
    "a call of a tool": Place(
        AIMessage("bad aside", tool_calls=[CALL]), None, None, AIMessage("", tool_calls=[CALL])
    ),
    "a call of a tool under a key": Place(
        {"reply": AIMessage("bad aside", tool_calls=[CALL])},
        "reply",
        None,
        {"reply": AIMessage("", tool_calls=[CALL])},
    ),
    "nothing": Place(None, None, None, FALLBACK),
    "a number": Place(5, None, None, FALLBACK),
    "messages": Place([BAD], None, None, FALLBACK),
    "messages under a key": Place({"messages": [BAD]}, "messages", None, {"messages": FALLBACK}),
    "a source that says the same": Place(
        {"answer": "bad one", "documents": [Document("bad one")]},
        "answer",
        "bad one",
        {"answer": FALLBACK, "documents": [Document("bad one")]},
    ),
    "only observed": Place(
        {"answer": "bad one"}, "answer", "bad one", {"answer": "bad one"}, {"mode": "observe"}
    ),
    "only observed, and nowhere": Place(
        {"text": "bad one"}, None, None, {"text": "bad one"}, {"mode": "observe"}
    ),
    "not judged, but allowed": Place(5, None, None, 5, {"on_error": "allow"}),
}


@pytest.mark.parametrize(("name", "call"), [*zip(PLACES, cycle(CALLS), strict=False)])
def test_what_is_judged_is_what_is_replaced(name: str, call: Any) -> None:
    place = PLACES[name]
    seen = Seen()
    chain = guarded(chain_of(place.output), JUDGE, output=place.key, **options(seen, **place.settings))
    assert call(chain, ASKED) == place.sent
    judged: list[str] = []
    for outcome in seen.outcomes:
        case = outcome.drafts[0].case
        if case is not None and outcome.reason != "not_judged":
            judged.append(case.response_text)
    assert judged == ([] if place.judged is None else [place.judged])


MISPLACED: Mapping[str, tuple[Any, str | None, str]] = {
    "a mapping and no key": (
        {"final_answer": "bad one", "messages": []},
        None,
        "returned a mapping with the keys final_answer, messages: name the key of the answer",
    ),
    "another key": ({"final_answer": "bad one"}, "answer", "the keys final_answer: name the key"),
    "no mapping": ("bad one", "answer", "returned str: name the key"),
    "an object": (Note(text="bad one"), "text", "returned Note: name the key"),
}


@pytest.mark.parametrize("on_error", ["block", "allow"])
@pytest.mark.parametrize("name", MISPLACED)
def test_nothing_goes_out_if_nobody_knows_where_the_answer_is(name: str, on_error: str) -> None:
    output, key, message = MISPLACED[name]
    chain = guarded(chain_of(output), JUDGE, output=key, **options(Seen(), on_error=on_error))
    with pytest.raises(CaseError, match=message) as raised:
        chain.invoke(ASKED)
    assert raised.value.code == "missing_field"
    assert "bad one" not in str(raised.value)


ELSEWHERE: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "a message": ({"answer": "bad one", "messages": [HumanMessage(QUERY), BAD]}, "messages"),
    "a text": ({"answer": BAD, "log": "Draft: bad one, done"}, "log"),
    "another name of the answer": ({"answer": "bad one", "output": "bad one"}, "output"),
    "the reply that an object was read from": (
        {"answer": Note(text="bad one"), "raw": AIMessage('{"text":"bad one"}')},
        "raw",
    ),
    "the call that an object was read from": (
        {
            "answer": Note(text="bad one"),
            "raw": AIMessage("", tool_calls=[{**CALL, "args": {"text": "bad one"}}]),
        },
        "raw",
    ),
}


@pytest.mark.parametrize(
    ("name", "call", "retries"),
    [*((name, by_invoke, 0) for name in ELSEWHERE), ("a message", by_ainvoke, 1)],
)
def test_nothing_goes_out_if_a_rejected_answer_stands_under_another_key(
    name: str, call: Any, retries: int
) -> None:
    output, key = ELSEWHERE[name]
    chain = chain_of(output, {"answer": "good two"})
    with pytest.raises(CaseError, match=f"is also under '{key}'") as raised:
        call(guarded(chain, JUDGE, output="answer", **options(Seen(), retries=retries)), ASKED)
    assert raised.value.code == "answer_elsewhere"
    assert "bad one" not in str(raised.value)


def test_guarded_step_gives_what_goes_out_to_the_rest_of_its_chain() -> None:
    step = guarded(chain_of("bad one"), JUDGE, **options(Seen()))
    show = RunnablePassthrough.assign(shown=itemgetter("answer"))
    chain = RunnablePassthrough.assign(answer=step) | show
    assert chain.invoke(ASKED) == {**ASKED, "answer": FALLBACK, "shown": FALLBACK}


WRONG: Mapping[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a path to the response": (
        lambda: guarded(str, JUDGE, model=judge_words, fields={"response": "outputs.final_answer"}),
        ValueError,
        "reads the response from 'outputs.final_answer': .* output='answer'",
    ),
    "a path to another name of it": (
        lambda: guarded(str, JUDGE, model=judge_words, fields={"answer": "outputs.a"}),
        ValueError,
        "reads the response from 'outputs.a'",
    ),
    "a graph": (
        lambda: guarded(create_agent(GenericFakeChatModel(messages=iter([]))), JUDGE, model=judge_words),  # pyright: ignore[reportUnknownArgumentType]
        TypeError,
        "this is a graph: pass a GroundingMiddleware to create_agent; in any other graph call Guard.run",
    ),
    "an agent with structured answers": (
        lambda: guarded(
            create_agent(GenericFakeChatModel(messages=iter([])), response_format=ToolStrategy(Note)),  # pyright: ignore[reportUnknownArgumentType]
            JUDGE,
            model=judge_words,
            output="structured_response",
        ),
        TypeError,
        "pass a GroundingMiddleware to create_agent",
    ),
    "the judge first": (
        lambda: guarded(JUDGE, str, model=judge_words),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        Exception,
        "str",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_guarded_is_refused_before_an_answer(name: str) -> None:
    make, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        make()


# --- asking again -----------------------------------------------------------------------------------------


def with_answer(answer: Any) -> Any:
    return RunnablePassthrough.assign(answer=answer)


def under_other_names(answer: Any) -> Any:
    return RunnableParallel(asked=itemgetter("query"), given=RunnablePassthrough(), answer=answer)


def beside_a_text(answer: Any) -> Any:
    return RunnableParallel(asked=RunnablePassthrough(), answer=answer)


PASSED_ON: Mapping[str, tuple[Any, Callable[[Any], Any]]] = {
    "its query": (ASKED, with_answer),
    "its query under another name": ({"question": QUERY, "context": [SOURCE]}, with_answer),
    "its query and all of it under other names": (ASKED, under_other_names),
    "its messages": ({"messages": [("user", QUERY)], "context": [SOURCE]}, with_answer),
    "a text": (QUERY, beside_a_text),
}
DRAFTS = {"rewritten": ["bad one", "good two"], "replaced": ["bad one", "bad two"]}


@pytest.mark.parametrize("drafts", DRAFTS.values(), ids=DRAFTS)
@pytest.mark.parametrize(("name", "call"), [*zip(PASSED_ON, CALLS, strict=True)])
def test_chain_passes_its_first_input_on_and_no_note(name: str, drafts: Sequence[str], call: Any) -> None:
    asked, make = PASSED_ON[name]
    prompts: list[str] = []

    def judging(request: Request) -> Reply:
        prompts.append(str(request.messages))
        return judge_words(request)

    settings = options(Seen(), model=judging, retries=1, optional=["context"])
    chain = guarded(make(chain_of(*drafts)), JUDGE, output="answer", **settings)
    sent = "good two" if drafts[-1] == "good two" else FALLBACK
    assert call(chain, asked) == make(chain_of(sent)).invoke(asked)
    assert len(prompts) == len(drafts)
    assert NOTE not in str(prompts)


def test_each_draft_is_judged_by_the_sources_that_go_out_with_it() -> None:
    """A chain that retrieves by its query finds other sources by a query with a note."""
    outputs = [{"answer": "bad one", "docs": [SOURCE]}, {"answer": "good two", "docs": ["found by a note"]}]
    seen = Seen()
    chain = guarded(chain_of(*outputs), JUDGE, output="answer", **options(seen, retries=1))
    assert chain.invoke({"query": QUERY}) == {"answer": "good two", "docs": [SOURCE]}
    for draft in seen.outcomes[0].drafts:
        assert SOURCE in str(draft.case)


def test_input_without_a_place_for_the_note_is_refused_at_the_first_answer() -> None:
    chain = guarded(chain_of("good one", "good one"), JUDGE, **options(Seen(), retries=1))
    with pytest.raises(CaseError, match="the keys topic: pass retries=0, or name one of its keys `query`"):
        chain.invoke({"topic": QUERY})
    fields = {"query": "inputs.topic", "context": "inputs.page"}
    chain = guarded(chain_of("good one"), JUDGE, **options(Seen(), fields=fields))
    assert chain.invoke({"topic": QUERY, "page": [SOURCE]}) == "good one"


# --- fields -----------------------------------------------------------------------------------------------


def by_function(inputs: Any, outputs: Any) -> Mapping[str, Any]:
    return {
        "query": inputs["q"],
        "context": outputs["result"]["pages"],
        "response": "good, says the function",
    }


FIELDS: Mapping[str, Any] = {
    "paths": {"query": "inputs.q", "context": "outputs.result.pages"},
    "a function, whose response does not count": by_function,
    "messages, whose answer does not count": {
        "messages": "outputs.thread",
        "query": "inputs.q",
        "context": "outputs.result.pages",
    },
}


@pytest.mark.parametrize("name", FIELDS)
def test_fields_say_everything_but_the_response(name: str) -> None:
    thread = [HumanMessage(QUERY), AIMessage("good, says the thread")]
    output = {"text": "bad one", "result": {"pages": [SOURCE]}, "thread": thread}
    seen = Seen()
    chain = guarded(chain_of(output), JUDGE, output="text", **options(seen, fields=FIELDS[name]))
    assert chain.invoke({"q": QUERY}) == {**output, "text": FALLBACK}
    case = seen.outcomes[0].drafts[0].case
    assert case is not None
    assert (case.response, case.query_text) == ("bad one", QUERY)
    assert SOURCE in str(case.context)
