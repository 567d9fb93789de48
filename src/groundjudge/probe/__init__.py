"""Probes: what a judge misses, what moves it, and what fools it, measured with edits of labelled cases."""

from groundjudge.probe.cases import ProbeCase, ProbeError
from groundjudge.probe.figures import Card, EditFigures, Probe, Unchanged, probe
from groundjudge.shares import Rate

__all__ = ["Card", "EditFigures", "Probe", "ProbeCase", "ProbeError", "Rate", "Unchanged", "probe"]
