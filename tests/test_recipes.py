"""The recipes that need a download, with a tiny classifier and with a few made-up rows of the public sets."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import Invoke
from pages import ROOT, blocks
from standin_openai import StandIn

PAGE = ROOT / "docs" / "adapters" / "recipes.md"
CODES = [block.code for block in blocks(PAGE) if block.language == "python"]


class Overlap:
    """A tiny classifier in place of HHEM: the share of a sentence's words that the source has."""

    @classmethod
    def from_pretrained(cls, _name: str, **_options: object) -> Overlap:
        return cls()

    def predict(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        shares: list[float] = []
        for source, sentence in pairs:
            words = sentence.casefold().rstrip(".").split()
            known = source.casefold().replace(".", "").split()
            shares.append(sum(word in known for word in words) / len(words))
        return shares


def test_classifier_decides_what_is_clear_and_the_language_model_the_rest(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    package = SimpleNamespace(AutoModelForSequenceClassification=Overlap)
    monkeypatch.setitem(sys.modules, "transformers", package)
    names: dict[str, Any] = {}
    with StandIn(["1 | 1 | - | 10\nALL | 100"]) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("OPENAI_API_KEY", "a-key")
        for code in CODES[:2]:
            exec(compile(code, str(PAGE), "exec"), names)  # noqa: S102  the page's own code
        assert capsys.readouterr().out == "statement_groundedness@hhem\n"
        assert endpoint.requests == []

        unclear = names["judge"].judge({**names["case"], "response": "They open at 9."})
        assert [vote.score for vote in unclear.votes] == [pytest.approx(0.75), 1.0]
        assert len(endpoint.requests) == 1

    wrong = names["local"].judge({**names["case"], "response": "We open at 9. Dogs stay outside."})
    assert wrong.score == 0
    assert [part.score for part in wrong.parts] == [1, 0]


SOURCES: list[dict[str, Any]] = [
    {
        "source_id": "1",
        "task_type": "QA",
        "source_info": {
            "question": "When do you open?",
            "passages": "We open at 9.\n\nTours cost 4 euros.\n\n",
        },
    },
    {"source_id": "2", "task_type": "Summary", "source_info": "We open at 9."},
]
ANSWERS: list[dict[str, Any]] = [
    {
        "id": "a",
        "source_id": "1",
        "response": "We open at 9.",
        "labels": [],
        "split": "test",
        "quality": "good",
    },
    {"id": "b", "source_id": "1", "response": "At 11.", "labels": [{}], "split": "test", "quality": "good"},
    {"id": "c", "source_id": "1", "response": "At 9.", "labels": [], "split": "train", "quality": "good"},
    {"id": "d", "source_id": "1", "response": "At", "labels": [], "split": "test", "quality": "truncated"},
    {"id": "e", "source_id": "2", "response": "At 9.", "labels": [], "split": "test", "quality": "good"},
]
RATED: list[dict[str, Any]] = [
    {
        "query_id": query_id,
        "query": "When do you open?",
        "context": [{"text": "We open at 9."}, {"text": "Tours cost 4 euros."}],
        "answer": [{"sentence": "We open at 9.", "factuality": factuality} for factuality in factualities],
    }
    for query_id, factualities in (
        (1, ["Supported", "Supported"]),
        (2, ["Supported", "Not Supported"]),
        (3, ["Supported", "Challenging to determine"]),
    )
]
CLAIMS: list[dict[str, Any]] = [
    {"doc": "We open at 9.", "claim": "We open at 9.", "label": 1},
    {"doc": "We open at 9.", "claim": "We open at 8.", "label": 0},
]


def load_claims(_name: str, split: str) -> list[dict[str, Any]]:
    """What `datasets.load_dataset` would download."""
    assert split == "test"
    return CLAIMS


@pytest.fixture
def draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[list[str]], str]:
    """Runs the page's script next to the downloaded sets, and returns what it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_claims))
    for name, rows in (("source_info", SOURCES), ("response", ANSWERS), ("en", RATED)):
        Path(f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    script = ROOT / "examples" / "public_rows.py"

    def run(arguments: list[str]) -> str:
        monkeypatch.setattr(sys, "argv", [str(script), *arguments])
        runpy.run_path(str(script), run_name="__main__")
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize(
    ("arguments", "labels", "judged"),
    [
        pytest.param(["ragtruth", "."], {"a": 1, "b": 0}, 3, id="RAGTruth"),
        pytest.param(["memerag", "en.jsonl"], {1: 1, 2: 0}, 3, id="MEMERAG"),
        pytest.param(["aggrefact", "test"], {0: 1, 1: 0}, 1, id="LLM-AggreFact"),
    ],
)
def test_rows_of_a_public_set_are_judged_and_compared_with_its_labels(
    arguments: list[str],
    labels: dict[object, int],
    judged: int,
    draw: Callable[[list[str]], str],
    invoke: Invoke,
) -> None:
    drawn = draw(arguments)
    assert {row["id"]: row["label"] for row in map(json.loads, drawn.splitlines())} == labels

    Path("rows.jsonl").write_text(drawn, encoding="utf-8")
    run = invoke("run", "rows.jsonl", "--model", "offline", "--out", "verdicts.jsonl")
    assert run.exit_code == 0, run.output
    assert len(Path("verdicts.jsonl").read_text(encoding="utf-8").splitlines()) == judged * len(labels)
    agreement = invoke("agree", "verdicts.jsonl", "--labels", "rows.jsonl", "--group", "context")
    assert agreement.exit_code == 0, agreement.output
    assert "ROC AUC" in agreement.output
