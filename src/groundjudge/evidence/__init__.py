"""Evidence is checked: every quote that a judge gives is looked up in the documents of the case."""

from groundjudge.evidence.lookup import find
from groundjudge.evidence.sources import Sources

__all__ = ["Sources", "find"]
