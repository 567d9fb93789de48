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
    process: subprocess.Popen[bytes], endpoint: FailingEndpoint, n_asked: int, delay: float
) -> None:
    """Kill the run so many seconds after the endpoint has been asked so often."""
    while len(endpoint.asked) < n_asked and process.poll() is None:
        time.sleep(0.001)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


def judged_jobs(out: Path) -> set[Job]:
    """The jobs with a score in a file of verdicts whose last line may be half-written."""
    jobs = set[Job]()
    if not out.exists():
        return jobs
    *whole_lines, _ = out.read_text().split("\n")
    for line in whole_lines:
        verdict = json.loads(line)
        if verdict["status"] == "ok":
            jobs.add(Job(verdict["judge"], int(verdict["case_id"])))
    return jobs


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
    n_calls = verdict.attempts
    assert verdict.usage == Usage(prompt_tokens=10 * n_calls, completion_tokens=5 * n_calls), job


def judge_and_kill(
    folder: Path, endpoint: FailingEndpoint, size: int, concurrency: int, n_kills: int
) -> dict[Job, Verdict]:
    """The verdicts of a run that was killed and resumed so often: one for each row and judge."""
    cases = folder / "cases.jsonl"
    out = folder / "out.jsonl"
    cases.write_text("".join(f"{json.dumps(row(number))}\n" for number in range(size)))
    jobs = [Job(judge, number) for number in range(size) for judge in RIGHT]
    run = [*COMMAND, "run", str(cases), "--model", "m", "--out", str(out), "--resume"]
    run += ["--concurrency", str(concurrency)]
    for judge in RIGHT:
        run += ["--judge", judge]
    null = subprocess.DEVNULL
    chance = random.Random(endpoint.seed)  # noqa: S311  not a secret
    jobs_before = set[Job]()
    with StandIn(endpoint, latency=LATENCY) as server:
        environment = {**os.environ, "OPENAI_BASE_URL": server.url}
        for n_kills_left in range(n_kills, -1, -1):
            jobs_before = judged_jobs(out)
            n_asked_before = len(endpoint.asked)
            is_last = n_kills_left == 0
            endpoint.allowed = 100 * len(jobs) if is_last else len(jobs) // (n_kills + 1)
            process = subprocess.Popen(run, env=environment, stdout=null, stderr=null)  # noqa: S603  this very Python
            if is_last:
                assert process.wait() == 1  # some rows have errors
            else:
                n_more = chance.randint(endpoint.allowed // 2, endpoint.allowed)
                kill_after(process, endpoint, n_asked_before + n_more, chance.uniform(0, 2 * LATENCY))
            assert not jobs_before.intersection(endpoint.asked[n_asked_before:])
            right_jobs = {job for job in jobs if endpoint.was_right(job)}
            assert len(right_jobs - judged_jobs(out)) <= concurrency  # those in flight at the kill
    assert jobs_before  # the last run had verdicts to reuse
    verdicts = verdicts_in(out.read_text())
    verdict_by_job = {Job(verdict.judge, int(verdict.case_id or "")): verdict for verdict in verdicts}
    assert len(out.read_text().splitlines()) == len(verdict_by_job)
    assert verdict_by_job.keys() == {*jobs}
    return verdict_by_job


N_KILLS, CONCURRENCY = 3, 32


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_killed_and_resumed_run_has_the_right_verdict_of_every_row_once(tmp_path: Path) -> None:
    endpoint = FailingEndpoint(seed=2)
    verdict_by_job = judge_and_kill(tmp_path, endpoint, SOAK_ROWS, CONCURRENCY, N_KILLS)
    for job, verdict in verdict_by_job.items():
        check_verdict(verdict, job, endpoint)
    met_codes = set[str]()
    n_repeated = 0  # right replies that a kill lost, so that the job was asked again
    for codes in endpoint.met.values():
        met_codes.update(codes)
        if "" in codes:
            n_repeated += codes.count("") - 1
    assert met_codes == {"", *CODES}
    failed_jobs = [job for job in verdict_by_job if not endpoint.was_right(job)]
    assert 0 < len(failed_jobs) < 0.2 * len(verdict_by_job)
    assert n_repeated <= N_KILLS * CONCURRENCY
