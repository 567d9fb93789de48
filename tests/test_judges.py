"""A judge is a prompt file, and whatever must name the judges one by one names all of them."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path

import pytest
from adapters_table import TABLE
from bundled_judges import judges_with_a_source

from groundjudge import load_rubric, names
from groundjudge.types import Rubric

ROOT = Path(__file__).parents[1]

TABLES = ("README.md", "docs/quickstart.md", "docs/cost.md")
"""The pages with a table of all judges."""


def missing_hash(rubric: Rubric) -> str | None:
    """The line that the table of hashes lacks. A changed hash has a test of its own."""
    path = "tests/prompt/test_prompts.py"
    if f'    "{rubric.name}": "' in (ROOT / path).read_text(encoding="utf-8"):
        return None
    prompt = rubric.prompt
    return f'{path}: add to GOLDEN\n    "{rubric.name}": "{prompt.id.version} {prompt.sha256}",'


def missing_numbers(rubric: Rubric) -> str | None:
    """The line that the tests of panels lack."""
    path = "tests/judging/test_panel.py"
    if f'    "{rubric.name}": st.' in (ROOT / path).read_text(encoding="utf-8"):
        return None
    return f'{path}: add to NUMBERS what the judge may answer\n    "{rubric.name}": st.sampled_from([...]),'


def metric_name(name: str) -> str:
    """The name of a judge's metric of DeepEval."""
    return "".join(word.capitalize() for word in name.split("_")) + "Metric"


def missing_metric(rubric: Rubric) -> str | None:
    """The class that DeepEval's adapter lacks."""
    adapter = import_module("groundjudge.adapters.deepeval")
    class_name = metric_name(rubric.name)
    if class_name in adapter.__all__:
        metric = getattr(adapter, class_name)
        if issubclass(metric, adapter.JudgeMetric) and metric.default_judge == rubric.name:
            return None
    return (
        f'adapters/deepeval.py: add "{class_name}" to __all__, and\n'
        f'    class {class_name}(JudgeMetric):\n        """{rubric.prompt.description}"""\n\n'
        f'        default_judge = "{rubric.name}"'
    )


def inspect_source() -> str:
    """The code of Inspect's adapter, which takes three seconds to import."""
    return (ROOT / "adapters/inspect.py").read_text(encoding="utf-8")


def missing_scorer(rubric: Rubric) -> str | None:
    """The function that Inspect's adapter lacks."""
    code = inspect_source()
    if f'    "{rubric.name}",\n' in code and f"\ndef {rubric.name}(" in code:
        return None
    metrics, by_name = "[mean(), stderr()]", ""
    if len(rubric.format.part_names) > 0:  # their scores are shown beside the headline, as passage_quality's
        metrics, by_name = '{"*": [mean(), stderr()]}', ", by_name=True"
    return (
        f'adapters/inspect.py: add "{rubric.name}" to __all__, and\n'
        f"    @scorer(metrics={metrics})\n"
        f"    def {rubric.name}(**options: Unpack[ScorerOptions]) -> Scorer:\n"
        f'        """Score with the judge `{rubric.name}`; see `judge`."""\n'
        f'        return _scorer("{rubric.name}"{by_name}, **options)'
    )


def missing_rows_of_tables(rubric: Rubric) -> str | None:
    """The pages whose table of the judges lacks one."""
    lacking = [
        page for page in TABLES if f"\n| `{rubric.name}` |" not in (ROOT / page).read_text(encoding="utf-8")
    ]
    if not lacking:
        return None
    pages = ", ".join(lacking)
    return f"{pages}: add to the table of the judges a row\n    | `{rubric.name}` | its question? | ..."


def missing_row_of_metrics(rubric: Rubric) -> str | None:
    """The row that the page of DeepEval's adapter lacks."""
    page = "docs/adapters/deepeval.md"
    class_name = metric_name(rubric.name)
    if re.search(rf"^\| `{class_name}`.* \| `{rubric.name}`", (ROOT / page).read_text("utf-8"), re.MULTILINE):
        return None
    return f"{page}: add to the table of the metrics\n    | `{class_name}` | `{rubric.name}` |"


def missing_example_on_the_page(rubric: Rubric) -> str | None:
    """The example that the page of the judges lacks."""
    page = "docs/judges.md"
    if f"\n## {rubric.name}\n" in (ROOT / page).read_text(encoding="utf-8"):
        return None
    return f"{page}: add `## {rubric.name}`, with what the judge asks and an example"


def missing_row_of_adapters(rubric: Rubric) -> str | None:
    """The replies that the table of all adapters lacks."""
    if any(row.judge == rubric.name for row in TABLE):
        return None
    return f'tests/adapters_table.py: add to TABLE, for each kind of reply\n    Row("{rubric.name}", ...),'


def missing_name_of_scorer(rubric: Rubric) -> str | None:
    """What the page of Inspect's adapter lacks: its list of the scorers."""
    page = "docs/adapters/inspect.md"
    scorers = re.search(r"There is a scorer for each judge \(([^)]+)\)", (ROOT / page).read_text("utf-8"))
    assert scorers, f"{page} no longer lists the scorers in this sentence: change this test"
    if f"`{rubric.name}`" in scorers[1]:
        return None
    return f'{page}: add `{rubric.name}` to "There is a scorer for each judge (...)"'


def missing_examples(rubric: Rubric) -> str | None:
    """What the examples lack: two rows for a judge, so that they show a right and a wrong response."""
    path = "examples/cases.jsonl"
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    count = sum(rubric.name in json.loads(line)["judges"] for line in lines)
    if count >= 2:
        return None
    return (
        f'{path}: add rows with "judges": ["{rubric.name}"], or this name to "judges" of other rows, '
        f"until two have it (now: {count}); then run `make pages`: pages show what the examples give"
    )


def missing_probe_cases(rubric: Rubric) -> str | None:
    """The cases that a probe of a judge lacks. A judge that shows no source cannot be probed."""
    if rubric.name not in judges_with_a_source():
        return None
    path = f"src/groundjudge/lab/probe/cases/{rubric.name}.jsonl"
    if (ROOT / path).exists():
        return None
    return f"{path}: write this file, with rows like those of its neighbours"


LISTS = (
    missing_hash,
    missing_numbers,
    missing_metric,
    missing_scorer,
    missing_rows_of_tables,
    missing_row_of_metrics,
    missing_example_on_the_page,
    missing_row_of_adapters,
    missing_name_of_scorer,
    missing_examples,
    missing_probe_cases,
)


@pytest.mark.parametrize("name", names())
def test_judge_of_the_folder_is_wherever_judges_are_named(name: str) -> None:
    rubric = load_rubric(name)
    steps = [missing(rubric) for missing in LISTS]
    to_do = [step for step in steps if step is not None]
    assert not to_do, f"prompts/{name}.prompty is a judge, and this is left to do:\n\n" + "\n\n".join(to_do)


def test_no_list_names_a_judge_that_is_not_in_the_folder() -> None:
    scorers = re.findall(r'_scorer\("(\w+)"', inspect_source())
    assert {*scorers} <= {*names()}, "adapters/inspect.py: remove the scorer of the judge that is gone"
    adapter = import_module("groundjudge.adapters.deepeval")
    metrics = [
        getattr(adapter, class_name) for class_name in adapter.__all__ if class_name.endswith("Metric")
    ]
    judges = {metric.default_judge for metric in metrics} - {""}
    assert judges <= {*names()}, "adapters/deepeval.py: remove the metric of the judge that is gone"
    for line in (ROOT / "examples/cases.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        assert {*row["judges"]} <= {*names()}, f"examples/cases.jsonl: {row['id']} names a judge that is gone"
