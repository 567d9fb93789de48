"""The blocks of docs/spark.md that need no other engine are run, in order and in one namespace."""

# pyright: reportUnknownMemberType=false
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pages import ROOT, blocks
from pyspark.sql import SparkSession
from standin_openai import StandIn

pytest_plugins = ["local_spark"]

PAGE = ROOT / "docs" / "spark.md"
NOT_INSTALLED = ("polars", "ray", "dask")
"""Engines that the tests do without."""


@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore")
def test_page(
    spark: SparkSession,
    endpoint: StandIn,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    warehouse = f"{tmp_path}/verdicts"
    n_requests_before = len(endpoint.requests)
    namespace: dict[str, Any] = {}
    codes = [block.code for block in blocks(PAGE) if block.language == "python"]
    assert len(codes) >= 5 + len(NOT_INSTALLED)
    for code in codes:
        if any(f"import {name}" in code for name in NOT_INSTALLED):
            continue
        code_in_warehouse = code.replace('parquet("verdicts")', f'parquet("{warehouse}")')
        exec(compile(code_in_warehouse, str(PAGE), "exec"), namespace)  # noqa: S102  the page's own code
    assert spark.read.parquet(warehouse).count() == 1
    assert list(namespace["found"]["score"]) == [1.0]
    assert "|groundedness|    ok|    1|" in capsys.readouterr().out
    assert len(endpoint.requests) == n_requests_before + 2  # those of Spark and of pandas
