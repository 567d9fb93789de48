"""Types for annotations: what the functions of groundjudge take and give besides cases and verdicts."""

from groundjudge.judging.cascade import Cascade
from groundjudge.judging.judge import Judge
from groundjudge.judging.load import JudgeOptions, PanelOptions
from groundjudge.judging.panel import AnyJudge, Panel
from groundjudge.models.lookup import ModelOptions
from groundjudge.prompt.prompt import Prompt
from groundjudge.rubric.model import Model
from groundjudge.rubric.options import RubricOptions
from groundjudge.rubric.rubric import Request, Rubric
from groundjudge.runs.cost import Estimate
from groundjudge.runs.summary import Summary
from groundjudge.verdict import Citation, Evidence, Failure, NamedScore, Part, PromptId, Vote

__all__ = [
    "AnyJudge",
    "Cascade",
    "Citation",
    "Estimate",
    "Evidence",
    "Failure",
    "Judge",
    "JudgeOptions",
    "Model",
    "ModelOptions",
    "NamedScore",
    "Panel",
    "PanelOptions",
    "Part",
    "Prompt",
    "PromptId",
    "Request",
    "Rubric",
    "RubricOptions",
    "Summary",
    "Vote",
]
