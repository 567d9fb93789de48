"""groundjudge: LLM judges of grounding and hallucination, one core behind every evaluation framework."""

import logging

from groundjudge.case.case import Case, Document, Message
from groundjudge.errors import CaseError, GroundjudgeError, ModelError, PanelError, PromptError, ReplyError
from groundjudge.judging.judge import Judge
from groundjudge.judging.load import JudgeOptions, PanelOptions, as_judge, load
from groundjudge.judging.panel import AnyJudge, Panel, panel
from groundjudge.models.cached import CachedModel
from groundjudge.prompt.prompt import Prompt
from groundjudge.replies import Adjacent, Banded, Format, Json, PartReading, Plain, Reading, Scorecard, Tags
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model
from groundjudge.rubric.options import RubricOptions
from groundjudge.rubric.rubric import Request, Rubric, load_rubric, names
from groundjudge.runs.cost import Estimate, Prices, estimate
from groundjudge.runs.run import arun, run
from groundjudge.runs.summary import Summary, summarise
from groundjudge.scale import Choices, Scale
from groundjudge.verdict import Evidence, Failure, NamedScore, Part, PromptId, Usage, Verdict, Vote
from groundjudge.version import __version__

__all__ = [
    "Adjacent",
    "AnyJudge",
    "Banded",
    "CachedModel",
    "Case",
    "CaseError",
    "Choices",
    "Document",
    "Estimate",
    "Evidence",
    "Failure",
    "Format",
    "GroundjudgeError",
    "Json",
    "Judge",
    "JudgeOptions",
    "Message",
    "Model",
    "ModelError",
    "NamedScore",
    "Panel",
    "PanelError",
    "PanelOptions",
    "Part",
    "PartReading",
    "Plain",
    "Prices",
    "Prompt",
    "PromptError",
    "PromptId",
    "Reading",
    "Reply",
    "ReplyError",
    "Request",
    "Rubric",
    "RubricOptions",
    "Scale",
    "Scorecard",
    "Summary",
    "Tags",
    "Usage",
    "Verdict",
    "Vote",
    "__version__",
    "arun",
    "as_judge",
    "estimate",
    "load",
    "load_rubric",
    "names",
    "panel",
    "run",
    "summarise",
]

logging.getLogger("groundjudge").addHandler(logging.NullHandler())
