"""No key in verdicts, errors, tracebacks and logs, wherever it was given and however an endpoint repeats it.

An endpoint repeats a key from each place in an error and in a verdict, and wherever else one can write it for
some of them. Each echo shows the key in all its forms at once. The soak tests show each form for itself: what
stands beside it could be the reason why it was recognised.
"""

from __future__ import annotations

import base64
import json
import logging
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

import pytest
from command_line import ROW
from formatter import sure
from planted_keys import HEADERS, PLACES, close, leaks_in
from standin_openai import Answer, StandIn, Status, Text

from groundjudge import GroundjudgeError, Verdict, load

pytestmark = pytest.mark.filterwarnings("ignore:replies of:RuntimeWarning")

FORMS: Mapping[str, Callable[[str], str]] = {
    "as it is": lambda key: key,
    "percent-encoded": lambda key: quote(key, safe=""),
    "in Base64": lambda key: base64.b64encode(key.encode()).decode(),
    "escaped as in JSON": lambda key: json.dumps(key)[1:-1],
}
"""How an endpoint can write a key."""

ECHOES: Mapping[str, Callable[[str], Answer]] = {
    "message, parameter and headers of an error": lambda text: Status(
        400,
        f"Incorrect key: {text}.",
        code=text,
        param=text,
        type=text,
        retry_after=text,
        headers={"x-request-id": text},
    ),
    "body of another shape": lambda text: Status(401, body={"detail": [{"input": {"x-team": text}}]}),
    "body that is a text": lambda text: Status(500, body=f"<p>{text}"),
    "reason of a verdict and name of the model": lambda text: Text(
        f"<S0>t</S0><S1>You sent {text}!</S1>{sure(5)}", model=f"m {text}"
    ),
    "reply that cannot be read and its finish reason": lambda text: Text(
        f"You sent {text}!", finish_reason=text
    ),
    "refusal": lambda text: Text("", refusal=f"Not with {text}."),
}
"""Where an endpoint can write it."""


IN_ERROR_AND_VERDICT = [
    "message, parameter and headers of an error",
    "reason of a verdict and name of the model",
]
ECHOES_AT = dict.fromkeys(PLACES, IN_ERROR_AND_VERDICT)
for place in ("api_key", "URL", "client", "closure", "api_key of decisions"):
    ECHOES_AT[place] = [*ECHOES]


ALIKE = {
    *(f"header {name}" for name in HEADERS if name != "x-team"),
    *("AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "AZURE_OPENAI_AD_TOKEN", "OPENAI_PROJECT_ID"),
}
"""Places whose keys are known for the same reason as those of another place."""


def echoes_of(key: str, names: list[str], *, forms_apart: bool) -> Iterator[tuple[str, Answer]]:
    """These echoes of a key with their names: with all forms in one text, or in each form for itself."""
    texts = {name: write(key) for name, write in FORMS.items()}
    if not forms_apart:
        texts = {"in all forms": " ; ".join(texts.values())}
    for echo in names:
        for form, text in texts.items():
            yield f"{echo}, {form}", ECHOES[echo](text)


def outputs_of(judge: Any) -> str:
    """The verdict on a row, and the error with its traceback, in all their forms."""
    outputs: list[object] = []
    verdict: Verdict | None
    try:
        verdict = judge.judge(ROW)
    except GroundjudgeError as error:
        verdict = error.verdict
        outputs += [*traceback.format_exception(error), repr(error), error.args, vars(error)]
    assert verdict
    outputs += [verdict.model_dump_json(), verdict, verdict.explanation]
    return "\n".join(map(str, outputs))


@pytest.mark.parametrize(
    "forms_apart",
    [
        pytest.param(False, id="all forms in one text"),
        pytest.param(True, id="each form for itself", marks=pytest.mark.soak),
    ],
)
@pytest.mark.parametrize(
    "place", [pytest.param(place, marks=pytest.mark.soak if place in ALIKE else ()) for place in PLACES]
)
def test_no_echo_of_a_key_is_shown(
    place: str, *, forms_apart: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
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
            for echo, answer in echoes_of(key, ECHOES_AT[place], forms_apart=forms_apart):
                answers.append(answer)
                caplog.clear()
                outputs = [outputs_of(judge)]
                for record in caplog.records:
                    if record.name == "groundjudge":
                        outputs.append(record.getMessage())
                leaks_of_echo = leaks_in("\n".join(outputs), planted)
                if leaks_of_echo:
                    leaks[echo] = leaks_of_echo
        close(model)
    assert len(server.requests) >= len(answers) > 0
    assert not leaks
