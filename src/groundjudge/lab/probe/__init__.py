"""Probes: what a judge misses, what moves it, and what fools it, measured with edits of labelled cases."""

from groundjudge.lab.probe.cases import ProbeCase, ProbeError
from groundjudge.lab.probe.figures import Card, EditFigures, Probe, Unchanged, probe
from groundjudge.lab.proportions import Rate

__all__ = ["Card", "EditFigures", "Probe", "ProbeCase", "ProbeError", "Rate", "Unchanged", "probe"]
