"""A Spark session for the tests, which needs Java; make test-spark runs them.

A process has either kind of session: that of Connect lives in a process of its own.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from formatter import sure
from standin_openai import StandIn

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PySpark warns of new versions of pandas
    from pyspark.sql import SparkSession

TESTS = Path(__file__).parent
FOLDERS = [str(TESTS), str(TESTS.parent / "src")]

GOOD = f"<S0>t</S0><S1>The context says so.</S1>{sure(5)}"


@pytest.fixture(scope="session")
def endpoint() -> Iterator[StandIn]:
    """The endpoint that the environment of the workers names."""
    with StandIn([GOOD]) as server:
        os.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-of-the-workers"}
        yield server


@pytest.fixture(scope="session")
def spark(endpoint: StandIn) -> Iterator[SparkSession]:
    """A local session with four tasks at a time, whose workers find this checkout and the tests' modules."""
    assert endpoint.port
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([*FOLDERS, os.environ.get("PYTHONPATH", "")])
    builder: Any = SparkSession.builder
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.log.level": "OFF",
    }
    session: SparkSession = builder.master("local[4,4]").config(map=settings).getOrCreate()
    yield session
    session.stop()
