"""What users install: every prompt and adapter and the examples are in it, and importing it is light."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from command_line import run_program
from syntax_tree import nodes_of

import groundjudge

ROOT = Path(__file__).parents[1]
CORE = ROOT / "src" / "groundjudge"
CASES = ROOT / "examples" / "cases.jsonl"
FRAMEWORKS = ("langsmith", "deepeval", "langchain_core", "langchain")
HEAVY = (*FRAMEWORKS, "openai", "yaml", "aiohttp", "rapidfuzz", "json_repair", "rich", "typer")


@pytest.mark.soak  # it builds both, which takes seconds
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


@pytest.mark.soak
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
    "src/groundjudge/models/init_chat_model.py": "anthropic",  # which LangChain's models are loaded for
}
"""What files need that others import once the extra is there; other files name their extra in `requires`."""

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def undeclared(path: str, code: str) -> list[str]:
    """What pyproject.toml lacks for the imports of a file: a sentence for each, with what to add."""
    nodes = nodes_of(code)
    groups: Mapping[str, list[str]] = PROJECT["optional-dependencies"]
    extras = _last_arguments(nodes, "requires")
    if path in EXTRAS:
        extras.add(EXTRAS[path])
    unknown_extras = sorted(extras - groups.keys())
    if unknown_extras:
        return [
            f"{path} needs the extra {extra!r}: add it to [project.optional-dependencies] in pyproject.toml, "
            "and to the extra 'all' there"
            for extra in unknown_extras
        ]
    declared = _distributions(PROJECT["dependencies"])
    for extra in extras:
        declared |= _distributions(groups[extra])
    modules = set(_modules(nodes)) | _last_arguments(nodes, "import_module")
    packages = {module.partition(".")[0] for module in modules} - {"groundjudge", *sys.stdlib_module_names}
    missing: list[str] = []
    for package in sorted(packages):
        distribution = DISTRIBUTIONS.get(package, package.replace("_", "-"))
        if distribution not in declared:
            missing.append(
                f"{path} imports {package}: declare {distribution} in the extra that the file names by "
                "requires(..., EXTRA) around the import, or in the dependencies, in pyproject.toml; "
                "a distribution of another name belongs in DISTRIBUTIONS in tests/test_package.py"
            )
    return missing


def _distributions(requirements: list[str]) -> set[str]:
    return {re.split(r"[^\w.-]", requirement)[0].lower() for requirement in requirements}


def _last_arguments(nodes: Sequence[ast.AST], function: str) -> set[str]:
    """The last argument of each call: the module of `import_module`, the extra of `requires`."""
    texts: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function:
            texts.update(
                str(argument.value) for argument in node.args[-1:] if isinstance(argument, ast.Constant)
            )
    return texts


def test_what_a_file_imports_is_declared_with_it_or_in_its_extra() -> None:
    missing: list[str] = []
    for folder in ("src", "adapters"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            path = file.relative_to(ROOT).as_posix()
            missing += undeclared(path, file.read_text(encoding="utf-8"))
    assert not missing, "\n".join(missing)


NEW_FILES = [
    pytest.param(
        'with requires("groundjudge.adapters.new needs New", "new"):\n    import new_framework',
        "adapters/new.py needs the extra 'new': add it to [project.optional-dependencies]",
        id="extra that pyproject.toml does not have",
    ),
    pytest.param(
        'with requires("groundjudge.adapters.new needs New", "langfuse"):\n    import new_framework',
        "adapters/new.py imports new_framework: declare new-framework in the extra",
        id="framework that is not in the file's extra",
    ),
    pytest.param(
        "import langfuse",
        "adapters/new.py imports langfuse: declare langfuse in the extra",
        id="framework whose extra the file does not name",
    ),
    pytest.param(
        'import_module("new_framework.parts")',
        "adapters/new.py imports new_framework: declare new-framework in the extra",
        id="framework imported by its name",
    ),
]


@pytest.mark.parametrize(("code", "message"), NEW_FILES)
def test_message_about_a_new_file_says_what_to_declare(code: str, message: str) -> None:
    (missing,) = undeclared("adapters/new.py", code)
    assert missing.startswith(message)


def test_extra_all_has_every_other_extra() -> None:
    groups: Mapping[str, list[str]] = PROJECT["optional-dependencies"]
    in_all = re.findall(r"[\w-]+", " ".join(groups["all"]))
    missing = sorted(groups.keys() - {"all", *in_all})
    assert not missing, f"pyproject.toml: add {', '.join(missing)} to the extra 'all'"


def test_public_names_are_sorted_and_there() -> None:
    assert groundjudge.__all__ == sorted(groundjudge.__all__)
    # Other libraries have the same names: `import *` must not replace theirs.
    assert not {"Document", "Message"} & set(groundjudge.__all__)
    assert groundjudge.Document(content="d").content == "d"
    assert all(hasattr(groundjudge, name) for name in groundjudge.__all__)


def _modules(nodes: Sequence[ast.AST]) -> list[str]:
    """The modules that a file imports, anywhere in it."""
    modules: list[str] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            modules.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            modules.append(node.module or "")
    return modules
