"""OpenAI Agents: an agent's answer is judged before it goes out.

    run = await guarded_run(agent, "When do you open?", "groundedness", model="openai:gpt-6-luna")
    print(run.final_output)

`guarded_run` asks again, with a note on what is not grounded, until an answer passes; or gives the fallback.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack

from groundjudge.case.case import Case
from groundjudge.case.content import content_text
from groundjudge.case.data import as_json
from groundjudge.errors import requires
from groundjudge.judging.guard import DraftCase, Guard, GuardLike, GuardOptions, Outcome, as_guard

with requires("groundjudge.adapters.openai_agents needs openai-agents", "openai-agents"):
    import agents

__all__ = ["GuardedRun", "guarded_run"]

RunInput = str | list[agents.TResponseInputItem]

KEEP_DRAFTS = ("session", "conversation_id")
"""Arguments of a run that would carry drafts and notes into the next turn."""


async def guarded_run(
    agent: agents.Agent[Any],
    input: RunInput,  # noqa: A002  the framework's name
    guard: GuardLike,
    run: Mapping[str, Any] | None = None,
    **options: Unpack[GuardOptions],
) -> GuardedRun:
    """Run an agent, and again if its answer fails.

    Args:
        agent: the agent.
        input: as for `Runner.run`.
        guard: a `Guard`, or a judge as for `groundjudge.as_judge`.
        run: further arguments of `Runner.run`, such as `context`; no session, which would keep the drafts.
        options: `model` and the options of `groundjudge.as_judge`, and the settings of `Guard`; for `fields`
            the inputs are {"messages": [...]}, and the outputs {"messages": [answer]}.

    Raises:
        GuardError: no answer may go out, and there is no fallback.
        GroundjudgeError, TypeError, ValueError: as for `as_guard`; ValueError also for a session.
    """
    run_arguments = dict(run or {})
    for name in KEEP_DRAFTS:
        if run_arguments.get(name) is not None:
            message = f"{name} would keep rejected drafts: begin the next turn with `input_list`"
            raise ValueError(message)
    settings = as_guard(guard, **options)
    first_input = agents.ItemHelpers.input_to_new_input_list(input)

    async def ask(items: list[agents.TResponseInputItem]) -> agents.RunResult:
        return await agents.Runner.run(agent, items, **run_arguments)

    def thread_of(result: agents.RunResult) -> list[agents.TResponseInputItem]:
        """Return what the user said and what tools returned, in all tries, without drafts or notes."""
        added = result.to_input_list()[len(first_input) :]
        return first_input + _without_messages(added)

    def case_of(_: object, result: agents.RunResult) -> DraftCase:
        if result.interruptions:  # it waits for the approval of a tool, and has no answer yet
            return None
        return partial(_case_of, settings, thread_of(result), _answer_text(result.final_output))

    def next_input(_: object, result: agents.RunResult, note: str) -> list[agents.TResponseInputItem]:
        return [*result.to_input_list(), {"role": "user", "content": note}]

    result, outcome = await settings.aanswer(ask, first_input, case_of, next_input)
    return _result_of(result, outcome, thread_of(result))


def _case_of(guard: Guard, items: Iterable[Any], text: str) -> Case:
    """Make the case from what a model was shown, tool results included, and the text of its answer.

    `{"type": "function_call_output", "output": "9 am"}` -> `{"role": "tool", "content": "9 am"}`.
    """
    thread: list[Any] = []
    for item in items:
        # A tool's result, from here or from the provider: `output` of functions, `results` of its searches.
        result = item.get("output", item.get("results"))
        if "role" in item:
            thread.append(item)
        elif result is not None:
            thread.append({"role": "tool", "content": content_text(result)})
    answer = {"role": "assistant", "content": text}
    return guard.case({"messages": thread}, {"messages": [answer]})


def _answer_text(output: object) -> str:
    """Return an answer as text: a structured one is shown whole, as JSON."""
    return output if isinstance(output, str) else as_json(output)


def _result_of(
    result: agents.RunResult, outcome: Outcome | None, thread: list[agents.TResponseInputItem]
) -> GuardedRun:
    """Return what goes out after a run, and the thread of the next one."""
    if outcome is None:  # nothing goes out yet
        return GuardedRun(None, None, result, thread)
    output = outcome.response if outcome.replaced else result.final_output
    answer: agents.TResponseInputItem = {"role": "assistant", "content": _answer_text(output)}
    return GuardedRun(output, outcome, result, [*thread, answer])


def _without_messages(items: Iterable[agents.TResponseInputItem]) -> list[agents.TResponseInputItem]:
    """Return tool calls and their results, without messages and without the reasoning before each."""
    tool_items: list[agents.TResponseInputItem] = []
    for item in items:
        if "role" not in item:
            tool_items.append(item)
            continue
        # The API refuses reasoning without the item that followed it.
        while tool_items and tool_items[-1].get("type") == "reasoning":
            tool_items.pop()
    return tool_items


@dataclass(frozen=True)
class GuardedRun:
    """A run whose answer was judged.

    Attributes:
        final_output: what goes out: the agent's output, which is its last message, or the fallback; None if
            `outcome` is None.
        outcome: the decision, with all drafts and verdicts; None if the run waits for the approval of a tool.
        result: the last run of the agent, for logs: its input has the drafts and notes before it, and its
            items include messages that were not judged, such as those before the last and next to tool calls.
        input_list: the input of the next turn: the input, the tool calls and their results, and what goes
            out; without drafts and notes.
    """

    final_output: Any
    outcome: Outcome | None
    result: agents.RunResult
    input_list: list[agents.TResponseInputItem]
