"""An endpoint whose replies to one request differ, by dice that fall the same way in every run."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import Any

from standin_openai import Answer

RIGHT = {True: "<S1>all of it</S1><S2>5</S2>", False: "<S1>nothing of it</S1><S2>1</S2>"}


def row(number: int) -> dict[str, str]:
    """The row with this number, from 0; rows with an even number are grounded."""
    return {
        "id": str(number),
        "query": "When does the ferry sail?",
        "context": "The ferry sails at nine.",
        "response": f"The ferry row={number}; sails at nine.",
    }


class NoisyEndpoint:
    """Answers the requests about a row, one after the other, and is wrong about a share of them.

    Attributes:
        wrong: the share of wrong replies, 0..1; two votes differ with probability 2 * wrong * (1 - wrong).
        asked: how many requests each row took, by model and row.
    """

    def __init__(self, wrong: float, seed: int = 1) -> None:
        self.wrong = wrong
        self.seed = seed
        self.asked: Counter[tuple[str, int]] = Counter()

    def __call__(self, body: dict[str, Any]) -> Answer:
        found = re.search(r"row=(\d+);", body["messages"][-1]["content"])
        assert found
        key = str(body["model"]), int(found[1])
        self.asked[key] += 1
        dice = random.Random(f"{self.seed} {key} {self.asked[key]}").random()  # noqa: S311  not a secret
        is_grounded = key[1] % 2 == 0
        return RIGHT[is_grounded != (dice < self.wrong)]
