"""The judges that the options of a command ask for: who of them votes, and who is asked after whom."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from groundjudge.case.fields import FIELD_NAMED
from groundjudge.cli.options import MODELS_HELP, fail_if_several
from groundjudge.cli.screen import fail
from groundjudge.judging.cascade import Bounds, By
from groundjudge.judging.cascade import cascade as make_cascade
from groundjudge.judging.judge import Judge
from groundjudge.judging.load import as_judge, load
from groundjudge.judging.panel import AnyJudge, Rule, Stop, panel, repeat_judge
from groundjudge.models.cached import CachedModel
from groundjudge.models.lookup import as_model
from groundjudge.prompt.front_matter import REQUEST_PARAMETERS
from groundjudge.rubric.load import names
from groundjudge.rubric.model import Model
from groundjudge.rubric.options import EmptyResponse, RubricOptions, Structured
from groundjudge.runs.run import find_duplicate

MAKE_VOTES = "--rule and --stop are about votes: add --repeats N, or --panel"
MAKE_PANEL = "several --model: add --panel to let them vote, or run the command once for each"
NAME_JUDGES = "--panel with one --model: the judges vote, so name two or more --judge, or add another --model"
USE_REPEATS = "--panel needs several --model or --judge: to ask one judge several times, use --repeats N"
MAKE_CASCADE = "{} is about a cascade: add --cascade MODEL, the cheaper model that is asked first"
ADD_BOUNDS = "--cascade: add --until LOW,HIGH, as `groundjudge calibrate --cascade` finds them"
NO_VOTES = "--cascade and {} exclude each other: in a cascade one verdict stands, and nobody votes"
ONE_MODEL = "--cascade: name one --model, which is asked last; cheaper ones are named with --cascade too"
ONE_JUDGE = "--cascade: name one --judge, because bounds are found for one judge"

NOT_PARAMETERS = {
    "model": "the model is named with --model",
    "messages": "the messages are those of the prompt file",
}
"""What requests hold beside their parameters, and where it comes from."""

NO_BOUND = "none"
"""What stands for an end at which no verdict of a cascade's cheaper model stands."""


@dataclass(frozen=True)
class JudgeSelection:
    """The judges that the options ask for; the state of a submitted run keeps them by these names.

    Attributes:
        judge: names or prompt files; none: all built-in judges.
        model: the models' names.
        repeats: how many times each judge votes; None: it is asked once.
        panel: whether the models vote; if there is only one, the judges do.
        rule: how the scores of the votes become one; None: the default.
        weighted: whether the score is the mean over the probabilities of the values, or that of the value
            alone; None: what the prompt file says.
        structured: when the schema of a JSON format is sent; None: the default.
        empty_response: what becomes of a row whose response is missing or blank.
        no_tool_titles: whether titles do not make a document a tool result.
        may_be_empty: the inputs that may be blank, of each judge that has them.
        threshold: the lowest score that passes; None: what the prompt file says.
        parameters: assignments NAME=VALUE, for parameters of the requests.
        cascade: the models that are asked before `model`, the cheapest first.
        until: the bounds of these, as LOW,HIGH: one pair, or one for each.
        until_by: what bounds are compared with; None: the default.
        not_applicable_stands: whether "not applicable" of these may stand.
    """

    judge: list[str] | None = None
    model: list[str] | None = None
    repeats: int | None = None
    panel: bool = False
    rule: Rule | None = None
    weighted: bool | None = None
    structured: Structured | None = None
    empty_response: EmptyResponse = "error"
    no_tool_titles: bool = False
    may_be_empty: list[str] | None = None
    threshold: float | None = None
    parameters: list[str] | None = None
    cascade: list[str] | None = None
    until: list[str] | None = None
    until_by: By | None = None
    not_applicable_stands: bool = False

    @property
    def names(self) -> list[str]:
        """The judges' names, each once."""
        if not self.judge:
            return names()
        # A judge that is named twice is asked once; votes are asked for with --repeats.
        return list(dict.fromkeys(self.judge))

    @property
    def prompt_files(self) -> list[tuple[str, str]]:
        """The judges that are prompt files, as inputs for `check_files`."""
        return [("the prompt file of a judge", name) for name in self.names if name not in names()]

    def judges(
        self,
        stop: Stop | None = None,
        *,
        in_batches: bool = False,
        cache: str | None = None,
        model_of: Callable[[str], Model] | None = None,
    ) -> list[AnyJudge]:
        """Load the judges: one for each name, or one panel of several prompts.

        Exit if the options contradict each other, or if it is not clear who is to vote or is asked first.

        Args:
            stop: when to stop asking for votes; None: the default.
            in_batches: whether they are asked in batches, which ask for all votes at once.
            cache: a file that keeps the models' replies; None for no such file.
            model_of: makes a model of its name; None: as `load` does.

        Raises:
            PromptError, ModelError: as for `load` and `panel`.
        """
        self._check_cascade()
        self._check_votes(stop)
        models = self._models(model_of)
        if cache:
            models = [CachedModel(model, cache) for model in models]
        judges = self._voters(models, "never" if in_batches else stop)
        # Two prompt files may have one name inside, and summaries are by name.
        duplicate = find_duplicate(judge.name for judge in judges)
        if duplicate:
            fail(f"--judge: two judges have the name {duplicate!r}: change `name` in one of the prompt files")
        return judges

    def _check_votes(self, stop: Stop | None) -> None:
        """Exit if there is no model, or if the options do not say clearly who votes."""
        models = self.model or []
        # `--model=` gives the empty name, which is what an unset variable in a script leaves.
        if not models or "" in models:
            fail(f"no model given: add --model, which can be {MODELS_HELP}")
        if self.panel and self.repeats:
            fail("--panel and --repeats are two ways to vote: use one of them")
        if (self.rule or stop) and not (self.panel or self.repeats):
            fail(MAKE_VOTES)
        if len(models) > 1 and not self.panel and not self.cascade:
            fail(MAKE_PANEL)
        # All built-in judges would be one panel, and they answer on different scales.
        if self._judges_vote and not self.judge:
            fail(NAME_JUDGES)
        if self._judges_vote and len(self.names) == 1:
            fail(USE_REPEATS)

    def _check_cascade(self) -> None:
        """Exit if the options do not say clearly which model is asked after which."""
        uses = {
            "--until": self.until is not None,
            "--until-by": self.until_by is not None,
            "--not-applicable-stands": self.not_applicable_stands,
        }
        if not self.cascade:
            for option, is_used in uses.items():
                if is_used:
                    fail(MAKE_CASCADE.format(option))
            return
        if "" in self.cascade:
            fail(f"--cascade: no model given: it can be {MODELS_HELP}")
        if self.panel or self.repeats:
            fail(NO_VOTES.format("--panel" if self.panel else "--repeats"))
        if not self.until:
            fail(ADD_BOUNDS)
        if len(self.model or ()) > 1:
            fail(ONE_MODEL)
        if not self.judge or len(self.names) > 1:
            fail(ONE_JUDGE)

    @property
    def _judges_vote(self) -> bool:
        """Whether the votes of a panel come from several prompts, and not from several models."""
        return self.panel and len(self.model or ()) <= 1

    def _models(self, model_of: Callable[[str], Model] | None) -> list[Model]:
        """Make the models of their names. Exit if two of them have one name."""
        if model_of is None:
            model_of = as_model
        model_names = [*(self.cascade or ()), *(self.model or ())]
        models = [model_of(name) for name in model_names]
        # Votes and verdicts are told apart by the names of models.
        duplicate = find_duplicate(model.name for model in models)
        if duplicate:
            if self.cascade:
                fail(f"--cascade: {duplicate!r} is named twice, and would only be asked again: leave one out")
            remedy = "to ask one model several times, use --repeats"
            fail(f"--model: two models have the name {duplicate!r}: {remedy}")
        return models

    def _voters(self, models: Sequence[Model], stop: Stop | None) -> list[AnyJudge]:
        """Load each judge with each model, and make one judge or one panel of those that belong together."""
        groups: list[list[Judge]] = []
        for name in self.names:
            judges = [load(name, model=model, **self._rubric_options()) for model in models]
            groups.append([self._with_blank_inputs(judge) for judge in judges])
        self._check_blank_inputs(groups)
        if self._judges_vote:
            groups = [[judge for (judge,) in groups]]
        if self.cascade:
            until = [_read_bounds(text) for text in self.until or ()]
            (group,) = groups
            single_cascade = make_cascade(
                group,
                until=until[0] if len(until) == 1 else until,
                by="score" if self.until_by is None else self.until_by,
                not_applicable_stands=self.not_applicable_stands,
            )
            return [single_cascade]
        # What was not given is left to the panel's own defaults.
        votes: dict[str, Any] = {}
        if self.rule is not None:
            votes["rule"] = self.rule
        if stop is not None:
            votes["stop"] = stop
        if self.panel:
            return [panel(group, **votes) for group in groups]
        # Without --panel there is one model, so that each group is one judge.
        judges = [judge for (judge,) in groups]
        if not self.repeats:
            return list(judges)
        return [repeat_judge(judge, self.repeats, **votes) for judge in judges]

    def _with_blank_inputs(self, judge: Judge) -> Judge:
        """Let those inputs of a judge be blank that --may-be-empty names; it need not have all of them."""
        names_of_judge = [name for name in self.may_be_empty or () if _has_input(judge, name)]
        return as_judge(judge, may_be_empty=names_of_judge)

    def _check_blank_inputs(self, groups: Sequence[Sequence[Judge]]) -> None:
        """Exit if --may-be-empty names what no judge has."""
        judges = [group[0] for group in groups]
        inputs: dict[str, None] = {}
        for judge in judges:
            inputs.update(dict.fromkeys(prompt_input.name for prompt_input in judge.inputs))
        for name in self.may_be_empty or ():
            if not name:  # what an unset variable in a script leaves
                fail(f"--may-be-empty: no input named; there are: {', '.join(inputs)}")
            if not any(_has_input(judge, name) for judge in judges):
                fail(f"--may-be-empty {name}: no judge has that input; there are: {', '.join(inputs)}")

    def _rubric_options(self) -> RubricOptions:
        """The options of the rubrics; what was not given is left to the prompt file."""
        return {
            "weighted": self.weighted,
            "structured": self.structured,
            "empty_response": self.empty_response,
            "tool_titles": not self.no_tool_titles,
            "threshold": self.threshold,
            "parameters": self._request_parameters(),
        }

    def _request_parameters(self) -> dict[str, Any]:
        """Read the parameters of the requests. Exit if one is malformed, or would have all votes alike."""
        parameters: dict[str, Any] = {}
        for assignment in self.parameters or ():
            name, equals, text = assignment.partition("=")
            name = name.strip()
            if not name or not equals:
                fail(f"--parameter {assignment}: expected NAME=VALUE, such as --parameter temperature=0")
            fail_if_several("--parameter", assignment, REQUEST_PARAMETERS.__contains__)
            if name in parameters:
                fail(f"--parameter {assignment}: {name} is given twice: leave one out")
            if name in NOT_PARAMETERS:
                fail(f"--parameter {assignment}: {NOT_PARAMETERS[name]}")
            try:
                parameters[name] = json.loads(text, parse_constant=str)  # NaN, which is not JSON, is a text
            except ValueError:
                parameters[name] = text
        if self.repeats and parameters.get("temperature") == 0:
            fail("--parameter temperature=0 with --repeats: 0 would repeat one reply: leave it out for 0.7")
        return parameters


def _has_input(judge: Judge, name: str) -> bool:
    """Whether a judge has an input, by the name of its field, an alias of that, or its placeholder."""
    field = FIELD_NAMED.get(name, name)
    return any(prompt_input.field == field for prompt_input in judge.inputs)


def _read_bounds(text: str) -> Bounds:
    """Read LOW,HIGH. Exit if it is something else."""
    low, comma, high = text.partition(",")
    if not comma or "," in high:
        fail(f"--until {text}: expected LOW,HIGH, such as --until 0.1,0.9, or --until none,0.9")
    return _read_bound(low, text), _read_bound(high, text)


def _read_bound(text: str, bounds: str) -> float | None:
    text = text.strip()
    if text == NO_BOUND:
        return None
    try:
        return float(text)
    except ValueError:
        fail(f"--until {bounds}: {text!r} is neither a number nor {NO_BOUND!r}")
