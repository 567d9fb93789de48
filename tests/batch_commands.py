"""The commands `groundjudge batch` at a stand-in: a run of rows that are told apart by their numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest
from command_line import ROW, Invoke, verdicts_in
from standin_batches import GOOD, BatchStandIn, LineAnswer, Script
from stepped_commands import Steps
from typer.testing import Result

from groundjudge import Verdict

OPENAI, ANTHROPIC = "m", "langchain:anthropic:claude"
"""The names of the models of the two providers."""

both = pytest.mark.parametrize("model", [OPENAI, pytest.param(ANTHROPIC, marks=pytest.mark.soak)])


def rows(n: int) -> list[dict[str, Any]]:
    """Rows whose query says their number."""
    return [{**ROW, "id": str(number), "query": f"Number {number}?"} for number in range(n)]


def number_of(body: Mapping[str, Any]) -> int:
    """The number of the row that a request is about."""
    match = re.search(r"Number (\d+)\?", json.dumps(body["messages"]))
    assert match
    return int(match[1])


def by_number(answers: Mapping[int, LineAnswer | Callable[[int], LineAnswer]]) -> Script:
    """A script that answers by the row's number, or by how many messages the request has; else well."""

    def answer_request(body: dict[str, Any]) -> LineAnswer:
        answer = answers.get(number_of(body), GOOD)
        if not callable(answer):
            return answer
        n_turns = sum(message["role"] != "system" for message in body["messages"])
        return answer(n_turns)

    return answer_request


def unreadable_once(n_turns: int) -> LineAnswer:
    """An answer that cannot be read to the first request, and a good one to the second."""
    if n_turns == 1:
        return "I would rather not say."
    return GOOD


def environment(server: BatchStandIn) -> dict[str, str]:
    """Where both clients find the stand-in."""
    return {"OPENAI_BASE_URL": server.url, "ANTHROPIC_BASE_URL": server.root, "ANTHROPIC_API_KEY": "k"}


@dataclass
class BatchCommands:
    """Runs the commands of one run, in this process and in others.

    Attributes:
        server: the stand-in.
        invoke: runs a command in this process.
        folder: where the files are.
        model: the model's name.
        options: of `submit`.
        patience: how long both commands look for a lost batch.
        collect_options: of `collect`.
        refused: of `submit`; empty: the first request is asked online.
    """

    server: BatchStandIn
    invoke: Invoke
    folder: Path
    model: str = OPENAI
    options: tuple[str, ...] = ("--judge", "groundedness")
    patience: tuple[str, ...] = ("--listed-within", "0.3")
    collect_options: tuple[str, ...] = ("--wait", "--every", "0.01")
    refused: tuple[str, ...] = ("--refused", "none")

    @property
    def cases(self) -> Path:
        return self.folder / "cases.jsonl"

    @property
    def out(self) -> Path:
        return self.folder / "v.jsonl"

    def write_cases(self, cases: list[dict[str, Any]]) -> None:
        self.cases.write_text("".join(f"{json.dumps(row)}\n" for row in cases))

    @property
    def to_submit(self) -> list[str]:
        """The arguments of `submit`."""
        files = ["batch", "submit", str(self.cases), "--out", str(self.out)]
        return [*files, "--model", self.model, *self.options, *self.patience, *self.refused]

    @property
    def to_collect(self) -> list[str]:
        """The arguments of `collect`."""
        return ["batch", "collect", str(self.out), *self.collect_options, *self.patience]

    def submit(self, *more: str) -> Result:
        return self.invoke(*self.to_submit, *more)

    def collect(self, *more: str) -> Result:
        return self.invoke(*self.to_collect, *more)

    def start(self, arguments: list[str]) -> ForkServerProcess:
        """A command in a process of its own, at a provider whose batches hold few requests."""
        return Steps(self.folder, environment(self.server)).start(arguments)

    def verdicts(self) -> list[Verdict]:
        return verdicts_in(self.out.read_text())

    def results(self) -> dict[str, float | str | None]:
        """The score or the error's code of each row; no row has two verdicts."""
        results: dict[str, float | str | None] = {}
        for verdict in self.verdicts():
            case_id = str(verdict.case_id)
            assert case_id not in results, f"two verdicts on row {case_id}"
            results[case_id] = verdict.error.code if verdict.error else verdict.score
        return results
