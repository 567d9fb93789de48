"""The tests run without a key and without a network: loopback is all they may reach."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings
from pytest_socket import socket_allow_hosts

from groundjudge.models import pacing

PREFIXES = (
    "OPENAI_",
    "AZURE_OPENAI_",
    "LANGSMITH_",
    "LANGCHAIN_",
    "DEEPEVAL_",
    "CONFIDENT_",
    "TYPESAFE_",
)
"""How the variables begin that say to frameworks where they send things, and with which key."""

# Before any framework is imported: several of them read the environment once and keep it.
for name in [*os.environ]:
    if name.startswith(PREFIXES):
        del os.environ[name]
os.environ["LANGSMITH_TRACING"] = "false"
os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "1"
# No test speaks TLS: without certificates each client is spared the 30 ms that it takes to read them all.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)
# Otherwise every process that a test starts compiles the whole package, and every run all of the tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Once: pytest-socket as a plugin would look the names up for every test.
socket_allow_hosts(["127.0.0.1", "::1"], allow_unix_socket=True)

# No test waits half a second for a retry.
USUAL_FIRST_WAIT = pacing.FIRST_WAIT
pacing.FIRST_WAIT = 0.01

# A shell that starts the tests in the background has them ignore Ctrl-C, and with them all processes they
# start. Tests that interrupt a run would wait until they time out.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Otherwise pytest-asyncio makes an event loop that nobody closes.
asyncio.set_event_loop(None)

# `make soak` tries many more examples. A busy machine is no failing test: nothing has a deadline.
EXAMPLES = int(os.environ.get("GROUNDJUDGE_EXAMPLES", "10"))
settings.register_profile("patient", deadline=None, max_examples=EXAMPLES)
settings.load_profile("patient")

# Frameworks for agents need newer versions of shared packages than the oldest that the library allows.
collect_ignore = (
    [] if find_spec("agents") else ["adapters/test_guards.py", "adapters/test_guarded_streams.py"]
)

pytest_plugins = ["command_line"]  # its fixtures: invoke and file_of


@pytest.fixture
def current_event_loop() -> Iterator[None]:
    """DeepEval takes the current event loop or makes one, which nobody closes."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture
def usual_first_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let retries wait as they do outside the tests."""
    monkeypatch.setattr(pacing, "FIRST_WAIT", USUAL_FIRST_WAIT)


gc.disable()  # until everything is imported


def pytest_collection_finish() -> None:
    """Leave what is imported out of garbage collection, which otherwise takes a tenth of the tests' time."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Spare each worker further collections, by pytest and Python: pytest has just made one."""
    gc.freeze()
