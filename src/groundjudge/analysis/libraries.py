"""The libraries of the extra `groundjudge[analysis]`: scikit-learn and SciPy measure, NumPy counts."""

from __future__ import annotations

from importlib import import_module
from typing import Any

try:
    import numpy as np
    from numpy.typing import NDArray

    # These are not typed: named by a text, they are Any to every checker and need no exceptions.
    metrics: Any = import_module("sklearn.metrics")
    selection: Any = import_module("sklearn.model_selection")
    stats: Any = import_module("scipy.stats")
except ImportError as error:
    needed = 'figures of agreement need NumPy, SciPy and scikit-learn: pip install "groundjudge[analysis]"'
    raise ImportError(needed) from error

__all__ = ["NDArray", "metrics", "np", "selection", "stats"]
