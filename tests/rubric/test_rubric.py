"""Rubrics ask and read without a model, take options, and have an identity."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from any_options import load_one
from formatter import sure
from read_replies import YES
from scripted_model import NamedModel, ScriptedModel

from groundjudge import PromptError, Reply, ReplyError, Scale, as_judge, load, load_rubric, run
from groundjudge.models.cached import CachedModel
from groundjudge.replies import (
    Adjacent,
    Banded,
    Expectation,
    Format,
    Json,
    Numbered,
    PartReading,
    Reading,
    Scorecard,
    Tags,
)
from groundjudge.rubric.options import declared_options
from groundjudge.rubric.settings import ADDED_TO_PROMPT
from groundjudge.types import Judge, Rubric, RubricOptions

ROW = {"query": "When?", "context": "It opens at nine.", "response": "It opens at nine."}
GOOD = f"<S1>fine</S1>{sure(5)}"
ASKED = Expectation()
TO_TEN = Scale(worst=0, best=10)


@dataclass(frozen=True)
class Stars(Format):
    """A custom format with parts: `tone: ***, style: *`."""

    names: tuple[str, ...] = ("tone", "style")
    reads: list[str] = field(default_factory=list[str], compare=False, repr=False)

    @property
    def part_names(self) -> tuple[str, ...]:
        return self.names

    def read_reply(self, reply: Reply, scale: Scale, expectation: Expectation = ASKED) -> Reading:  # noqa: ARG002
        self.reads.append(reply.text)
        counts = dict(entry.split(": ") for entry in reply.text.split(", ") if ": " in entry)
        if counts.keys() != set(self.names) or not all(scale.holds(len(stars)) for stars in counts.values()):
            raise ReplyError("no_verdict", reply.text)
        parts = (PartReading(name, len(counts[name]), "stars") for name in self.names)
        return Reading(None, parts=tuple(parts))

    def write_reply(self, reading: Reading) -> str:
        return ", ".join(f"{part.name}: {'*' * round(part.value or 0)}" for part in reading.parts)

    def score(self, reading: Reading, scale: Scale) -> float:
        return min(scale.score(part.value or 0) for part in reading.parts)


@pytest.fixture
def stars(tmp_path: Path) -> Path:
    """A prompt file that leaves format and scale to the code."""
    path = tmp_path / "stars.prompty"
    path.write_text(
        "---\nname: stars\noffline: groundedness\n---\nGive stars to {{response}} for {{context}}",
        encoding="utf-8",
    )
    return path


# --- custom formats -------------------------------------------------------------------------------


def test_custom_format_with_parts_computes_the_score(stars: Path) -> None:
    model = ScriptedModel("tone: ***, style: *")
    judge = load(stars, model=model, reply=Stars(), scale=Scale(worst=1, best=5))
    verdict = judge.judge(ROW)
    assert (verdict.score, verdict.value, verdict.passed) == (0, None, False)
    parts = [(part.name, part.value, part.score, part.reason) for part in verdict.parts]
    assert parts == [("tone", 3, 0.5, "stars"), ("style", 1, 0, "stars")]
    expected_scores = [("stars", 0), ("stars_tone", 0.5), ("stars_style", 0)]
    assert [(score.name, score.score) for score in judge.scores(verdict)] == expected_scores
    assert judge.score_names == tuple(name for name, _ in expected_scores)


def test_offline_judge_writes_a_custom_format(stars: Path) -> None:
    judge = load(stars, model="offline", reply=Stars(), scale=Scale(worst=1, best=5, integer=True))
    assert judge.judge(ROW).score == 1
    assert judge.judge({**ROW, "response": "Elephants sing."}).score == 0


@dataclass(frozen=True)
class Derived(Format):
    """A custom format that takes what it does not need from the base: `***`."""

    def read_reply(self, reply: Reply, scale: Scale, expectation: Expectation = ASKED) -> Reading:  # noqa: ARG002
        return Reading(float(len(reply.text)))

    def write_reply(self, reading: Reading) -> str:
        return "*" * round(reading.value or 0)


def test_custom_format_that_derives_from_the_base_needs_to_read_and_to_write(stars: Path) -> None:
    scale = Scale(worst=1, best=5, integer=True)
    judge = load(stars, model=ScriptedModel("****"), reply=Derived(), scale=scale, structured="always")
    assert (judge.judge(ROW).score, judge.score_names) == (0.75, ("stars",))
    assert load(stars, model="offline", reply=Derived(), scale=scale).judge(ROW).score == 1
    with pytest.raises(TypeError, match="read_reply"):
        type("Unable", (Format,), {"write_reply": Derived.write_reply})()


class Incomplete:
    part_names = ()

    def read_reply(self, reply: Reply, scale: Scale, expectation: Expectation = ASKED) -> Reading:
        raise NotImplementedError


@pytest.mark.parametrize(
    "candidate", [Incomplete(), Incomplete, "tags", 4], ids=["object", "class", "name", "number"]
)
def test_object_that_is_not_a_format_is_refused_with_its_missing_members(stars: Path, candidate: Any) -> None:
    with pytest.raises(PromptError, match=r"is not a reply format: it lacks .*write") as caught:
        load_rubric(stars, reply=candidate, scale=TO_TEN)
    assert caught.value.code == "bad_reply_format"


# --- levels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("levels", "scale"),
    [
        pytest.param({1: "bad"}, Scale(worst=1, best=5), id="one level at the low end"),
        pytest.param({1: "good", 3: "bad"}, Scale(worst=5, best=1), id="a scale whose best is its lowest"),
    ],
)
def test_levels_that_leave_values_without_a_label_are_refused(levels: Any, scale: Scale) -> None:
    with pytest.raises(
        PromptError, match=r"bad_levels: .* values above \d have no label: end the last level at 5"
    ):
        load_rubric("groundedness", levels=levels, scale=scale, not_applicable=[], weighted=False)
    all_levels: Any = {**levels, 5: "the last"}
    rubric = load_rubric("groundedness", levels=all_levels, scale=scale, not_applicable=[], weighted=False)
    assert rubric.levels == all_levels


# --- options --------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [load, as_judge, load_rubric])
@pytest.mark.parametrize(
    ("option", "nearest"),
    [
        pytest.param("treshold", "did you mean 'threshold'?", id="a near one"),
        pytest.param("xyz", "The options are: ", id="one that is near none"),
    ],
)
def test_unknown_option_is_refused_by_name(function: Callable[..., Any], option: str, nearest: str) -> None:
    with pytest.raises(TypeError, match=f"unknown option '{option}'") as caught:
        function("groundedness", **{option: 1})
    assert nearest in str(caught.value)
    options = str(caught.value).partition("The options are: ")[2]
    assert re.fullmatch(r"(\w+, ){9}\w+ and \d+ more", options)
    assert option == "xyz" or options.startswith("threshold, ")


@pytest.mark.parametrize("function", [load, as_judge, load_rubric])
@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        pytest.param(
            "temperature",
            0,
            "it is a parameter of the model's request, so pass parameters={'temperature': 0}",
            id="a parameter",
        ),
        pytest.param("logit_bias", {1: 2}, "so pass parameters={'logit_bias': ...}", id="a long value"),
        pytest.param("temprature", 0.5, "did you mean parameters={'temperature': 0.5}?", id="misspelt"),
        pytest.param(
            "max_token", 9, "did you mean parameters={'max_tokens': 9}?", id="nearer than max_reasks"
        ),
        pytest.param("top_titles", 1, "did you mean 'tool_titles'?", id="an option that is nearer"),
    ],
)
def test_parameter_of_the_request_is_said_to_belong_into_parameters(
    function: Callable[..., Any], option: str, value: Any, message: str
) -> None:
    with pytest.raises(TypeError, match=re.escape(f"unknown option {option!r}") + ".*" + re.escape(message)):
        function("groundedness", **{option: value})


def test_parameter_of_the_request_in_a_run_belongs_to_load() -> None:
    options: Any = {"temperature": 0}
    with pytest.raises(TypeError, match=r"pass parameters=\{'temperature': 0\} to load\(\)"):
        run(load("groundedness", model="offline"), [], **options)


@pytest.mark.parametrize("threshold", [-0.1, 1.1, 3, float("nan"), "0.5", True])
def test_threshold_out_of_range_is_refused(threshold: Any) -> None:
    with pytest.raises(PromptError, match="threshold must be a score from 0 to 1"):
        load_rubric("groundedness", threshold=threshold)


@pytest.mark.parametrize(
    "scale",
    [Scale(worst=1, best=5), Scale(worst=5, best=1), Scale(worst=0, best=-2), Scale(worst=-2, best=2)],
    ids=str,
)
def test_the_ends_of_a_scale_score_0_and_1_without_a_sign(scale: Scale) -> None:
    assert (str(scale.score(scale.worst)), scale.score(scale.best)) == ("0.0", 1)


@pytest.mark.parametrize("scale", [Scale(worst=5, best=10), YES], ids=["other numbers", "labels"])
def test_levels_outside_the_scale_are_refused(scale: Scale) -> None:
    with pytest.raises(PromptError, match=r"levels, not_applicable: 1 is not on the scale "):
        load_rubric("groundedness", scale=scale)


def test_options_replace_those_of_a_judge_and_parameters_are_added() -> None:
    judge = load("groundedness", model=ScriptedModel(GOOD), max_reasks=2, parameters={"seed": 1})
    other = as_judge(judge, threshold=0.9, parameters={"top_k": 3}, max_reasks=0)
    assert (other.rubric.threshold, other.max_reasks, other.model) == (0.9, 0, judge.model)
    assert other.rubric.prompt.parameters == {**judge.rubric.prompt.parameters, "top_k": 3}
    assert as_judge(judge) == judge
    assert as_judge(judge.rubric, "offline").model.name == "offline"
    assert as_judge("groundedness", "offline").rubric == load_rubric("groundedness")


def test_option_that_is_none_changes_nothing() -> None:
    rubric = load_rubric("groundedness", threshold=0.9)
    none: dict[str, Any] = dict.fromkeys(RubricOptions.__annotations__)
    unchanged = rubric.with_options(**none)
    assert unchanged == rubric
    assert unchanged.identity == rubric.identity


# --- identity -------------------------------------------------------------------------------------


OPTIONS: dict[str, RubricOptions] = {
    "unchanged": {},
    "threshold": {"threshold": 0.75},
    "reply: another format": {"reply": Banded()},
    "reply: another tag": {"reply": Tags(value="S1", reason="S2")},
    "reply: keys with the names of the tags": {"reply": Json(value="S1", reason="S2")},
    "reply: other names": {"reply": Adjacent(("a", "b"))},
    "reply: names in another order": {"reply": Adjacent(("b", "a"))},
    "reply: sentences that are copied": {"reply": Scorecard()},
    "reply: custom": {"reply": Stars()},
    "reply: custom, with other names": {"reply": Stars(("mood",))},
    "scale": {"scale": Scale(worst=0, best=5, integer=True)},
    "scale: reversed": {"scale": Scale(worst=5, best=1, integer=True)},
    "levels": {"levels": {5: "splendid"}},
    "not_applicable": {"not_applicable": []},
    "parameters": {"parameters": {"seed": 1}},
}


def variants() -> dict[str, Rubric]:
    rubric = load_rubric("groundedness")
    changed = {name: rubric.with_options(**options) for name, options in OPTIONS.items()}
    for update in ({"sha256": "0" * 64}, {"name": "other"}):
        changed[str(update)] = replace(rubric, prompt=rubric.prompt.model_copy(update=update))
    return changed


def test_rubrics_that_could_read_differently_have_different_identities() -> None:
    rubrics = variants()
    keys = {name: Judge(rubric, ScriptedModel(GOOD)).key(ROW) for name, rubric in rubrics.items()}
    for first, second in combinations(rubrics, 2):
        assert rubrics[first].identity != rubrics[second].identity, (first, second)
        assert keys[first] != keys[second], (first, second)


def test_sentences_by_number_and_copied_ones_have_different_identities() -> None:
    by_number = load_rubric("statement_groundedness")
    others: list[RubricOptions] = [{"reply": Scorecard()}, {"passes": "weakest"}]
    identities = {by_number.with_options(**options).identity for options in others}
    assert len({by_number.identity, *identities}) == 3
    assert by_number.with_options(reply=Numbered()).identity == by_number.identity


def test_equal_rubrics_have_the_same_identity() -> None:
    first = {name: rubric.identity for name, rubric in variants().items()}
    second = {name: rubric.identity for name, rubric in variants().items()}
    assert first == second
    format_ = Stars(reads=["tone: **"])  # which is not compared
    assert load_rubric("groundedness", reply=format_).identity == first["reply: custom"]


# --- replies are read once --------------------------------------------------------------------------


def test_each_reply_is_read_once_and_a_cached_one_once_again(stars: Path, tmp_path: Path) -> None:
    format_, replies = Stars(), ["hm", "tone: **, style: **"]
    options: dict[str, Any] = {"reply": format_, "scale": Scale(worst=1, best=5)}
    cached = [("one", replies), ("other", replies[1:]), ("other", ["never asked"])]
    models = [CachedModel(NamedModel(*script), tmp_path / name) for name, script in cached]
    for model in (NamedModel(*replies), *models):
        assert load_one(stars, model=model, **options).judge(ROW).score == 0.25
    assert format_.reads == [*replies, *replies, replies[1], replies[1]]


# --- evaluate -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "answer", "code"),
    [
        pytest.param(ROW, "no verdict here", "no_verdict", id="reply that cannot be read"),
        pytest.param({"response": "At nine."}, GOOD, "missing_field", id="case that lacks a field"),
        pytest.param(ROW, KeyError("oh"), "unexpected", id="model that raises what it must not"),
    ],
)
async def test_evaluate_returns_an_error_verdict_instead_of_raising(row: Any, answer: Any, code: str) -> None:
    judge = load("groundedness", model=ScriptedModel(answer))
    for verdict in (judge.evaluate(row), await judge.aevaluate(row)):
        assert (verdict.status, verdict.score, verdict.judge) == ("error", None, "groundedness")
        assert verdict.error is not None
        assert verdict.error.code == code
        assert verdict.prompt == judge.rubric.prompt.id
        json.dumps(verdict.model_dump(mode="json"), allow_nan=False)


WRONG: dict[str, list[object]] = {
    "parameters": ["x", ["temperature"], [("temperature", 1)]],
    "levels": ["x", {"a": "b"}, {1: 5}],
    "not_applicable": ["x", [None], ["3"], {3}],
    "may_be_empty": [5, True],
    "optional": [5, {"query": 1}],
    "weighted": ["no", 1],
    "tool_titles": ["no", 0],
    "threshold": ["x", [0.5]],
    "passes": [5],
    "structured": [True],
    "empty_response": [None.__class__],
    "scale": ["1..5", {"choices": {"yes": 1, "no": 0}}],
    "reply": ["tags", {"format": "tags"}],
}


@pytest.mark.parametrize(("option", "values"), WRONG.items(), ids=WRONG)
def test_a_value_of_the_wrong_kind_names_its_option(option: str, values: list[object]) -> None:
    for value in values:
        with pytest.raises((TypeError, PromptError), match=rf"^(\w+: )?{option}\b.*(must|is not)"):
            load_rubric("groundedness", **{option: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("more", [{}, {"repeats": 3}], ids=["a judge", "repeats"])
@pytest.mark.parametrize(
    ("option", "value"), [("parameters", "x"), ("max_reasks", -1), ("max_reasks", 1.5), ("max_reasks", True)]
)
def test_a_judge_names_the_option_too(option: str, value: object, more: dict[str, int]) -> None:
    with pytest.raises(TypeError, match=f"^{option} must be "):
        load("groundedness", model="offline", **{option: value}, **more)  # type: ignore[call-overload]


def test_every_option_of_a_rubric_changes_one_of_its_fields_or_its_prompt() -> None:
    taken = {*ADDED_TO_PROMPT, "reply", *(setting.name for setting in fields(Rubric))}
    assert declared_options(RubricOptions).keys() <= taken
