"""Decision models behind endpoints: typed questions go out, and the probabilities of answers come back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from groundjudge.case.data import is_list, is_mapping, is_number
from groundjudge.decisions.answers import reply_with
from groundjudge.decisions.forms import FORMS, Form, find_excess, most_questions
from groundjudge.decisions.inquiry import inquiry_of
from groundjudge.decisions.way import DecisionWay
from groundjudge.models.failure import ROW_REMEDIES, model_error, without_echo
from groundjudge.models.openai import Api, EndpointModel
from groundjudge.models.unsupported_parameters import negotiate
from groundjudge.replies.reply import Reply
from groundjudge.rubric.rubric import Request


class DecisionModel(EndpointModel):
    """A decision model behind an endpoint: OpenAI's decisions API, or the System One form of many servers.

    It is sent the state and the questions of a request, and answers with the raw JSON that the endpoint
    returns; a rubric reads what the probabilities in it mean. Retries, rate limits, redirects, keys and
    pickling are as for `OpenAIModel`.

    Args:
        name: "decisions:MODEL" for OpenAI's form, with OPENAI_BASE_URL and OPENAI_API_KEY;
            "systemone:MODEL" for that of System One, with TYPESAFE_BASE_URL and TYPESAFE_API_KEY. OpenAI's
            and TypeSafe's own endpoints are the defaults, and the only ones that require a key.
        client: an OpenAI or AsyncOpenAI, with its own endpoint, key, retries and timeout.
        base_url: the endpoint's URL. One that ends in /decisions or /systemone is used unchanged; the path
            is added to any other.
        api_key: the key.
        max_retries: how often a request is sent again after a transient error, 0 or more.
        timeout: seconds; an attempt fails if nothing arrives from the endpoint for that long.

    Raises:
        ModelError: `unknown_model` if the name does not begin like this, or if `client` is not a client of
            the openai package or comes with a base_url or api_key.
    """

    @property
    def form(self) -> Form:
        """How its endpoint wants a request."""
        return FORMS[self.name.partition(":")[0]]

    @property
    def api(self) -> Api:
        """Where its endpoint is."""
        return self.form.api

    def check(self) -> None:
        """Make sure that the name has a form and a model, and that a client is one of the openai package.

        Raises:
            ModelError: `unknown_model`.
        """
        form, _, model = self.name.partition(":")
        if form not in FORMS or not model.strip():
            message = (
                f'{self.name!r} lacks the name of the model, as in "decisions:MODEL" or "systemone:MODEL"'
            )
            raise model_error("unknown_model", message, self.name)
        if not self.is_openai:
            kind = type(self.callers_client).__name__
            message = f"a decision model needs an OpenAI or AsyncOpenAI as its client, not {kind}"
            raise model_error("unknown_model", message, self.name)

    @property
    def name_at_endpoint(self) -> str:
        """The name without the form."""
        return self.name.partition(":")[2]

    @property
    def way(self) -> DecisionWay:
        """Questions, and how many in one request."""
        return DecisionWay(most_questions(self.form, self.name_at_endpoint))

    @property
    def call_metadata(self) -> Mapping[str, str]:
        """What LangChain and LangSmith need to know of a call."""
        provider = self.form.api.provider.casefold()
        return {"ls_model_name": self.name_at_endpoint, "ls_provider": provider}

    async def acomplete(self, request: Request) -> Reply:
        """Ask the questions of a request, with retries.

        Raises:
            ModelError: the endpoint returned no answers; the codes are those of an endpoint, and `too_long`.
        """
        inquiry = inquiry_of(request)
        body = self.form.body(self.name_at_endpoint, inquiry)
        excess = find_excess(self.form, self.name_at_endpoint, inquiry, body)
        if excess:
            raise self.error("too_long", f"{self.name}: {excess} ({ROW_REMEDIES['too_long']})")
        if self.form.is_openai:
            # A server with OpenAI's form may not know it: then it is left out like any other parameter.
            request = replace(request, parameters={"prompt_cache_key": request.rubric.prompt.sha256[:32]})

        async def send(accepted: Request) -> Reply:
            return await self.send_with_retries({**body, **accepted.parameters}, is_paced=request.paced)

        reply = await negotiate(request, self.refusals, self.who, send)
        if reply.model:
            # The same model may also answer with texts: those verdicts must not look like these.
            form = self.name.partition(":")[0]
            reply = replace(reply, model=f"{form}:{reply.model}")
        return without_echo(reply, request, self.secrets)

    def read_answer(self, answer: object) -> Reply | None:
        """Return the reply in the response of an endpoint; None if it has no answers."""
        if not isinstance(answer, bytes):
            return None
        text = answer.decode("utf-8-sig", errors="replace")  # some servers begin with a byte order mark
        try:
            body = orjson.loads(text)
        except ValueError:
            return None
        if not is_mapping(body) or not (is_list(body.get("answers")) or is_mapping(body.get("answers"))):
            return None
        return replace(reply_with(text, body), cost=_cost_of(body))


def _cost_of(response: Mapping[str, Any]) -> float | None:
    """Return the cost of the call according to OpenRouter; None for other servers."""
    usage = response.get("usage")
    cost = usage.get("cost") if is_mapping(usage) else None
    return float(cost) if is_number(cost) and cost >= 0 else None
