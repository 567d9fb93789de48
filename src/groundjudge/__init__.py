"""groundjudge: LLM judges of grounding and hallucination, one core behind every evaluation framework."""

import logging

from groundjudge.case import Case, Document, Message
from groundjudge.errors import CaseError, GroundjudgeError, ModelError, PromptError, ReplyError
from groundjudge.judge import Judge, load, names
from groundjudge.model import Model, Reply, Request
from groundjudge.models.cached import CachedModel
from groundjudge.prompt import Prompt
from groundjudge.replies import Adjacent, Banded, Json, Scorecard, Tags
from groundjudge.runs.cost import Estimate, estimate
from groundjudge.runs.run import arun, run
from groundjudge.runs.summary import Summary, summarise
from groundjudge.verdict import Evidence, Failure, Part, PromptId, Scale, Usage, Verdict
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
    "GroundjudgeError",
    "Json",
    "Judge",
    "Message",
    "Model",
    "ModelError",
    "Part",
    "Prompt",
    "PromptError",
    "PromptId",
    "Reply",
    "ReplyError",
    "Request",
    "Scale",
    "Scorecard",
    "Summary",
    "Tags",
    "Usage",
    "Verdict",
    "__version__",
    "arun",
    "estimate",
    "load",
    "names",
    "run",
    "summarise",
]

logging.getLogger("groundjudge").addHandler(logging.NullHandler())
