"""The version of the library, as it stands in every verdict's signature."""

__version__ = "0.1.0"
"""The version of the installed library; every verdict and its signature name it."""
