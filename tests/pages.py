"""The code blocks of README.md and of the pages of `docs`: what runs them, and what refreshes their outputs.

    python tests/pages.py run PAGE [TEXT]  # the blocks with that text, in an empty folder, with `stand_ins`
    python tests/pages.py refresh          # write what the commands of all pages print into the pages
    python tests/pages.py types FOLDER     # write each page's Python blocks as a module, for type checkers

`python` blocks of a page run in order and share their names, and functions named `test_...` are called;
`pycon` blocks are doctests; of `console` blocks the lines that begin with `$ groundjudge` are run and their
outputs compared, where `...` stands for anything; `markdown` blocks are prompt files, kept under their names.
A `text` block right below a `python` block is what that block prints last.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from formatter import sure

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
SHOWN_ONLY = {"bash", "ini", "json", "text", "toml", "yaml"}
RUN_HERE = {"console", "markdown", "pycon", "python"}

BLOCK = re.compile(r"^```(?P<language>.*)\n(?P<code>(?s:.*?))^```$", re.MULTILINE)
COMMAND = re.compile(r"^\$ (?P<line>(?:.*\\\n)*.*)\n(?P<output>(?:(?!\$ |\n\$ ).*\n)*)", re.MULTILINE)
NAME = re.compile(r"^name: (.+)$", re.MULTILINE)

NOT_RUN: Mapping[str, Mapping[str, str]] = {
    # a page -> the first line of a block, or * for all blocks of a language -> why it cannot run here
    "docs/guarding.md": {"from agents import Agent as OpenAIAgent": "its model is OpenAI's own"},
    "docs/adapters/recipes.md": {
        "from transformers import AutoModelForSequenceClassification": "downloads a model",
        'second = load("statement_groundedness", model="openai:gpt-6-luna")': "asks that model first",
        "from phoenix.evals import Score, create_evaluator": "needs Phoenix",
        "from autoevals import Score": "needs Braintrust",
        "from opik.evaluation.metrics import base_metric, score_result": "needs Opik",
        "from llama_index.core.evaluation import BaseEvaluator, EvaluationResult": "needs LlamaIndex",
        "import weave": "needs Weave",
    },
    "docs/spark.md": {"* python": "needs Java, Spark and other engines: run by make test-spark"},
}
"""The blocks that are not run."""

NOT_TYPED: Mapping[str, str] = {
    "docs/adapters/inspect.md": "Inspect's logs are full of optional fields",
    "docs/adapters/langfuse.md": "Langfuse's types do not accept what its own examples pass",
    "docs/adapters/mlflow.md": "what MLflow returns is a union of all that it could return",
    "docs/adapters/opentelemetry.md": "the SDK's records are full of optional fields",
    "docs/adapters/recipes.md": "its functions are short enough to read without types",
}
"""The pages whose blocks are not checked for types, in which an example would be all assertions."""

REPLY = f"<S0>t</S0><S1>The context says so.</S1>{sure(5)}"
ENVIRONMENT = {
    "COLUMNS": "100",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DO_NOT_TRACK": "1",
    "LANGSMITH_TRACING": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "OPENAI_API_KEY": "a-key",
    "LANGSMITH_API_KEY": "a-key",
}


class Block(NamedTuple):
    """A code block; `start` is the offset of its code in the page, `line` the line that opens it."""

    language: str
    code: str
    start: int
    line: int

    @property
    def name(self) -> str:
        """The block's first line."""
        return self.code.partition("\n")[0]

    @property
    def end(self) -> int:
        """Where the line of the page begins that follows the block."""
        return self.start + len(self.code) + len("```\n")


class Command(NamedTuple):
    """A command or a block, the output that the page shows below it, and where that stands."""

    line: str
    output: str
    start: int


def pages() -> list[Path]:
    """README.md and every page of the site that has a block to run."""
    candidates = [README, *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in candidates if any(block.language in RUN_HERE for block in to_run(page))]


def name_of(page: Path) -> str:
    """The page's path in the repository."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> Iterator[Block]:
    """Every block, in order."""
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield Block(match["language"], match["code"], match.start("code"), line)


def reasons(page: Path) -> Mapping[str, str]:
    """Why blocks of a page are not run."""
    return NOT_RUN.get(name_of(page), {})


def to_run(page: Path) -> list[Block]:
    """The blocks that are not listed with a reason."""
    names_not_run = reasons(page)
    return [block for block in blocks(page) if {block.name, f"* {block.language}"}.isdisjoint(names_not_run)]


def commands(block: Block) -> Iterator[Command]:
    """The commands of a console block: its lines that begin with a `$`."""
    for match in COMMAND.finditer(block.code):
        line = match["line"].replace("\\\n", " ")
        yield Command(line, match["output"], block.start + match.start("output"))


def run(page: Path, chosen: Sequence[Block]) -> Iterator[tuple[Command, str]]:
    """Run blocks of a page in the current folder; yields each command or block with what it printed."""
    names: dict[str, Any] = {"__name__": "page"}
    last, printed = None, ""
    for block in chosen:
        match block.language:
            case "python":
                last, printed = block, _execute(page, block, names)
            case "text" if last and block.start == last.end + len("\n```text\n"):
                end = printed.splitlines(keepends=True)[
                    -block.code.count("\n") :
                ]  # after a framework's lines
                yield Command(f"line {last.line}", block.code, block.start), "".join(end)
            case "pycon":
                _converse(page, block, names)
            case "markdown":
                _keep_prompt(block)
            case "console":
                yield from ((command, _output_of(command)) for command in commands(block))
            case _:
                pass


def _execute(page: Path, block: Block, names: dict[str, Any]) -> str:
    """Run a Python block and the tests in it; returns what was printed."""
    in_its_place = "\n" * block.line + block.code  # so that tracebacks name the line of the page
    with redirect_stdout(StringIO()) as printed:
        exec(compile(in_its_place, str(page), "exec", dont_inherit=True), names)  # noqa: S102
        for name in [name for name in names if name.startswith("test_")]:
            names.pop(name)()
    sys.stdout.write(printed.getvalue())
    return printed.getvalue()


def _converse(page: Path, block: Block, names: dict[str, Any]) -> None:
    session = doctest.DocTestParser().get_doctest(block.code, names, page.name, str(page), block.line)
    session.globs = names  # not a copy: later blocks see the names
    assert doctest.DocTestRunner().run(session, clear_globs=False).failed == 0, f"{page}:{block.line}"


def _keep_prompt(block: Block) -> None:
    from groundjudge import load_rubric  # noqa: PLC0415  only the program needs the library

    name_match = NAME.search(block.code)
    path = Path(f"{name_match[1] if name_match else 'prompt'}.prompty")
    path.write_text(block.code, encoding="utf-8")
    assert load_rubric(path).name == path.stem


def _output_of(command: Command) -> str:
    """What a command prints on the screen, without blanks at the ends of lines."""
    from typer.testing import CliRunner  # noqa: PLC0415

    from groundjudge.cli.app import app  # noqa: PLC0415

    line, _, target = command.line.partition(" > ")
    program, *arguments = shlex.split(line, comments=True)
    assert program == "groundjudge", line
    result = CliRunner(env={"COLUMNS": "100"}).invoke(app, arguments)
    if target:
        Path(target).write_bytes(result.stdout_bytes)
    printed = result.stderr if target else result.stdout + result.stderr
    return "".join(f"{row.rstrip()}\n" for row in printed.splitlines())


def is_shown(command: Command, printed: str) -> bool:
    """Whether the page shows what the command printed."""
    return doctest.OutputChecker().check_output(command.output, printed, doctest.ELLIPSIS)


def refresh(page: Path) -> None:
    """Write what the commands of a page print into the page; what it shows stays if it is right."""
    wrong = [
        (command, printed) for command, printed in run(page, to_run(page)) if not is_shown(command, printed)
    ]
    text = page.read_text(encoding="utf-8")
    for command, printed in reversed(wrong):
        text = text[: command.start] + printed + text[command.start + len(command.output) :]
    page.write_text(text, encoding="utf-8")


def check(page: Path, chosen: Sequence[Block]) -> None:
    """Run blocks of a page, and compare the outputs of its commands."""
    for command, printed in run(page, chosen):
        assert is_shown(command, printed), f"{page}: {command.line}\n{printed}"


@contextmanager
def stand_ins() -> Generator[tuple[Any, Any, Mapping[str, str]]]:
    """The endpoints of OpenAI and LangSmith that a page meets, and the environment that names them."""
    import standin_decisions  # noqa: PLC0415  only the tests and `refresh` need them
    import standin_langsmith  # noqa: PLC0415
    import standin_openai  # noqa: PLC0415

    decisions = standin_decisions.Decisions()

    def answer(body: dict[str, Any]) -> Any:
        return decisions(body) if "questions" in body else REPLY

    with (
        standin_openai.StandIn(answer) as endpoint,
        standin_langsmith.StandIn([({"question": "When do you open?"}, None)]) as langsmith,
    ):
        langsmith.dataset = "my dataset"
        urls = {
            "OPENAI_BASE_URL": endpoint.url,
            "TYPESAFE_BASE_URL": endpoint.root,
            "LANGSMITH_ENDPOINT": langsmith.url,
        }
        yield endpoint, langsmith, {**os.environ, **ENVIRONMENT, **urls}


def apart(
    environment: Mapping[str, str], task: str, page: Path, *text: str
) -> subprocess.CompletedProcess[str]:
    """Do a task with a page in a process and an empty folder of their own."""
    with TemporaryDirectory() as folder:
        return subprocess.run(  # noqa: S603  this very Python
            [sys.executable, __file__, task, page, *text],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )


def refresh_all(chosen: list[str]) -> None:
    """Refresh the outputs of the pages that have commands, each in a process of its own."""
    for page in [Path(name).resolve() for name in chosen] or pages():
        if any(block.language in {"console", "text"} for block in to_run(page)):
            with stand_ins() as (_, _, environment):
                process = apart(environment, "refresh-here", page)
            print(name_of(page), process.stderr[-2000:] if process.returncode else "ok")  # noqa: T201


def modules(folder: Path) -> None:
    """Write each page's Python blocks as a module, without checks that frameworks' types or lambdas fail."""
    unknown = ("Argument", "Lambda", "Member", "Variable")
    off = (*(f"reportUnknown{kind}Type" for kind in unknown), "reportMissingTypeStubs")
    leave_out = '# mypy: disable-error-code="attr-defined,import-untyped"\n'
    leave_out += f"# pyright: {'=false, '.join(off)}=false\n"
    folder.mkdir(parents=True, exist_ok=True)
    for page in (page for page in pages() if name_of(page) not in NOT_TYPED):
        code = [block.code for block in to_run(page) if block.language == "python"]
        if code:
            name = re.sub(r"\W+", "_", name_of(page).removesuffix(".md"))
            (folder / f"{name}.py").write_text(leave_out + "\n".join(code), encoding="utf-8")


def main(task: str, *arguments: str) -> None:
    """Do what the module's docstring says."""
    match task:
        case "run" | "refresh-here":
            from pytest_socket import socket_allow_hosts  # noqa: PLC0415

            socket_allow_hosts(["127.0.0.1", "::1", "localhost"], allow_unix_socket=True)
            page, text = Path(arguments[0]), "".join(arguments[1:])
            chosen = [block for block in to_run(page) if text in block.code]
            check(page, chosen) if task == "run" else refresh(page)
        case "refresh":
            refresh_all([*arguments])
        case "types":
            modules(Path(arguments[0]))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
