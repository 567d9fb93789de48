"""Whatever an endpoint sends and a file holds, a run ends, and its verdicts can be read and continued."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from command_line import GOOD, ROW
from hostile_input import LINES, replies
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from raw_endpoint import RawEndpoint, RawReply, good_reply
from typer.testing import CliRunner, Result

from groundjudge import Verdict
from groundjudge.cli.app import app
from groundjudge.models import pacing
from groundjudge.models.openai import OpenAIModel
from groundjudge.runs.verdict_file import read_verdicts

JUDGE = "groundedness"
KNOWN_ID = "the row that is right"
KNOWN = json.dumps({"id": KNOWN_ID, **ROW}).encode()
GOOD_ENDPOINT = [good_reply(GOOD)]
PACES = ("FIRST_WAIT", "MAX_WAIT", "FIRST_PAUSE", "MAX_PAUSE", "SETTLING", "MAX_OUTAGE")
NUMBERS = count()


@pytest.fixture(scope="module")
def endpoint() -> Iterator[RawEndpoint]:
    with RawEndpoint() as running, pytest.MonkeyPatch.context() as patch:
        for pace in PACES:
            patch.setattr(pacing, pace, 0.002)
        model = partial(OpenAIModel, base_url=running.url, max_retries=0, timeout=2)
        patch.setattr("groundjudge.cli.selection.as_model", model)
        yield running


def command(*arguments: str) -> Result:
    """Run the command; it ends well, or with a documented status and a message."""
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code in {0, 1, 2}, result.stderr
    assert isinstance(result.exception, SystemExit | None), result.stderr
    assert "Traceback" not in result.stderr
    return result


def verdicts_of(out: Path) -> list[Verdict]:
    """All lines of a file, each of which is a verdict."""
    verdicts: list[Verdict] = []
    if out.exists():
        for verdict in read_verdicts(out):
            assert isinstance(verdict, Verdict)
            verdicts.append(verdict)
    return verdicts


def check_run(
    endpoint: RawEndpoint,
    cases: bytes,
    scripts: Iterable[Sequence[RawReply]],
    options: Sequence[str],
    suffix: str,
) -> list[Verdict]:
    """Run, and resume with each further script; gives the verdicts in the end."""
    model = f"m{next(NUMBERS)}"
    verdicts: list[Verdict] = []
    n_before = 0
    with TemporaryDirectory() as folder:
        path = Path(folder, f"cases{suffix}")
        path.write_bytes(cases)
        out = Path(folder, "out.jsonl")
        for script in scripts:
            endpoint.answer_with(script)
            more = ["--resume"] if out.exists() else []
            command("run", str(path), "--judge", JUDGE, "--model", model, "--out", str(out), *options, *more)
            verdicts = verdicts_of(out)
            n_scored = 0
            for verdict in verdicts:
                assert (verdict.score is None) == (verdict.status != "ok")
                n_scored += verdict.score is not None
            assert n_scored - n_before <= endpoint.n_scorable, "a score without a completion"
            n_before = n_scored
    return verdicts


def rows_in(lines: bytes) -> list[str]:
    """The lines that are not blank; none if the file is not UTF-8, because that is refused as a whole."""
    with suppress(UnicodeDecodeError):
        return [line for line in lines.decode("utf-8-sig").split("\n") if line and not line.isspace()]
    return []


def check(
    endpoint: RawEndpoint,
    file: tuple[bytes, str],
    scripts: Sequence[Sequence[RawReply]],
    options: Sequence[str],
) -> None:
    cases, suffix = file
    verdicts = check_run(endpoint, cases, [*scripts, GOOD_ENDPOINT], options, suffix)
    again = check_run(endpoint, cases, [GOOD_ENDPOINT], options, suffix)
    ids = Counter(verdict.case_id for verdict in verdicts)
    assert ids == Counter(verdict.case_id for verdict in again)
    if suffix == ".jsonl":
        rows = rows_in(cases)
        if not any("judges" in row for row in rows):  # such a row says how many verdicts it gets
            assert len(verdicts) == len(rows)
        known_scores = [verdict.score for verdict in verdicts if verdict.case_id == KNOWN_ID]
        assert known_scores == [1.0][: len(rows)]


OPTIONS = st.sampled_from(
    "|-O weighted=true|--repeats 3|--repeats 2 -O stop=never|--concurrency 1|-O structured=always"
    "|-O structured=never|-O empty_response=not_applicable".split("|")
).map(str.split)
SCRIPTS = st.lists(st.lists(replies(), min_size=1, max_size=4), min_size=1, max_size=2)
CELLS = b"""id,response,context,query\n|id,id\n|1,a,b,c\n|"|,|\n|\r|\xff|\x00|"[1"", ]"|[]"""
TABLES = st.lists(st.sampled_from(CELLS.split(b"|"))).map(b"".join)
ARRAYS = st.lists(LINES, max_size=3).map(lambda rows: b"[" + b",".join(rows) + b"]")


@st.composite
def files(draw: st.DrawFn) -> tuple[bytes, str]:
    """The bytes of a file of cases, and its suffix: half of them are JSON Lines with a row that is right."""
    if draw(st.booleans()):
        return b"\n".join([*draw(st.lists(LINES, max_size=4)), KNOWN]), ".jsonl"
    suffix = draw(st.sampled_from([".json", ".csv", ".tsv", ".parquet", ".jsonl.gz"]))
    return draw(st.one_of(st.binary(max_size=60), ARRAYS if suffix == ".json" else TABLES)), suffix


CHECKS: list[Any] = [*HealthCheck]
few = settings(max_examples=4, derandomize=True, suppress_health_check=CHECKS)
# Runs are too slow to be made smaller one by one: what failed is printed as it was.
many = settings(suppress_health_check=CHECKS, phases=[Phase.reuse, Phase.generate])
long = pytest.mark.timeout(7200)
fuzzed = given(files(), SCRIPTS, OPTIONS)

test_a_fuzzed_run_ends_with_a_line_for_each_row = few(fuzzed(check))
test_many_fuzzed_runs_end_with_a_line_for_each_row = pytest.mark.soak(long(many(fuzzed(check))))
