"""The blocks of docs/spark.md that need no other engine are run, in order and in one namespace."""

# pyright: reportUnknownMemberType=false
from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from standin_openai import StandIn

pytest_plugins = ["local_spark"]

PAGE = Path(__file__).parents[2] / "docs" / "spark.md"
BLOCK = re.compile(r"^```python\n(?P<code>(?s:.*?))^```$", re.MULTILINE)
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
    page = PAGE.read_text(encoding="utf-8").replace('parquet("verdicts")', f'parquet("{warehouse}")')
    before, namespace = len(endpoint.requests), dict[str, Any]()
    blocks = [found["code"] for found in BLOCK.finditer(page)]
    assert len(blocks) >= 5 + len(OTHERS)
    for code in blocks:
        if not any(f"import {name}" in code for name in OTHERS):
            exec(compile(code, str(PAGE), "exec"), namespace)  # noqa: S102  the page's own code
    assert spark.read.parquet(warehouse).count() == 1
    assert list(namespace["found"]["score"]) == [1.0]
    assert capsys.readouterr().out.endswith("1\n")
    assert len(endpoint.requests) == before + 2  # those of Spark and of pandas
