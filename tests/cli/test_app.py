"""The command line as a whole."""

from __future__ import annotations

import subprocess
import sys

from command_line import Invoke

from groundjudge import __version__


def test_version(invoke: Invoke) -> None:
    assert invoke("--version").stdout == f"groundjudge {__version__}\n"


def test_help_loads_neither_rich_nor_a_client() -> None:
    program = (
        "import sys\n"
        "from groundjudge.cli.app import app\n"
        "app(['--help'], standalone_mode=False)\n"
        "print(sorted({'rich', 'openai', 'yaml', 'aiohttp'} & sys.modules.keys()))\n"
    )
    done = subprocess.run(  # noqa: S603  this very Python
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.stdout.splitlines()[-1] == "[]"
