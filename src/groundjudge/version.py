"""The version of the library, as it stands in every verdict's signature."""

__version__ = "0.1.0"
