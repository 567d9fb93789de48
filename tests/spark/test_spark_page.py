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
OTHERS = ("polars", "ray", "dask", "daft")
"""Engines that are not installed for the tests."""


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
    before, namespace = len(endpoint.requests), dict[str, Any]()
    codes = [each.code for each in blocks(PAGE) if each.language == "python"]
    assert len(codes) >= 5 + len(OTHERS)
    for code in (each.replace('parquet("verdicts")', f'parquet("{warehouse}")') for each in codes):
        if not any(f"import {name}" in code for name in OTHERS):
            exec(compile(code, str(PAGE), "exec"), namespace)  # noqa: S102  the page's own code
    assert spark.read.parquet(warehouse).count() == 1
    assert list(namespace["found"]["score"]) == [1.0]
    assert capsys.readouterr().out.endswith("1\n")
    assert len(endpoint.requests) == before + 2  # those of Spark and of pandas
