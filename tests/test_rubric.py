"""A rubric: it asks and reads without a model, and says what it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from scripted_model import ScriptedModel

from groundjudge import (
    Adjacent,
    Banded,
    CaseError,
    Format,
    Json,
    Judge,
    PartReading,
    PromptError,
    Reading,
    Reply,
    ReplyError,
    Rubric,
    Scale,
    Tags,
    as_judge,
    load,
    load_rubric,
    names,
    run,
)
from groundjudge.models.cached import CachedModel

ROW = {"query": "When?", "context": "At nine.", "response": "At nine."}
GOOD = "<S1>fine</S1><S2>5</S2>"
TO_TEN = Scale(worst=0, best=10)


@dataclass(frozen=True)
class Stars:
    """A format of a user's own, with parts: `tone: ***, style: *`."""

    of: tuple[str, ...] = ("tone", "style")
    reads: list[str] = field(default_factory=list[str], compare=False, repr=False)

    @property
    def part_names(self) -> tuple[str, ...]:
        return self.of

    @property
    def parts_are_sentences(self) -> bool:
        return False

    def read(self, reply: Reply, scale: Scale) -> Reading:
        self.reads.append(reply.text)
        counts = dict(each.split(": ") for each in reply.text.split(", ") if ": " in each)
        if counts.keys() != set(self.of) or not all(scale.holds(len(stars)) for stars in counts.values()):
            raise ReplyError("no_verdict", reply.text)
        return Reading(None, parts=tuple(PartReading(name, len(counts[name]), "stars") for name in self.of))

    def write(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  the protocol's
        return ", ".join(f"{part.name}: {'*' * round(part.value)}" for part in reading.parts)

    def score(self, reading: Reading, scale: Scale) -> float:
        return min(scale.score(part.value) for part in reading.parts)

    def schema(self, scale: Scale) -> dict[str, Any] | None:  # noqa: ARG002  the protocol's
        return None


@pytest.fixture
def stars(tmp_path: Path) -> Path:
    """A prompt file that leaves format and scale to the code."""
    path = tmp_path / "stars.prompty"
    path.write_text("---\nname: stars\n---\nGive stars to {{response}} for {{context}}", encoding="utf-8")
    return path


# --- asking and reading without a model ---------------------------------------------------------


@pytest.mark.parametrize("name", names())
def test_every_rubric_loads_without_a_model(name: str) -> None:
    rubric = load_rubric(name)
    assert rubric.name == name
    assert rubric.inputs == rubric.prompt.inputs


def test_a_rubric_asks_and_reads() -> None:
    rubric = load_rubric("groundedness")
    request = rubric.ask(ROW)
    assert request.rubric is rubric
    verdict = rubric.read(GOOD, ROW)
    assert (verdict.score, verdict.label, verdict.model) == (1, "grounded", None)
    with pytest.raises(CaseError, match="missing_field"):
        rubric.ask({"query": "When?"})


# --- a format of a user's own ---------------------------------------------------------------------


def test_a_format_of_ones_own_with_parts_gives_its_own_score(stars: Path) -> None:
    judge = load(
        stars, model=ScriptedModel("tone: ***, style: *"), reply=Stars(), scale=Scale(worst=1, best=5)
    )
    verdict = judge.judge(ROW)
    assert (verdict.score, verdict.value, verdict.passed) == (0, None, False)
    assert {part.name: (part.value, part.score) for part in verdict.parts} == {
        "tone": (3, 0.5),
        "style": (1, 0),
    }
    assert judge.score_names == ("stars", "stars_tone", "stars_style")
    assert [(one.name, one.score) for one in judge.scores(verdict)] == [
        ("stars", 0),
        ("stars_tone", 0.5),
        ("stars_style", 0),
    ]


def test_the_offline_baseline_writes_a_format_of_ones_own(stars: Path) -> None:
    judge = load(stars, model="offline", reply=Stars(), scale=Scale(worst=1, best=5, integer=True))
    assert judge.judge(ROW).score == 1
    assert judge.judge({**ROW, "response": "Elephants sing."}).score == 0


class NoFormat:
    part_names = ()

    def read(self, reply: Reply, scale: Scale) -> Reading:
        raise NotImplementedError


@pytest.mark.parametrize("candidate", [NoFormat(), NoFormat, "tags", 4])
def test_what_is_no_format_is_refused_with_what_it_lacks(stars: Path, candidate: Any) -> None:
    with pytest.raises(PromptError, match=r"is not a reply format, it lacks .*write") as caught:
        load_rubric(stars, reply=candidate, scale=TO_TEN)
    assert caught.value.code == "bad_reply_format"


# --- options --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ask", [load, as_judge, load_rubric])
@pytest.mark.parametrize(
    ("option", "nearest"),
    [
        ("treshold", "did you mean 'threshold'?"),
        ("Threshold", "did you mean 'threshold'?"),
        ("parameter", "did you mean 'parameters'?"),
        ("not_applicible", "did you mean 'not_applicable'?"),
        ("scales", "did you mean 'scale'?"),
        ("xyz", "The options are: "),
    ],
)
def test_an_unknown_option_is_refused_by_name(ask: Callable[..., Any], option: str, nearest: str) -> None:
    with pytest.raises(TypeError, match=f"unknown option '{option}'") as caught:
        ask("groundedness", **{option: 1})
    assert nearest in str(caught.value)
    assert "threshold" in str(caught.value)


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan"), "0.5", True])
def test_a_threshold_off_the_score_is_refused(threshold: Any) -> None:
    with pytest.raises(PromptError, match="threshold must lie on the score"):
        load_rubric("groundedness", threshold=threshold)


def test_levels_off_the_scale_are_refused() -> None:
    with pytest.raises(PromptError, match=r"levels, not_applicable: 1 is not on the scale 5\.\.10"):
        load_rubric("groundedness", scale=Scale(worst=5, best=10))


def test_options_replace_what_a_judge_has_and_add_parameters() -> None:
    judge = load("groundedness", model=ScriptedModel(GOOD), max_reasks=2, parameters={"seed": 1})
    other = as_judge(judge, threshold=0.9, parameters={"top_k": 3}, max_reasks=0)
    assert (other.rubric.threshold, other.max_reasks, other.model) == (0.9, 0, judge.model)
    assert other.rubric.prompt.parameters == {**judge.rubric.prompt.parameters, "top_k": 3}
    assert as_judge(judge) == judge
    assert as_judge(judge.rubric, "offline").model.name == "offline"
    assert as_judge("groundedness", "offline").rubric == load_rubric("groundedness")


def test_an_option_that_is_none_is_not_given() -> None:
    rubric = load_rubric("groundedness", threshold=0.9)
    unchanged = rubric.with_options(
        threshold=None, levels=None, scale=None, reply=None, not_applicable=None, parameters=None
    )
    assert unchanged == rubric
    assert unchanged.identity == rubric.identity


# --- identity -------------------------------------------------------------------------------------


VARIANTS: dict[str, Callable[[Rubric], Rubric]] = {
    "as it is": lambda rubric: rubric,
    "threshold": lambda rubric: rubric.with_options(threshold=0.75),
    "reply: another format": lambda rubric: rubric.with_options(reply=Banded()),
    "reply: another tag": lambda rubric: rubric.with_options(reply=Tags(value="S1", reason="S2")),
    "reply: a key of that name": lambda rubric: rubric.with_options(reply=Json(value="S1", reason="S2")),
    "reply: other names": lambda rubric: rubric.with_options(reply=Adjacent(("a", "b"))),
    "reply: names in another order": lambda rubric: rubric.with_options(reply=Adjacent(("b", "a"))),
    "reply: one's own": lambda rubric: rubric.with_options(reply=Stars()),
    "reply: one's own, otherwise": lambda rubric: rubric.with_options(reply=Stars(("mood",))),
    "scale": lambda rubric: rubric.with_options(scale=Scale(worst=0, best=5, integer=True)),
    "scale: the other way round": lambda rubric: rubric.with_options(
        scale=Scale(worst=5, best=1, integer=True)
    ),
    "scale: fractions": lambda rubric: rubric.with_options(scale=Scale(worst=1, best=5)),
    "levels": lambda rubric: rubric.with_options(levels={5: "splendid"}),
    "levels: none": lambda rubric: rubric.with_options(levels={}),
    "levels: another bound": lambda rubric: rubric.with_options(levels={4: "splendid"}),
    "not_applicable": lambda rubric: rubric.with_options(not_applicable=[]),
    "not_applicable: another": lambda rubric: rubric.with_options(not_applicable=[1]),
    "parameters": lambda rubric: rubric.with_options(parameters={"seed": 1}),
    "prompt": lambda rubric: replace(rubric, prompt=rubric.prompt.model_copy(update={"sha256": "0" * 64})),
    "name": lambda rubric: replace(rubric, prompt=rubric.prompt.model_copy(update={"name": "other"})),
}


@pytest.mark.parametrize(("one", "other"), list(combinations(VARIANTS, 2)))
def test_rubrics_that_could_read_one_reply_differently_have_different_identities(
    one: str, other: str
) -> None:
    first, second = (VARIANTS[name](load_rubric("groundedness")) for name in (one, other))
    assert first.identity != second.identity
    model = ScriptedModel(GOOD)
    assert Judge(first, model).key(ROW) != Judge(second, model).key(ROW)


@pytest.mark.parametrize("name", VARIANTS)
def test_the_same_rubric_has_the_same_identity(name: str) -> None:
    first, second = (VARIANTS[name](load_rubric("groundedness")) for _ in range(2))
    assert first.identity == second.identity


def test_a_verdict_read_by_another_format_is_not_taken_over() -> None:
    first = load("groundedness", model=ScriptedModel("<S1>5</S1><S2>1</S2>"))
    there = {verdict.key: verdict for verdict in run(first, [ROW])}
    second = as_judge(first, reply=Tags(value="S1", reason="S2"))
    (verdict,) = run(second, [ROW], previous=lambda judge, case: there.get(judge.key(case)))
    assert (next(iter(there.values())).value, verdict.value) == (1, 5)


# --- a reply is read once ---------------------------------------------------------------------------


@pytest.mark.parametrize("cached", [False, True])
def test_each_reply_is_read_once(stars: Path, tmp_path: Path, *, cached: bool) -> None:
    format_of_mine = Stars()
    answers = ScriptedModel("hm", "tone: **, style: **")
    model = CachedModel(answers, tmp_path / "replies.sqlite") if cached else answers
    judge = load(stars, model=model, reply=format_of_mine, scale=Scale(worst=1, best=5))
    judge.judge(ROW)
    assert format_of_mine.reads == ["hm", "tone: **, style: **"]


def test_a_reply_from_the_cache_is_read_once(stars: Path, tmp_path: Path) -> None:
    path, format_of_mine = tmp_path / "replies.sqlite", Stars()
    for model in (ScriptedModel("tone: **, style: **"), ScriptedModel("never asked")):
        judge = load(
            stars, model=CachedModel(model, path), reply=format_of_mine, scale=Scale(worst=1, best=5)
        )
        assert judge.judge(ROW).score == 0.25
    assert len(format_of_mine.reads) == 2


def test_an_outcome_serves_the_rubric_and_the_case_that_it_is_of_alone() -> None:
    rubric = load_rubric("groundedness")
    stricter = rubric.with_options(threshold=0.9)
    case = rubric.ask(ROW).case
    reply = replace(
        Reply("<S1>w</S1><S2>4</S2>"), outcome=rubric.outcome(Reply("<S1>w</S1><S2>4</S2>"), case)
    )
    assert rubric.verdict(reply, case).passed
    assert not stricter.verdict(reply, case).passed


# --- never raising --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "answer", "code"),
    [
        (ROW, "no verdict here", "no_verdict"),
        ({"query": "When?"}, GOOD, "missing_field"),
        ({"query": 4, "response": "r", "context": "c"}, GOOD, "field_unreadable"),
        (ROW, ZeroDivisionError("oh"), "unexpected"),
        (ROW, KeyError("oh"), "unexpected"),
    ],
)
async def test_evaluate_never_raises(row: Any, answer: Any, code: str) -> None:
    judge = load("groundedness", model=ScriptedModel(answer))
    for verdict in (judge.evaluate(row), await judge.aevaluate(row)):
        assert (verdict.status, verdict.score, verdict.judge) == ("error", None, "groundedness")
        assert verdict.error is not None
        assert verdict.error.code == code
        assert verdict.prompt == judge.rubric.prompt.id
        json.dumps(verdict.model_dump(mode="json"), allow_nan=False)


def test_formats_are_formats() -> None:
    formats: list[Format] = [Stars(), Tags(), Json(), Banded(), Adjacent()]
    assert all(isinstance(each, Format) for each in formats)
