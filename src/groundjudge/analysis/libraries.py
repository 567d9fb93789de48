"""The libraries of the extra `groundjudge[analysis]`, imported in one place with one error message."""

from __future__ import annotations

from importlib import import_module
from typing import Any

try:
    import numpy as np
    from numpy.typing import NDArray

    # scikit-learn has no type hints: imported by name, it is Any to every type checker.
    metrics: Any = import_module("sklearn.metrics")
    selection: Any = import_module("sklearn.model_selection")
except ImportError as error:
    message = 'agreement figures need NumPy and scikit-learn: pip install "groundjudge[analysis]"'
    raise ImportError(message) from error

__all__ = ["NDArray", "metrics", "np", "selection"]
