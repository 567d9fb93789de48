"""Whatever an endpoint sends and a file holds, a run ends, and its verdicts can be read and continued."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from command_line import GOOD, ROW, run_command, with_one_command
from hostile_input import LINES, replies
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from raw_endpoint import RawEndpoint, RawReply, good_reply
from typer.testing import CliRunner, Result

from groundjudge import Verdict
from groundjudge.models import pacing
from groundjudge.models.openai import OpenAIModel
from groundjudge.runs.verdict_file import read_verdicts

JUDGE = "groundedness"
KNOWN_ID = "the row that is right"
KNOWN = json.dumps({"id": KNOWN_ID, **ROW}).encode()
GOOD_ENDPOINT = [good_reply(GOOD)]
PACES = "FIRST_WAIT LONGEST_WAIT FIRST_PAUSE LONGEST_PAUSE SETTLING LONGEST_OUTAGE"
NUMBERS = count()
EXAMPLES = int(os.environ.get("GROUNDJUDGE_FUZZ", "200"))
"""How many runs are made of each kind in the long tests."""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[RawEndpoint]:
    with RawEndpoint() as running, pytest.MonkeyPatch.context() as patch:
        for pace in (
            "FIRST_WAIT",
            "LONGEST_WAIT",
            "FIRST_PAUSE",
            "LONGEST_PAUSE",
            "SETTLING",
            "LONGEST_OUTAGE",
        ):
            patch.setattr(pacing, pace, 0.002)
        model = partial(OpenAIModel, base_url=running.url, max_retries=0, timeout=2)
        patch.setattr("groundjudge.cli.options.as_model", model)
        yield running


def command(*arguments: str) -> Result:
    """Run the command; it ends well, or with a documented status and a message."""
    result = CliRunner().invoke(with_one_command(arguments), arguments)
    assert result.exit_code in {0, 1, 2}, result.stderr
    assert isinstance(result.exception, SystemExit | None), result.stderr
    assert "Traceback" not in result.stderr
    return result


def verdicts_of(out: Path) -> list[Verdict]:
    """All lines of a file, each of which is a verdict."""
    found = [*read_verdicts(out)] if out.exists() else []
    verdicts = [each for each in found if isinstance(each, Verdict)]
    assert verdicts == found
    return verdicts


def check_run(
    endpoint: RawEndpoint,
    cases: bytes,
    scripts: Iterable[Sequence[RawReply]],
    options: Sequence[str] = (),
    suffix: str = ".jsonl",
) -> list[Verdict]:
    """Run, and resume with each further script; gives the verdicts in the end."""
    model, verdicts, n_before = f"m{next(NUMBERS)}", list[Verdict](), 0
    with TemporaryDirectory() as folder:
        path, out = Path(folder, f"cases{suffix}"), Path(folder, "out.jsonl")
        path.write_bytes(cases)
        for script in scripts:
            endpoint.answer_with(script)
            more = ["--resume"] if out.exists() else []
            command("run", str(path), "--judge", JUDGE, "--model", model, "--out", str(out), *options, *more)
            verdicts = verdicts_of(out)
            assert all((each.score is None) == (each.status != "ok") for each in verdicts)
            n_scored = sum(each.score is not None for each in verdicts)
            assert n_scored - n_before <= endpoint.n_scorable, "a score without a completion"
            n_before = n_scored
    return verdicts


def rows_in(lines: bytes) -> list[str]:
    """The lines that are not blank; none if the file is not UTF-8, because that is refused as a whole."""
    with suppress(UnicodeDecodeError):
        return [line for line in lines.decode("utf-8-sig").split("\n") if line and not line.isspace()]
    return []


def check_jsonl(
    endpoint: RawEndpoint,
    lines: Sequence[bytes],
    scripts: Sequence[Sequence[RawReply]],
    options: Sequence[str],
) -> None:
    cases = b"\n".join([*lines, KNOWN])
    verdicts = check_run(endpoint, cases, [*scripts, GOOD_ENDPOINT], options)
    rows = rows_in(cases)
    if not any("judges" in row for row in rows):  # such a row says how many verdicts it gets
        assert len(verdicts) == len(rows)
    known = [each.score for each in verdicts if each.case_id == KNOWN_ID]
    assert known == [1.0][: len(rows)]


def check_table(endpoint: RawEndpoint, table: tuple[bytes, str], script: Sequence[RawReply]) -> None:
    cases, suffix = table
    first = check_run(endpoint, cases, [script, GOOD_ENDPOINT], suffix=suffix)
    again = check_run(endpoint, cases, [GOOD_ENDPOINT], suffix=suffix)
    ids = [Counter(each.case_id for each in verdicts) for verdicts in (first, again)]
    assert ids[0] == ids[1]


OPTIONS = st.sampled_from(
    [
        option.split()
        for option in (
            *("", "--weighted", "--repeats 3", "--repeats 2 --stop never", "--concurrency 1"),
            *("--structured always", "--structured never", "--empty-response not_applicable"),
        )
    ]
)
REPLIES = st.lists(replies(), min_size=1, max_size=4)
CELLS = b"""id,response,context,query\n|id,id\n|1,a,b,c\n|"|,|\n|\r|\xff|\x00|"[1"", ]"|[]"""
TABLES: Mapping[str, st.SearchStrategy[bytes]] = {
    ".json": st.lists(LINES, max_size=3).map(lambda rows: b"[" + b",".join(rows) + b"]"),
    ".csv": st.lists(st.sampled_from(CELLS.split(b"|"))).map(b"".join),
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[bytes, str]:
    """The bytes of a file of cases, and its suffix."""
    suffix = draw(st.sampled_from([*TABLES, ".tsv", ".parquet", ".jsonl.gz"]))
    return draw(st.one_of(st.binary(max_size=60), TABLES.get(suffix, TABLES[".csv"]))), suffix


CHECKS: list[Any] = [*HealthCheck]
few = settings(max_examples=6, derandomize=True, suppress_health_check=CHECKS)
# Runs are too slow to be made smaller one by one: what failed is printed as it was.
many = settings(max_examples=EXAMPLES, suppress_health_check=CHECKS, phases=[Phase.reuse, Phase.generate])
fuzzed_run = given(st.lists(LINES, max_size=4), st.lists(REPLIES, min_size=1, max_size=2), OPTIONS)
fuzzed_table = given(tables(), REPLIES)

test_a_fuzzed_run_ends_with_a_line_for_each_row = few(fuzzed_run(check_jsonl))
test_a_fuzzed_table_ends_alike_after_any_replies = few(fuzzed_table(check_table))
long = pytest.mark.timeout(7200)
test_many_fuzzed_runs_end_with_a_line_for_each_row = pytest.mark.soak(long(many(fuzzed_run(check_jsonl))))
test_many_fuzzed_tables_end_alike_after_any_replies = pytest.mark.soak(long(many(fuzzed_table(check_table))))


@pytest.mark.soak
@settings(max_examples=5, derandomize=True, suppress_health_check=CHECKS, phases=[Phase.generate])
@given(st.lists(LINES, max_size=3), st.lists(replies(), min_size=1, max_size=3))
def test_a_fuzzed_run_in_a_process_of_its_own_ends(
    endpoint: RawEndpoint, lines: list[bytes], script: list[RawReply]
) -> None:
    endpoint.answer_with(script)
    with TemporaryDirectory() as folder:
        path, out = Path(folder, "cases.jsonl"), Path(folder, "out.jsonl")
        path.write_bytes(b"\n".join([*lines, KNOWN]))
        arguments = ("run", path, "--judge", JUDGE, "--model", "m", "--deadline", "1", "--out", out)
        result = run_command(*arguments, env={**os.environ, "OPENAI_BASE_URL": endpoint.url})
        assert result.returncode in {0, 1, 2}, result.stderr
        assert "Traceback" not in result.stderr
        verdicts_of(out)
