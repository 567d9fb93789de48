"""Spark: the same verdicts as a judge alone, lazily, once per row even when workers are killed."""

# PySpark is only partly typed:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from adapters_table import JUDGES, fields_of, judge_of
from arrow_table import batch_of, cases_in_runs, expected_of_runs, pa
from formatter import sure
from pyspark.sql import DataFrame, SparkSession
from standin_openai import StandIn, Status

from groundjudge import Verdict, load
from groundjudge.adapters.spark import add_keys, judge_dataframe
from groundjudge.models.openai import OpenAIModel
from groundjudge.types import Judge

pytest_plugins = ["local_spark"]
pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore"),  # what PySpark and its workers' sockets warn of is no fault of ours
]

GOOD = f"<S0>t</S0><S1>fine</S1>{sure(5)}"
ROW: Mapping[str, Any] = {"query": "When?", "context": ["At nine."]}


def rows(n: int) -> list[dict[str, Any]]:
    return [{"id": str(number), **ROW, "response": f"At nine. row={number};"} for number in range(n)]


def frame(spark: SparkSession, cases: list[dict[str, Any]], partitions: int = 1) -> DataFrame:
    """A DataFrame of these rows, in so many partitions."""
    df: DataFrame = spark.createDataFrame(pa.Table.from_batches([batch_of(*cases)]))
    return df.repartition(partitions) if partitions > 1 else df.coalesce(1)


def verdicts(df: DataFrame) -> list[Verdict]:
    return [Verdict.model_validate_json(row["verdict"]) for row in df.collect()]


def on(server: StandIn) -> Judge:
    return load("groundedness", model=OpenAIModel("m", base_url=server.url))


@pytest.mark.parametrize("name", JUDGES)
def test_verdicts_are_those_of_judge(spark: SparkSession, name: str) -> None:
    judged_verdicts = verdicts(judge_dataframe(frame(spark, cases_in_runs(name)), judge_of(name)))
    assert [fields_of(verdict) for verdict in judged_verdicts] == expected_of_runs(name)


def test_nothing_is_judged_before_an_action(spark: SparkSession) -> None:
    with StandIn([GOOD]) as server:
        df = judge_dataframe(frame(spark, rows(4)), on(server), columns="*")
        assert df.columns[:4] == ["id", "query", "context", "response"]
        assert df.schema["score"].dataType.typeName() == "double"
        assert not server.requests
        assert df.where("passed").count() == 4
        assert len(server.requests) == 4


def test_several_judges_and_all_types_of_columns(spark: SparkSession) -> None:
    types = (
        "id bigint not null, query string, context array<struct<content: string, title: string>>, "
        "response string, profile map<string, string>, at timestamp, day date, price decimal(10, 2), "
        "raw binary, tags map<string, array<int>>, local timestamp_ntz, judges array<string>"
    )
    both = spark.sql(
        "select 1L id, 'When?' query, array(struct('At nine.' content, 'Hours' title)) context, "
        "'At nine.' response, map('city', 'Vessa') profile, now() at, current_date() day, 1.5BD price, "
        "X'00ff' raw, map('a', array(1, null)) tags, localtimestamp() local, "
        "cast(null as array<string>) judges"
    )
    df = spark.createDataFrame(both.collect() * 2, types)
    judges = [load(name, model="offline") for name in ("groundedness", "confidence_grounding")]
    output = judge_dataframe(df, judges, columns="*")
    assert output.schema.fields[: len(df.columns)] == df.schema.fields
    judged_rows = output.collect()
    assert [row["judge"] for row in judged_rows] == ["groundedness", "confidence_grounding"] * 2
    assert {row["status"] for row in judged_rows} == {"ok"}
    assert [judged_rows[0][name] for name in df.columns] == [*df.collect()[0]]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        pytest.param(
            {"columns": ["query", "status"]},
            ValueError,
            "a column of the verdicts has that name",
            id="a column of the verdicts",
        ),
        pytest.param(
            {"concurrency": 0}, ValueError, "concurrency must be a whole number", id="no concurrency"
        ),
        pytest.param({"judges": "groundedness"}, TypeError, "judges must be Judge objects, as", id="a name"),
    ],
)
def test_mistakes_are_reported_at_once(
    spark: SparkSession, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    df: Any = frame(spark, [{**rows(1)[0], "status": "new"}])
    judges = options.pop("judges", None)
    with pytest.raises(error, match=message):
        judge_dataframe(df, load("groundedness", model="offline") if judges is None else judges, **options)


def test_key_in_a_judge_is_refused_at_once(spark: SparkSession) -> None:
    judge = load("groundedness", model=OpenAIModel("m", api_key="sk-secret"))
    for adapter in (judge_dataframe, add_keys):
        with pytest.raises(Exception, match="set OPENAI_API_KEY and") as raised:
            adapter(frame(spark, rows(1)), judge)
        assert "sk-secret" not in str(raised.value)


def test_what_is_written_is_not_judged_again(spark: SparkSession, tmp_path: Path) -> None:
    df = frame(spark, rows(30), 3)
    path = str(tmp_path / "verdicts")
    with StandIn([GOOD]) as server:
        judge = on(server)
        judge_dataframe(df.where("id < 10"), judge).write.parquet(path)
        df_without_verdict = add_keys(df, judge).join(spark.read.parquet(path), "key", "left_anti")
        judge_dataframe(df_without_verdict, judge).write.mode("append").parquet(path)
        assert len(server.requests) == 30
    output = spark.read.parquet(path)
    assert sorted(int(row["id"]) for row in output.select("id").collect()) == list(range(30))


def test_fatal_error_fails_the_task(spark: SparkSession) -> None:
    with (
        StandIn([Status(401, "wrong key")]) as server,
        pytest.raises(Exception, match=r"ModelError.*wrong key"),
    ):
        judge_dataframe(frame(spark, rows(3)), on(server)).collect()


def test_key_and_endpoint_are_those_of_the_workers(
    spark: SparkSession, endpoint: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    (verdict,) = verdicts(judge_dataframe(frame(spark, rows(1)), load("groundedness", model="openai:m")))
    assert verdict.status == "ok"
    assert endpoint.requests[-1].headers["Authorization"] == "Bearer sk-of-the-workers"


class Killing:
    """An endpoint that counts what each row was asked for, and kills a worker after some of the requests."""

    def __init__(self, kills_at: Iterable[int]) -> None:
        self.asked: Counter[str] = Counter()
        self.kills_at = {*kills_at}
        self.port = 0

    def __call__(self, body: dict[str, Any]) -> str:
        match = re.search(r"row=(\d+);", body["messages"][-1]["content"])
        assert match
        self.asked[match[1]] += 1
        if self.asked.total() in self.kills_at:
            ((busiest, _),) = n_connections(self.port).most_common(1)
            os.kill(busiest, signal.SIGKILL)
        return GOOD


def n_connections(port: int) -> Counter[int]:
    """How many connections to the port other processes have; by /proc, which needs no other package."""
    inodes: set[str] = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        is_established = fields[3] == "01"
        if is_established and fields[2].endswith(f":{port:04X}"):
            inodes.add(fields[9])
    processes: Counter[int] = Counter()
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        process = int(link.parts[2])
        if process != os.getpid() and _inode(link) in inodes:
            processes[process] += 1
    return processes


def _inode(link: Path) -> str:
    try:
        match = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(link))  # noqa: PTH115  a socket is no path
    except OSError:  # the file was closed, or the process has ended
        return ""
    return match[1] if match else ""


def test_killed_workers_repeat_with_a_ledger_what_was_in_flight(spark: SparkSession, tmp_path: Path) -> None:
    n_rows = 2000
    n_kills = 6
    path = str(tmp_path / "verdicts")
    endpoint = Killing(n_rows * nth // (n_kills + 1) for nth in range(1, n_kills + 1))
    with StandIn(endpoint, latency=0.05) as server:
        endpoint.port = server.port
        output = judge_dataframe(
            frame(spark, rows(n_rows), 20), on(server), concurrency=16, ledger=tmp_path / "ledger"
        )
        output.write.parquet(path)
        n_asked = endpoint.asked.total()
        assert output.where("passed").count() == n_rows  # all over again
    stored_rows = spark.read.parquet(path).select("id", "status").collect()
    assert sorted((int(row["id"]), row["status"]) for row in stored_rows) == [
        (n, "ok") for n in range(n_rows)
    ]
    assert 0 < n_asked - n_rows <= n_kills * 16
    assert endpoint.asked.total() == n_asked
    assert server.most_in_flight <= 4 * 16  # tasks at a time


CONNECT = """
import warnings
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
from groundjudge import load
from groundjudge.adapters.spark import add_keys, judge_dataframe
from groundjudge.models.openai import OpenAIModel

spark = SparkSession.builder.remote("local[2]").getOrCreate()
try:
    rows = [(str(n), "When?", ["At nine."], f"At nine. {n}") for n in range(20)]
    df = spark.createDataFrame(rows, "id string, query string, context array<string>, response string")
    judge = load("groundedness", model="offline")
    found = judge_dataframe(df, judge, columns=["id", "query"])
    print(type(found).__module__, found.columns[:3])
    listed = found.collect()
    print(len(listed), {row["status"] for row in listed})
    left = add_keys(df, judge).join(found.where("id < 5"), "key", "left_anti")
    print(left.count())
    try:
        judge_dataframe(df, load("groundedness", model=OpenAIModel("m", api_key="sk-secret")))
    except Exception as error:
        print(type(error).__name__)
finally:
    spark.stop()
"""


def test_spark_connect() -> None:
    """In a process of its own: a process has either kind of session."""
    path = os.pathsep.join([str(Path(__file__).parents[2] / "src"), os.environ.get("PYTHONPATH", "")])
    process = subprocess.run(  # noqa: S603  this very Python
        [sys.executable, "-c", CONNECT],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.splitlines() == [
        "pyspark.sql.connect.dataframe ['id', 'query', 'key']",
        "20 {'ok'}",
        "15",
        "PicklingError",
    ]
