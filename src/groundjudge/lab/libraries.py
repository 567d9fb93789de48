"""The libraries of the extra `groundjudge[analysis]`, imported in one place with one error message."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from groundjudge.errors import requires

with requires("agreement figures need NumPy and scikit-learn", "analysis"):
    import numpy as np
    from numpy.typing import NDArray

    # scikit-learn has no type hints: imported by name, it is Any to every type checker.
    metrics: Any = import_module("sklearn.metrics")
    selection: Any = import_module("sklearn.model_selection")
    distributions: Any = import_module("scipy.stats")  # which scikit-learn needs

__all__ = ["NDArray", "distributions", "metrics", "np", "selection"]
