"""Two judges that share their calls, because they ask the same questions about each case."""

from __future__ import annotations

from groundjudge.judging.panel import AnyJudge, with_models
from groundjudge.models.shared import share_calls
from groundjudge.rubric.model import Model


def make_twins(judge: AnyJudge) -> tuple[AnyJudge, AnyJudge]:
    """Make two judges from one; each makes only the calls that the other has not made.

    The tokens of a call are counted by the judge that made it.
    """
    # Votes of a panel may have several models: each of them is shared with itself.
    models_of_first: dict[int, Model] = {}
    models_of_second: dict[int, Model] = {}
    for model in judge.models:
        models_of_first[id(model)], models_of_second[id(model)] = share_calls(model)
    (first,) = with_models([judge], lambda model: models_of_first[id(model)])
    (second,) = with_models([judge], lambda model: models_of_second[id(model)])
    return first, second
