"""groundjudge: LLM judges of grounding and hallucination, one core behind every evaluation framework."""

import logging

from groundjudge.case import Case, Document, Message
from groundjudge.errors import CaseError, GroundjudgeError, ModelError, PromptError, ReplyError
from groundjudge.judge import Judge, JudgeOptions, as_judge, load
from groundjudge.model import Model
from groundjudge.models.cached import CachedModel
from groundjudge.options import RubricOptions
from groundjudge.prompt import Prompt
from groundjudge.replies import Adjacent, Banded, Format, Json, PartReading, Reading, Scorecard, Tags
from groundjudge.reply import Reply
from groundjudge.rubric import Request, Rubric, load_rubric, names
from groundjudge.runs.cost import Estimate, Prices, estimate
from groundjudge.runs.run import arun, run
from groundjudge.runs.summary import Summary, summarise
from groundjudge.verdict import Evidence, Failure, NamedScore, Part, PromptId, Scale, Usage, Verdict
from groundjudge.version import __version__

__all__ = [
    "Adjacent",
    "Banded",
    "CachedModel",
    "Case",
    "CaseError",
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
    "Part",
    "PartReading",
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
    "__version__",
    "arun",
    "as_judge",
    "estimate",
    "load",
    "load_rubric",
    "names",
    "run",
    "summarise",
]

logging.getLogger("groundjudge").addHandler(logging.NullHandler())
