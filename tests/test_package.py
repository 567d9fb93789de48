"""What users install: every prompt and adapter and the examples are in it, and importing it is light."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from command_line import run_program
from syntax_tree import tree_of

import groundjudge

ROOT = Path(__file__).parents[1]
CORE = ROOT / "src" / "groundjudge"
CASES = ROOT / "examples" / "cases.jsonl"
FRAMEWORKS = ("langsmith", "deepeval", "langchain_core", "langchain")
HEAVY = (*FRAMEWORKS, "openai", "yaml", "aiohttp", "rapidfuzz", "json_repair", "rich", "typer")


def test_wheel_built_from_the_sdist_holds_every_prompt_and_adapter_and_the_examples(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)  # noqa: S603  sdist first, wheel from the sdist
    (wheel,) = tmp_path.glob("*.whl")
    names_in_wheel = set(zipfile.ZipFile(wheel).namelist())
    expected = {
        f"groundjudge/{file.relative_to(CORE)}" for file in CORE.rglob("*.py") if "adapters" not in file.parts
    }
    for folder, pattern in (("prompts", "*.prompty"), ("adapters", "*.py")):
        files_of_folder = {f"groundjudge/{folder}/{file.name}" for file in (ROOT / folder).glob(pattern)}
        assert files_of_folder, folder
        expected |= files_of_folder
    for folder, pattern in (("probe/cases", "*"), ("report", "*.*"), (".", "py.typed")):
        expected |= {f"groundjudge/{file.relative_to(CORE)}" for file in (CORE / folder).glob(pattern)}
    assert expected <= names_in_wheel
    assert zipfile.Path(wheel, "groundjudge/cli/cases.jsonl").read_bytes() == CASES.read_bytes()
    assert not [name for name in names_in_wheel if not name.startswith(("groundjudge/", "groundjudge-"))]
    (metadata,) = [name for name in names_in_wheel if name.endswith(".dist-info/METADATA")]
    readme = zipfile.Path(wheel, metadata).read_text(encoding="utf-8")
    assert "(https://github.com/groundjudge/groundjudge/blob/main/docs/quickstart.md)" in readme
    assert "](docs/" not in readme  # PyPI would not find it


def test_importing_loads_no_framework_and_no_client_and_help_does_not_either() -> None:
    program = f"""
import sys, groundjudge
print([name for name in {HEAVY} if name in sys.modules])
from groundjudge.cli.app import app
app(["--help"], standalone_mode=False)
print([name for name in {HEAVY} if name in sys.modules])
"""
    status, output, _ = run_program(program)
    assert (status, output.splitlines()[0], output.splitlines()[-1]) == (0, "[]", "['typer']")


def test_core_never_imports_a_framework_and_one_file_the_openai_client() -> None:
    core = [file for file in CORE.rglob("*.py") if "adapters" not in file.relative_to(CORE).parts]
    assert not [file for file in core if {*FRAMEWORKS} & _imports(file)]
    assert [file for file in core if "openai" in _imports(file)] == [CORE / "models" / "openai.py"]


def test_only_the_commands_draw() -> None:
    adapters = (ROOT / "adapters").glob("*.py")  # a link, which rglob passes over
    drawing = [file for file in (*CORE.rglob("*.py"), *adapters) if {"rich", "typer"} & _imports(file)]
    assert {file.parent for file in drawing} == {CORE / "cli"}


def test_prompts_and_replies_do_not_know_each_other() -> None:
    for layer, other in (("prompt", "replies"), ("replies", "prompt"), ("replies", "judging")):
        for file in (CORE / layer).glob("*.py"):
            assert not [name for name in _modules(file) if name.startswith(f"groundjudge.{other}.")], file


DISTRIBUTIONS = {
    "Stemmer": "pystemmer",
    "agents": "openai-agents",
    "opentelemetry": "opentelemetry-api",
    "pydantic_ai": "pydantic-ai-slim",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""Distributions that have another name than the module."""

EXTRAS = {
    "adapters/langsmith_queue.py": "langsmith",
    "src/groundjudge/batches/anthropic.py": "anthropic",
    "src/groundjudge/models/redirects.py": "anthropic",  # which LangChain's models are loaded for
}
"""What files need that others import once the extra is there; other files name their extra in `requires`."""


@pytest.mark.parametrize(
    "file",
    [file for folder in ("src", "adapters") for file in sorted((ROOT / folder).rglob("*.py"))],
    ids=lambda file: file.relative_to(ROOT).as_posix(),
)
def test_what_a_file_imports_is_declared_with_it_or_in_its_extra(file: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    calls = {name: set(_last_texts(file, name)) for name in ("import_module", "requires")}
    extras = [*calls["requires"], *filter(None, [EXTRAS.get(file.relative_to(ROOT).as_posix())])]
    groups = [project["dependencies"], *(project["optional-dependencies"][extra] for extra in extras)]
    declared = {re.split(r"[^\w.-]", requirement)[0].lower() for group in groups for requirement in group}
    modules = _imports(file) | {name.split(".")[0] for name in calls["import_module"]}
    foreign_modules = modules - sys.stdlib_module_names - {"groundjudge"}
    assert {DISTRIBUTIONS.get(name, name.replace("_", "-")) for name in foreign_modules} <= declared


def _last_texts(file: Path, function: str) -> Iterator[str]:
    """The last argument of each call: the module of `import_module`, the extra of `requires`."""
    for node in ast.walk(tree_of(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function:
            yield from (
                str(argument.value) for argument in node.args[-1:] if isinstance(argument, ast.Constant)
            )


def test_public_names_are_sorted_and_there() -> None:
    assert groundjudge.__all__ == sorted(groundjudge.__all__)
    # Other libraries have the same names: `import *` must not replace theirs.
    assert not {"Document", "Message"} & set(groundjudge.__all__)
    assert groundjudge.Document(content="d").content == "d"
    assert all(hasattr(groundjudge, name) for name in groundjudge.__all__)


@cache
def _modules(file: Path) -> list[str]:
    tree = tree_of(file.read_text(encoding="utf-8"))
    return [
        name
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    ]


def _imports(file: Path) -> set[str]:
    return {name.split(".")[0] for name in _modules(file)}
