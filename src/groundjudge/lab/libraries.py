"""The libraries of the extra `groundjudge[analysis]`, imported in one place, with one error message."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from groundjudge.errors import requires

MESSAGE = "agreement figures need NumPy and scikit-learn"

with requires(MESSAGE, "analysis"):
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["NDArray", "import_library", "np"]


def import_library(name: str) -> Any:  # noqa: ANN401  scikit-learn has no type hints
    """Import scikit-learn, or SciPy, which it needs, for figures that use them.

    They take 100 MB and two seconds, and most commands don't need them.
    """
    with requires(MESSAGE, "analysis"):
        return import_module(name)
