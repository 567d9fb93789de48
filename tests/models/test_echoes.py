"""No key in verdicts, errors, tracebacks and logs, wherever it was given and however an endpoint repeats it.

The default suite takes each place with each echo in one of its forms, the soak tests the whole product.
"""

from __future__ import annotations

import base64
import json
import logging
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

import openai
import pytest
from command_line import ROW
from planted_keys import PLACES, leaks_in
from standin_openai import Answer, StandIn, Status, Text

from groundjudge import GroundjudgeError, load
from groundjudge.models.loop_thread import shared_loop

pytestmark = pytest.mark.filterwarnings("ignore:replies of:RuntimeWarning")

FORMS: Mapping[str, Callable[[str], str]] = {
    "as it is": lambda key: key,
    "percent-encoded": lambda key: quote(key, safe=""),
    "in lower-case percent-encoding": lambda key: re.sub("%..", lambda code: code[0].lower(), quote(key)),
    "in Base64": lambda key: base64.b64encode(key.encode()).decode(),
    "in Base64 behind a user": lambda key: base64.b64encode(f"me:{key}".encode()).decode(),
    "in Base64 for URLs": lambda key: base64.urlsafe_b64encode(f"u{key}&".encode()).decode(),
    "escaped as in JSON": lambda key: json.dumps(key)[1:-1],
    "escaped as in PHP's JSON": lambda key: json.dumps(key)[1:-1].replace("/", "\\/"),
}
"""How an endpoint can write a key."""

ECHOES: Mapping[str, Callable[[str], Answer]] = {
    "message of an error": lambda form: Status(401, f"Incorrect key: {form}."),
    "body of another shape": lambda form: Status(400, body={"detail": [{"input": {"x-team": form}}]}),
    "body that is a text": lambda form: Status(500, body=f"<p>{form}"),
    "header of an error": lambda form: Status(429, retry_after=form, headers={"x-request-id": form}),
    "parameter of an error": lambda form: Status(400, "bad", code=form, param=form, type=form),
    "reason of a verdict": lambda form: Text(f"<S0>t</S0><S1>You sent {form}!</S1><S2>5</S2>"),
    "reply that cannot be read": lambda form: Text(f"You sent {form}!"),
    "finish reason": lambda form: Text("no verdict", finish_reason=form),
    "name of the model": lambda form: Text("<S0>t</S0><S1>w</S1><S2>5</S2>", model=f"m {form}"),
    "refusal": lambda form: Text("", refusal=f"Not with {form}."),
}
"""Where an endpoint can write it."""


def echoes_of(key: str, first_form: int | None) -> Iterator[tuple[str, Answer]]:
    """Each echo of a key with its name: in all forms, or in one each, from the form of this number on."""
    for number, (place, make_answer) in enumerate(ECHOES.items()):
        forms = [*FORMS]
        if first_form is not None:
            forms = [forms[(first_form + number) % len(forms)]]
        for form in forms:
            yield f"{place}, {form}", make_answer(FORMS[form](key))


def all_that_is_shown(judge: Any) -> str:
    """The verdict on a row, and the error with its traceback, in all their forms."""
    verdict = judge.evaluate(ROW)
    shown: list[object] = [verdict.model_dump_json(), verdict, verdict.explanation]
    try:
        judge.judge(ROW)
    except GroundjudgeError as error:
        shown += [*traceback.format_exception(error), repr(error), error.args, vars(error)]
    return "\n".join(map(str, shown))


@pytest.mark.parametrize("forms", ["one form each", pytest.param("all forms", marks=pytest.mark.soak)])
@pytest.mark.parametrize("place", PLACES)
def test_no_echo_of_a_key_is_shown(
    place: str, forms: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    first_form = None if forms == "all forms" else [*PLACES].index(place)
    caplog.set_level(logging.DEBUG, "groundjudge")
    planted = PLACES[place].planted
    answers: list[Answer] = []
    leaks: dict[str, set[str]] = {}
    with StandIn(lambda _: answers[-1]) as server:
        for name, value in PLACES[place].environment(server.url).items():
            monkeypatch.setenv(name, value)
        model = PLACES[place].make(server.url)
        judge = load("groundedness", model=model, max_reasks=0)
        for key in planted:
            for name, answer in echoes_of(key, first_form):
                answers.append(answer)
                caplog.clear()
                shown = [all_that_is_shown(judge)]
                for record in caplog.records:
                    if record.name == "groundjudge":
                        shown.append(record.getMessage())
                leaks_of_echo = leaks_in("\n".join(shown), planted)
                if leaks_of_echo:
                    leaks[name] = leaks_of_echo
        close(model)
    assert len(server.requests) >= len(answers)
    assert not leaks


def close(model: Any) -> None:
    client = model[0] if isinstance(model, tuple) else None
    if isinstance(client, openai.OpenAI):
        client.close()
    if isinstance(client, openai.AsyncOpenAI):
        shared_loop().run(client.close)
