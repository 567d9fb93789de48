"""groundjudge: LLM judges for groundedness and hallucination, one core behind every evaluation framework."""

import logging

from groundjudge.case.case import Case

# Not in `__all__`: LangChain's and others' have the same names, and `import *` would take their place.
from groundjudge.case.case import Document as Document
from groundjudge.case.case import Message as Message
from groundjudge.errors import CaseError, GroundjudgeError, ModelError, PanelError, PromptError, ReplyError
from groundjudge.judging.cascade import cascade
from groundjudge.judging.guard import Guard, GuardError
from groundjudge.judging.load import as_judge, load
from groundjudge.judging.panel import panel
from groundjudge.models.cached import CachedModel
from groundjudge.replies.reply import Reply
from groundjudge.rubric.load import load_rubric, names
from groundjudge.runs.cost import Prices, estimate
from groundjudge.runs.run import arun, run
from groundjudge.runs.summary import summarise
from groundjudge.scale import Choices, Scale
from groundjudge.verdict import Usage, Verdict, __version__

__all__ = [
    "CachedModel",
    "Case",
    "CaseError",
    "Choices",
    "GroundjudgeError",
    "Guard",
    "GuardError",
    "ModelError",
    "PanelError",
    "Prices",
    "PromptError",
    "Reply",
    "ReplyError",
    "Scale",
    "Usage",
    "Verdict",
    "__version__",
    "arun",
    "as_judge",
    "cascade",
    "estimate",
    "load",
    "load_rubric",
    "names",
    "panel",
    "run",
    "summarise",
]

logging.getLogger("groundjudge").addHandler(logging.NullHandler())
