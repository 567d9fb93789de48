"""The adapter to promptfoo: `get_assert`, called as promptfoo's Python wrapper calls it."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from adapter_entries import as_json

from groundjudge.adapters.promptfoo import get_assert

FILE = "from groundjudge.adapters.promptfoo import get_assert\n"
VARS: Mapping[str, Any] = {"query": "When do you open?", "context": "We open at 9."}
OFFLINE: Mapping[str, Any] = {"judge": "groundedness", "model": "offline"}
PROMPTFOO = shutil.which("promptfoo")


def call_as_promptfoo(path: Path, output: Any, context: Any) -> Any:
    """What promptfoo gets: its wrapper loads the file by its path, and talks in JSON."""
    module = runpy.run_path(str(path))
    return as_json(module["get_assert"](as_json(output), as_json(context)))


@pytest.mark.parametrize(
    ("output", "variables", "more"),
    [
        ("We open at 9.", VARS, {}),
        (
            {"text": "We open at 9."},
            {"q": "When do you open?", "docs": [{"content": "We open at 9."}]},
            {"fields": {"query": "vars.q", "response": "output.text", "context": "context.vars.docs"}},
        ),
    ],
    ids=["text", "paths"],
)
def test_file_of_one_line_is_an_assertion(
    output: Any, variables: Mapping[str, Any], more: Mapping[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "judge.py"
    path.write_text(FILE, encoding="utf-8")
    context = {"prompt": "p", "vars": variables, "test": {}, "config": {**OFFLINE, **more}}
    result = call_as_promptfoo(path, output, context)
    assert (result["pass"], result["score"]) == (True, 1)
    assert result["namedScores"] == {"groundedness": 1}


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        pytest.param(None, "Not judged: the assertion's config must name a judge", id="no configuration"),
        pytest.param({"judge": "groundedness"}, "Not judged: no_model: no model given", id="no model"),
        pytest.param(
            {**OFFLINE, "treshold": 1},
            "Not judged: unknown option 'treshold', did you mean 'threshold'?",
            id="a misspelt option",
        ),
    ],
)
def test_wrong_configuration_is_an_error_and_no_score(config: Any, reason: str) -> None:
    result = get_assert("We open at 9.", {"vars": VARS, "config": config})
    assert result["reason"].startswith(reason)
    assert (result["pass"], result["score"], result["metadata"]) == (False, 0, {"graderError": True})
    assert "namedScores" not in result


CONFIG = """\
prompts: ["{{answer}}"]
providers: [echo]
defaultTest:
  vars: {query: When do you open?, context: We open at 9.}
  assert:
    - {type: python, value: "file://judge.py", config: {judge: groundedness, model: offline}}
tests:
  - vars: {answer: We open at 9.}
  - vars: {answer: We open at 11.}
  - vars: {answer: Hello!}
  - vars: {answer: We open at 9., context: null}
"""


@pytest.mark.soak
@pytest.mark.skipif(PROMPTFOO is None, reason="promptfoo is a Node package: npm install -g promptfoo")
def test_promptfoo_shows_the_verdicts(tmp_path: Path) -> None:
    (tmp_path / "judge.py").write_text(FILE, encoding="utf-8")
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG, encoding="utf-8")
    env = {
        **os.environ,
        "PROMPTFOO_PYTHON": sys.executable,
        "PROMPTFOO_CONFIG_DIR": str(tmp_path / "home"),
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
    }
    command = [str(PROMPTFOO), "eval", "--no-cache", "-o", "out.json"]
    subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=False)  # noqa: S603
    report = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["results"]
    rows = sorted(report["results"], key=lambda row: row["testIdx"])
    assert [row["success"] for row in rows] == [True, False, True, False]
    assert [row["namedScores"] for row in rows] == [{"groundedness": 1}, {"groundedness": 0.25}, {}, {}]
    parts = [row["gradingResult"]["componentResults"][0] for row in rows]
    statuses = [part["metadata"]["groundjudge"]["status"] for part in parts]
    assert statuses == ["ok", "ok", "not_applicable", "error"]
    (prompt,) = report["prompts"]
    assert prompt["metrics"]["namedScores"] == {"groundedness": 1.25}
    assert prompt["metrics"]["namedScoresCount"] == {"groundedness": 2}
