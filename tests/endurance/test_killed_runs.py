"""A long run at a failing endpoint, killed and resumed: no row is lost, wrong, or judged twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from functools import cache
from pathlib import Path

import pytest
from command_line import COMMAND, verdicts_in
from failing_endpoint import FAULTS, RIGHT, FailingEndpoint, Job, right_reply, row
from many_rows import SOAK_ROWS
from scripted_model import ScriptedModel
from standin_openai import StandIn

from groundjudge import Reply, Usage, Verdict, load_rubric
from groundjudge.types import Judge

LATENCY = 0.05
CODES = {code for _, code in FAULTS.values()}
VARYING = {"attempts", "retries", "usage", "latency_s"}
"""The fields of a verdict that depend on what the endpoint answered before the right reply."""


def kill_after(
    running: subprocess.Popen[bytes], endpoint: FailingEndpoint, n_asked: int, delay: float
) -> None:
    """Kill the run so many seconds after the endpoint has been asked so often."""
    while len(endpoint.asked) < n_asked and running.poll() is None:
        time.sleep(0.001)
    time.sleep(delay)
    running.send_signal(signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL


def judged_jobs(out: Path) -> set[Job]:
    """The jobs with a score in a file of verdicts whose last line may be half-written."""
    lines = out.read_text().split("\n")[:-1] if out.exists() else []
    verdicts = map(json.loads, lines)
    return {Job(each["judge"], int(each["case_id"])) for each in verdicts if each["status"] == "ok"}


rubric_of = cache(load_rubric)


def expected_verdict(job: Job) -> Verdict:
    """The verdict on the right reply, under the names of the endpoint's models."""
    model = ScriptedModel(Reply(right_reply(job), model="stand-in"))
    model.name = "m"
    return Judge(rubric_of(job.judge), model).judge(row(job.row))


def check_verdict(verdict: Verdict, job: Job, endpoint: FailingEndpoint) -> None:
    """A row has its own score, or the code of the last fault if the right reply was never sent."""
    if not endpoint.was_right(job):
        assert verdict.error is not None, job
        assert (verdict.status, verdict.score) == ("error", None), job
        assert verdict.error.code == endpoint.met[job][-1], job
        return
    expected = expected_verdict(job).model_dump(exclude=VARYING)
    assert verdict.model_dump(exclude=VARYING) == expected, job
    n = verdict.attempts
    assert verdict.usage == Usage(prompt_tokens=10 * n, completion_tokens=5 * n), job


def judge_and_kill(
    folder: Path, endpoint: FailingEndpoint, size: int, concurrency: int, kills: int
) -> dict[Job, Verdict]:
    """The verdicts of a run that was killed and resumed so often: one for each row and judge."""
    cases, out = folder / "cases.jsonl", folder / "out.jsonl"
    cases.write_text("".join(f"{json.dumps(row(number))}\n" for number in range(size)))
    jobs = [Job(judge, number) for number in range(size) for judge in RIGHT]
    judges = (option for name in RIGHT for option in ("--judge", name))
    options = ["--model", "m", "--concurrency", str(concurrency), "--out", str(out), "--resume"]
    run, null = [*COMMAND, "run", str(cases), *judges, *options], subprocess.DEVNULL
    chance, judged = random.Random(endpoint.seed), set[Job]()  # noqa: S311  not a secret
    with StandIn(endpoint, latency=LATENCY) as server:
        for n_kills_left in range(kills, -1, -1):
            judged, n_asked = judged_jobs(out), len(endpoint.asked)
            endpoint.allowed = len(jobs) // (kills + 1) if n_kills_left else 100 * len(jobs)
            environment = {**os.environ, "OPENAI_BASE_URL": server.url}
            running = subprocess.Popen(run, env=environment, stdout=null, stderr=null)  # noqa: S603  this very Python
            if n_kills_left:
                n_asked_before_kill = n_asked + chance.randint(endpoint.allowed // 2, endpoint.allowed)
                kill_after(running, endpoint, n_asked_before_kill, chance.uniform(0, 2 * LATENCY))
            else:
                assert running.wait() == 1  # some rows have errors
            assert not judged.intersection(endpoint.asked[n_asked:])
            in_flight = {job for job in jobs if endpoint.was_right(job)} - judged_jobs(out)
            assert len(in_flight) <= concurrency
    assert judged  # the last run had verdicts to reuse
    found = {Job(each.judge, int(each.case_id or "")): each for each in verdicts_in(out.read_text())}
    assert len(out.read_text().splitlines()) == len(found)
    assert found.keys() == {*jobs}
    return found


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("size", "concurrency", "kills", "seed"),
    [
        pytest.param(40, 8, 1, 40, id="seed-40"),
        pytest.param(SOAK_ROWS, 32, 5, 2, id="seed-2", marks=pytest.mark.soak),
        pytest.param(SOAK_ROWS, 32, 5, 3, id="seed-3", marks=pytest.mark.soak),
    ],
)
def test_killed_and_resumed_run_has_the_right_verdict_of_every_row_once(
    tmp_path: Path, size: int, concurrency: int, kills: int, seed: int
) -> None:
    endpoint = FailingEndpoint(seed)
    found = judge_and_kill(tmp_path, endpoint, size, concurrency, kills)
    for job, verdict in found.items():
        check_verdict(verdict, job, endpoint)
    assert {code for codes in endpoint.met.values() for code in codes} == {"", *CODES}
    failed = [job for job in found if not endpoint.was_right(job)]
    assert 0 < len(failed) < 0.2 * len(found)
    assert sum(codes.count("") - 1 for codes in endpoint.met.values() if "" in codes) <= kills * concurrency
