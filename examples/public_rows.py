"""Draw 300 labelled rows of a public set, to see how well your model judges them.

    git clone https://github.com/ParticleMedia/RAGTruth
    python public_rows.py ragtruth RAGTruth/dataset > rows.jsonl
    groundjudge run rows.jsonl --model gpt-6-luna --out verdicts.jsonl
    groundjudge agree verdicts.jsonl --labels rows.jsonl --group context

Each row has a label: 1 if people found that the source supports the response, 0 if not.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

N_ROWS = 300

Row: TypeAlias = dict[str, Any]


def read_lines(path: Path) -> Iterator[Row]:
    """The rows of a file in JSON Lines."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def ragtruth(place: str) -> Iterator[Row]:
    """Questions and answers; `place` is the folder `dataset` of the repository."""
    sources = {source["source_id"]: source for source in read_lines(Path(place, "source_info.jsonl"))}
    for answer in read_lines(Path(place, "response.jsonl")):
        source = sources[answer["source_id"]]
        if (source["task_type"], answer["split"], answer["quality"]) != ("QA", "test", "good"):
            continue
        yield {
            "id": answer["id"],
            "query": source["source_info"]["question"],
            "context": source["source_info"]["passages"],
            "response": answer["response"],
            "label": int(not answer["labels"]),  # each label is a span without support
        }


def memerag(place: str) -> Iterator[Row]:
    """Answers in one of five languages; `place` is a file such as de.jsonl."""
    for rated in read_lines(Path(place)):
        found = {sentence["factuality"] for sentence in rated["answer"]}
        if not found <= {"Supported", "Not Supported"}:  # people could not decide
            continue
        yield {
            "id": rated["query_id"],
            "query": rated["query"],
            "context": rated["context"],
            "response": " ".join(sentence["sentence"] for sentence in rated["answer"]),
            "label": int(found == {"Supported"}),
        }


def aggrefact(place: str) -> Iterator[Row]:
    """Claims from eleven sets; `place` is the split, and the package `datasets` downloads it."""
    claims = import_module("datasets").load_dataset("lytang/LLM-AggreFact", split=place)
    for number, claim in enumerate(claims):
        yield {"id": number, "context": claim["doc"], "response": claim["claim"], "label": claim["label"]}


SETS = {"ragtruth": ragtruth, "memerag": memerag, "aggrefact": aggrefact}

if __name__ == "__main__":
    name, place_of_set = sys.argv[1:]
    rows = list(SETS[name](place_of_set))
    random.Random(0).shuffle(rows)  # noqa: S311  the same rows each time
    for row in rows[:N_ROWS]:
        print(json.dumps(row))
