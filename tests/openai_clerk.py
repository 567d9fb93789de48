"""A model and a tool of OpenAI's agents for tests of guards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import agents
from guard_table import SOURCE
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText


class ScriptedClerk(agents.Model):
    """Gives the replies in order, each of one or several items; None calls the tool.

    Attributes:
        prompts: gets what the model was asked with, as text.
    """

    def __init__(self, *replies: Sequence[str | None], prompts: list[str] | None = None) -> None:
        self.replies = iter(replies)
        self.prompts: list[str] = [] if prompts is None else prompts

    async def get_response(self, *arguments: Any, **keywords: Any) -> Any:
        self.prompts.append(f"{arguments} {keywords}")
        output: list[Any] = []
        for text in next(self.replies):
            if text is None:
                output.append(
                    ResponseFunctionToolCall(type="function_call", name="hours", call_id="1", arguments="{}")
                )
            else:
                part = ResponseOutputText(type="output_text", text=text, annotations=[])
                output.append(
                    ResponseOutputMessage(
                        id="m", type="message", role="assistant", status="completed", content=[part]
                    )
                )
        return agents.ModelResponse(output=output, usage=agents.Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


@agents.function_tool(name_override="hours")
def openai_hours() -> str:
    return SOURCE
