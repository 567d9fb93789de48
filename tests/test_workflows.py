"""The workflows in .github call what the Makefile has, and test.yml runs what .ci/run runs."""

from __future__ import annotations

import runpy
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
TOOL = runpy.run_path(str(ROOT / "tools/workflows.py"))
MAKEFILE = "lint: $(VENV)/lint.installed\ntest-lowest: x\n"
HASH = "0123456789abcdef0123456789abcdef01234567"


def test_workflows_have_no_problem() -> None:
    TOOL["main"]()


@pytest.mark.parametrize(
    ("workflow", "expected"),
    [
        pytest.param("- run: make lint test-lowest", [], id="targets that exist"),
        pytest.param("- run: make lint\n- run: make lintt", ["lintt"], id="a target that does not exist"),
        pytest.param(
            "- run: |\n    set -e\n    make lint types", ["types"], id="the second target of a script"
        ),
        pytest.param("# make anything", [], id="a comment"),
        pytest.param(f"- uses: actions/checkout@{HASH} # v6.0.2", [], id="a pinned action"),
        pytest.param("- uses: actions/checkout@v6", ["actions/checkout@v6"], id="an action by its tag"),
        pytest.param(f"- uses: a/b@{HASH}", [f"a/b@{HASH}"], id="a hash without its version"),
        pytest.param("  uses: ./.github/workflows/test.yml", [], id="a workflow of this repository"),
    ],
)
def test_problem_names_the_target_or_action(workflow: str, expected: list[str]) -> None:
    found = [problem.split(" ")[-1] for problem in TOOL["problems"](workflow, MAKEFILE)]
    assert found == expected


def test_test_workflow_runs_what_ci_runs() -> None:
    called_targets = TOOL["called_targets"]
    ci = called_targets((ROOT / ".ci/run").read_text(encoding="utf-8"))
    workflow = called_targets((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))
    assert "test-browser" in ci
    assert ci <= workflow


def test_test_workflow_runs_every_python_of_the_classifiers() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = [name.rpartition(" ")[2] for name in project["classifiers"] if "Python :: 3." in name]
    workflow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))
    assert set(versions) <= set(workflow["jobs"]["test"]["strategy"]["matrix"]["python"])
