"""A support agent whose answers are judged before they go out: a wrong draft, the note, the next answer.

    pip install "groundjudge[langchain-agents]"
    python examples/guard_a_langchain_agent.py

The agent's model follows a script. The offline judge needs no key: it passes a statement only if one sentence
of the source says the same thing in nearly the same words, and leaves everything else undecided. Put a chat
model and a judge's model in their places.
"""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatResult
from langchain_core.tools import tool

from groundjudge.adapters.langchain_agents import GroundingMiddleware
from groundjudge.judging.guard import Outcome

JUDGE = "offline"  # or "openai:gpt-6-luna", or any chat model of LangChain
FALLBACK = "I could not find that out. Please ask at the desk."
LOANS = "A book is lent for four weeks. You may renew it twice."
CALL = {"name": "rules_of_the_library", "args": {"about": "loans"}, "id": "1"}
QUESTIONS = {
    "How long may I keep a book?": [
        AIMessage("", tool_calls=[CALL]),
        AIMessage("A book is lent for six weeks. You may renew it twice."),
        AIMessage("A book is lent for four weeks. You may renew it twice."),
    ],
    "What does a late book cost?": [
        AIMessage("", tool_calls=[CALL]),
        AIMessage("A late book costs 20 cents per day."),
        AIMessage("Each late day costs 50 cents."),
    ],
}
"""What is asked, and what the agent's model answers: a call of a tool, a draft, another draft."""


class ScriptedModel(GenericFakeChatModel):
    """A chat model that gives its answers in order, and shows what it was asked last."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> ScriptedModel:  # noqa: ANN401, ARG002  as in LangChain
        """Return the model: its script knows the tools."""
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:  # noqa: ANN401
        if str(messages[-1].id).startswith("groundjudge"):
            print(f"note:  {messages[-1].content}")
        return super()._generate(messages, *args, **kwargs)


@tool
def rules_of_the_library(about: str) -> str:  # noqa: ARG001  there is one rule only
    """Look up a rule of the library."""
    return LOANS


def show(outcome: Outcome) -> None:
    """Print the drafts and the decision; a real application would count and log them."""
    for draft in outcome.drafts:
        print(f"draft: {draft.response}")
        print(f"judge: {'passed' if draft.verdict.passed else 'failed'}, score {draft.verdict.score}")
    print(f"guard: {outcome.reason}, {outcome.calls} calls of the judge")


def main() -> None:
    """Ask the questions and print what the user gets to see."""
    guard = GroundingMiddleware(
        "statement_groundedness", model=JUDGE, fallback=FALLBACK, retries=1, deadline=30, on_outcome=show
    )
    for question, answers in QUESTIONS.items():
        model = ScriptedModel(messages=iter(answers))
        agent: Any = create_agent(model, [rules_of_the_library], middleware=[guard])
        print(f"\nuser:  {question}")
        state = agent.invoke({"messages": [("user", question)]})
        print(f"agent: {state['messages'][-1].content}")
        print(f"state: {[type(message).__name__ for message in state['messages']]}")


if __name__ == "__main__":
    main()
