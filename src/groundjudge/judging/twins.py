"""Two judges that share their calls, because they ask the same questions about each case."""

from __future__ import annotations

from groundjudge.judging.panel import AnyJudge, with_models
from groundjudge.models.shared import share_calls


def make_twins(judge: AnyJudge) -> tuple[AnyJudge, AnyJudge]:
    """Make two judges from one; each makes only the calls that the other has not made.

    The tokens of a call are counted by the judge that made it.
    """
    # Votes of a panel may have several models: each of them is shared with itself.
    twins = {id(model): share_calls(model) for model in judge.models}
    (first,) = with_models([judge], lambda model: twins[id(model)][0])
    (second,) = with_models([judge], lambda model: twins[id(model)][1])
    return first, second
