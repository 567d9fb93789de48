"""LangSmith's own evaluators with a decision model: LangSmith asks a judge's questions on its servers.

    online_evaluator("groundedness", project_id="...", variable_mapping={"query": "inputs.question"})

To judge with everything that this library does, use `groundjudge.adapters.langsmith.evaluator`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from groundjudge.decisions.questionnaire import Questionnaire, questionnaire_of
from groundjudge.errors import PromptError, did_you_mean, refusals, requires
from groundjudge.rubric.load import load_rubric
from groundjudge.rubric.rubric import Rubric
from groundjudge.verdict import score_names

with requires("groundjudge.adapters.langsmith_online needs LangSmith", "langsmith"):
    from langsmith import Client
    from langsmith.types import Evaluator, EvaluatorCreateDecisionModelParams
    from langsmith.utils import LangSmithError

__all__ = ["online_evaluator"]

Provider: TypeAlias = Literal["openai_decisions", "typesafe", "typesafe_compatible"]
"""The services that answer the questions of an evaluator that LangSmith runs."""

NO_KEY = "the client has no key: set LANGSMITH_API_KEY, or pass client=langsmith.Client(api_key=...)"

ROOTS = {"response": "outputs", "context": "outputs", "reference": "reference_outputs"}
"""Where LangSmith finds fields of a case in a run; the others are in the inputs."""


def online_evaluator(  # noqa: PLR0913  what LangSmith needs
    judge: str | Path | Rubric,
    *,
    project_id: str | None = None,
    dataset_id: str | None = None,
    variable_mapping: Mapping[str, str] | None = None,
    provider: Provider = "openai_decisions",
    client: Client | None = None,
    **settings: Any,  # noqa: ANN401  those of LangSmith
) -> Evaluator:
    """Let LangSmith judge the runs of a project or of a dataset's experiments, with a decision model.

    LangSmith asks the judge's questions itself, on its servers; this library does not run there. You lose
    evidence, error codes, reasons, and the scale from 0 to 1. A question with labels gives the most probable
    label, and one with levels their expected position, from 0.

    Args:
        judge: the name of a judge, the path of a prompt file, or a rubric. Its questions must be those of one
            prompt, and its inputs texts or documents: `statement_groundedness`, which asks about each
            sentence, and inputs of messages only (`conversation`) are refused.
        project_id: the id of the tracing project whose runs are judged.
        dataset_id: the id of the dataset whose experiments are judged.
        variable_mapping: an input of the judge -> where LangSmith finds it in a run, such as
            `{"query": "inputs.question"}`. By default `outputs` has the response and the context,
            `reference_outputs` the reference, and `inputs` all others, under their own names.
        provider: "openai_decisions"; "typesafe", or "typesafe_compatible" with a `base_url`.
        client: a `langsmith.Client`, which says where the evaluator is created, and with which key; by
            default the environment decides.
        settings: LangSmith's other settings of a decision-model evaluator: model, base_url, sampling_rate,
            filter, display_name, ...

    Returns:
        LangSmith's evaluator. Its name has the judge's version and hash; its feedback keys are the names of
        the judge's scores.

    Raises:
        PromptError: `not_hosted`: LangSmith cannot ask this judge's questions, the mapping names something
            that is not an input, or you did not pass exactly one of `project_id` and `dataset_id`.
        TypeError: LangSmith has no setting with that name, or `client` is another object.
        GroundjudgeError: `langsmith_refused`: the API refuses, or cannot be reached.
    """
    known_settings = EvaluatorCreateDecisionModelParams.__annotations__
    for name in settings:
        if name not in known_settings:
            message = f"LangSmith's evaluators have no setting {name!r}{did_you_mean(name, known_settings)}"
            raise TypeError(message)
    rubric = judge if isinstance(judge, Rubric) else load_rubric(judge)
    questionnaire = questionnaire_of(rubric)
    if (project_id is None) == (dataset_id is None):
        raise PromptError("not_hosted", "pass either project_id or dataset_id", "project_id")
    paths = _paths_of(rubric, variable_mapping or {})
    human = "\n".join(f"<{name}>\n{{{{{name}}}}}\n</{name}>" for name in paths)
    prompt = rubric.prompt.id
    hosted: dict[str, Any] = {
        "display_name": f"{prompt.name} {prompt.version} {prompt.sha256[:12]}",
        "prompt": [["system", questionnaire.rules], ["human", human]],
        "questions": _hosted_questions(rubric, questionnaire),
        "template_format": "mustache",
        "variable_mapping": paths,
        "provider": provider,
    }
    if project_id is not None:
        hosted["session_id"] = project_id
    else:
        hosted["dataset_id"] = dataset_id
    hosted.update(settings)
    if client is None:
        client = Client(auto_batch_tracing=False)  # it traces nothing, so it needs no thread that could
    elif not isinstance(client, Client):  # pyright: ignore[reportUnnecessaryIsInstance]
        message = f"client must be a langsmith.Client, not a {type(client).__name__}"
        raise TypeError(message)
    # The SDK has a method for this only in a class that reads its URL from LANGCHAIN_BASE_URL, and would send
    # the key and the rules to LangSmith's cloud regardless of LANGSMITH_ENDPOINT.
    untyped: Any = client
    with refusals(LangSmithError, "langsmith_refused", "" if client.api_key else NO_KEY):
        response = untyped.request_with_retries("POST", "/api/v1/runs/rules/decision-models", json=hosted)
    return Evaluator.construct(None, **response.json())


def _paths_of(rubric: Rubric, mapping: Mapping[str, str]) -> dict[str, str]:
    """Return where LangSmith finds each input in a run: `{"query": "inputs.query"}` without a mapping."""
    paths: dict[str, str] = {}
    for prompt_input in rubric.inputs:
        name = prompt_input.name
        if prompt_input.field == "conversation":
            fault = "its conversation is a list of messages, which LangSmith would show as text"
            raise PromptError("not_hosted", f"{rubric.name}: {fault}: use `evaluator`", name)
        paths[name] = f"{ROOTS.get(prompt_input.field, 'inputs')}.{name}"
    for name, path in mapping.items():
        if name not in paths:
            fault = f"variable_mapping: {name!r} is not an input of {rubric.name}{did_you_mean(name, paths)}"
            raise PromptError("not_hosted", f"{fault}; its inputs are: {', '.join(paths)}", name)
        paths[name] = path
    return paths


def _hosted_questions(rubric: Rubric, questionnaire: Questionnaire) -> dict[str, dict[str, Any]]:
    """Return the questions of a judge in LangSmith's form, by the names of the judge's scores.

    As in `{"groundedness": {"type": "score", "instructions": "...", "levels": ["...", "..."]}}`.
    """
    if questionnaire.sentence is not None:
        fault = "it asks about each sentence of a response, and LangSmith has one prompt for all questions"
        raise PromptError("not_hosted", f"{rubric.name}: {fault}: use `evaluator`", rubric.name)
    names = score_names(rubric.name, rubric.format.part_names)
    questions: dict[str, dict[str, Any]] = {}
    for question in questionnaire.questions:
        hosted: dict[str, Any] = {"type": question.type, "instructions": question.instructions}
        options = question.options
        if question.type == "choice":
            hosted["options"] = {option.label or option.name: option.description for option in options}
        else:
            # Levels have names only there: the situation is the name.
            hosted["levels"] = [option.description for option in options]
        # The question of a judge with one value has the id "verdict", which is not the name of a score.
        questions[names.get(question.id, rubric.name)] = hosted
    return questions
