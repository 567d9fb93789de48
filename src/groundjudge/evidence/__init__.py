"""Checks evidence: every quote that a judge gives is looked up in the documents of the case."""

from groundjudge.evidence.sources import Sources, find

__all__ = ["Sources", "find"]
