"""Commands in processes of their own, also such as are killed or held at a step: before a file is touched.

Processes begin faster because nothing else is imported here.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from groundjudge.batches.anthropic import AnthropicBatches
from groundjudge.batches.openai import OpenAIBatches
from groundjudge.cli.app import app

MODULES = (
    "groundjudge.cli.app",
    "groundjudge.batches.openai",
    "groundjudge.batches.anthropic",
    "groundjudge.models.openai",
)

PROCESSES = multiprocessing.get_context("forkserver")
"""Processes of their own that need not import everything again."""

AT_MOST = 2
"""The most requests of a batch."""

STEPS = frozenset(
    {
        "open",
        "fcntl.flock",
        "os.chmod",
        "os.chown",
        "os.mkdir",
        "os.remove",
        "os.rename",
        "shutil.copyfile",
        "sqlite3.connect",
        "tempfile.mkstemp",
    }
)
"""The audit events of Python's that are steps."""


def run_quietly(arguments: Sequence[str], environ: Mapping[str, str], at_most: int) -> None:
    """Run a command in this process, which is its own, at a provider whose batches hold few requests."""
    os.environ.update(environ)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    for provider in (OpenAIBatches, AnthropicBatches):
        provider.max_requests = at_most
    app([*arguments])


def _run(
    arguments: Sequence[str], environ: Mapping[str, str], folder: str, nth: int, gate: Connection | None
) -> None:
    """Run a command; before its nth step in a folder, wait at the gate, or die if there is none."""
    numbers = count(1)

    def watch(event: str, details: tuple[object, ...]) -> None:
        if event not in STEPS:
            return
        # The event of a lock has no path, only the number of an open file.
        if event != "fcntl.flock" and not str(details[0]).startswith(folder):
            return
        if next(numbers) != nth:
            return
        if gate is None:
            os.kill(os.getpid(), signal.SIGKILL)
        else:
            gate.send(event)
            gate.recv()

    sys.addaudithook(watch)
    run_quietly(arguments, environ, AT_MOST)


@dataclass
class Steps:
    """Starts commands that are stopped at a step.

    Attributes:
        folder: the folder; what happens to files elsewhere is no step.
        environ: the commands' environment.
    """

    folder: Path
    environ: Mapping[str, str]

    def kill_at(self, nth: int, arguments: Sequence[object]) -> bool:
        """Let a command run until its nth step; False: it ended before."""
        process = self._start(nth, arguments, None)
        return status_of(process) == -signal.SIGKILL

    def hold_at(self, nth: int, arguments: Sequence[object]) -> HeldCommand | None:
        """Let a command run until its nth step; None: it ended before."""
        ours, theirs = PROCESSES.Pipe()
        process = self._start(nth, arguments, theirs)
        theirs.close()
        try:
            ours.recv()
        except EOFError:
            process.join(60)
            return None
        return HeldCommand(process, ours)

    def start(self, arguments: Sequence[object]) -> ForkServerProcess:
        """A command that nothing stops."""
        return self._start(0, arguments, None)

    def _start(self, nth: int, arguments: Sequence[object], gate: Connection | None) -> ForkServerProcess:
        PROCESSES.set_forkserver_preload([*MODULES])
        texts = [str(argument) for argument in arguments]
        run_arguments = (texts, dict(self.environ), str(self.folder), nth, gate)
        process = PROCESSES.Process(target=_run, args=run_arguments, daemon=True)
        process.start()
        return process


@dataclass
class HeldCommand:
    """A command that waits before a step."""

    process: ForkServerProcess
    gate: Connection

    def go_on(self) -> int | None:
        """Let the command go on, and return its exit status."""
        self.gate.send(None)
        return status_of(self.process)

    def kill(self) -> None:
        self.process.kill()
        self.process.join(60)


def status_of(process: ForkServerProcess) -> int | None:
    """The exit status of a command, once it has ended."""
    process.join(60)
    return process.exitcode
