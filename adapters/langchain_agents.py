"""LangChain agents and chains: an answer is judged before it goes out.

    agent = create_agent("openai:gpt-4o", tools, middleware=[
        GroundingMiddleware("groundedness", model="openai:gpt-4o-mini", fallback="I do not know.")
    ])

A draft that fails is written again with a note on what is not grounded, and else replaced by the fallback.
Drafts and notes reach neither the state, nor a checkpoint, nor a stream: tokens are held until the answer is
judged, so users wait for the whole answer and for the judge.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NotRequired, TypedDict, Unpack

from groundjudge.case.case import Case
from groundjudge.guard import Fallback, Guard, Mode, OnError, Outcome
from groundjudge.judging.load import JudgeLike, PanelOptions, as_judge
from groundjudge.models.loop_thread import called, shared_loop
from groundjudge.models.lookup import ModelLike

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ExtendedModelResponse, ModelRequest, ModelResponse
    from langchain_core.messages import AIMessage, HumanMessage
    from langgraph.types import Command
except ImportError as error:
    needed = 'groundjudge.adapters.langchain_agents needs langchain: pip install "groundjudge[langchain-agents]"'
    raise ImportError(needed) from error

__all__ = ["GroundingMiddleware", "GuardOptions"]

HELD = "nostream"
"""The tag of calls whose tokens LangGraph does not stream."""


class GuardOptions(TypedDict, total=False):
    """The settings of a `Guard`, but for its judge."""

    retries: int
    fallback: Fallback | None
    on_error: OnError
    deadline: float | None
    mode: Mode


class GuardedState(AgentState[Any]):
    """The state of a guarded agent: `verdict` is the summary of the last decision, see `Outcome.summary`."""

    verdict: NotRequired[Mapping[str, Any]]


class CallsToolsError(Exception):
    """The model answered a note by calling a tool: the agent goes on, and nothing goes out yet."""


class GroundingMiddleware(AgentMiddleware[GuardedState, Any, Any]):
    state_schema = GuardedState

    def __init__(self, judge: JudgeLike, *, model: ModelLike | None = None, on_outcome: Callable[[Outcome], object] | None = None, options: PanelOptions | None = None, **guard: Unpack[GuardOptions]) -> None:
        super().__init__()
        self.guard = Guard(as_judge(judge, model, **(options or {})), **guard)
        self._on_outcome = on_outcome

    def wrap_model_call(self, request, handler):
        return shared_loop().run(self._guarded, request, handler)

    async def awrap_model_call(self, request, handler):
        return await self._guarded(request, handler)

    async def _guarded(self, request, handler):
        held = _held(request)
        drafts = [await called(handler, held)]
        if _calls_tools(drafts[0]):
            return drafts[0]

        async def again(note: str, _: object):
            messages = [*held.messages, *drafts[-1].result, HumanMessage(note)]
            drafts.append(await called(handler, held.override(messages=messages)))
            if _calls_tools(drafts[-1]):
                raise CallsToolsError
            return [drafts[-1].result[-1]]

        state = {**request.state, "messages": [*request.state["messages"], *drafts[0].result]}
        try:
            outcome = await self.guard.arun(Case.of(state), again)
        except CallsToolsError:
            return drafts[-1]
        if self._on_outcome:
            self._on_outcome(outcome)
        answer = ModelResponse(result=[AIMessage(outcome.response)]) if outcome.replaced else drafts[-1]
        return ExtendedModelResponse(answer, Command(update={"verdict": outcome.summary}))


def _held(request):
    model = request.model
    return request.override(model=model.model_copy(update={"tags": [*(model.tags or []), HELD]}))


def _calls_tools(response) -> bool:
    return bool(getattr(response.result[-1], "tool_calls", None)) 
