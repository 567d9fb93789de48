"""Judges: a rubric and a model, alone or in panels, and how they are loaded."""
