"""Checks evidence: every quote that a judge gives is looked up in the documents of the case."""

from groundjudge.evidence.folded import Folded, fold
from groundjudge.evidence.sources import find

__all__ = ["Folded", "find", "fold"]
