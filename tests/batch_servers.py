"""The fixture `batches`: a stand-in for providers of batches, and the commands of a run of rows at it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from batch_commands import OPENAI, BatchCommands, environment, rows
from command_line import Invoke
from standin_batches import BatchStandIn

from groundjudge.batches.anthropic import AnthropicBatches
from groundjudge.batches.openai import OpenAIBatches


@pytest.fixture
def batches(invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Makes a stand-in, and the commands of a run of rows at it."""
    servers: list[BatchStandIn] = []

    def begin(
        n_rows: int = 4, *, model: str = OPENAI, at_most: int = 50_000, **options: Any
    ) -> BatchCommands:
        server = BatchStandIn(**options)
        servers.append(server.__enter__())
        for name, value in environment(server).items():
            monkeypatch.setenv(name, value)
        for provider in (OpenAIBatches, AnthropicBatches):
            monkeypatch.setattr(provider, "max_requests", at_most)
        commands = BatchCommands(server, invoke, tmp_path, model)
        commands.write_cases(rows(n_rows))
        return commands

    yield begin
    for server in servers:
        server.__exit__()
