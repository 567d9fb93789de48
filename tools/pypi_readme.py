"""README.md for PyPI: its relative links become addresses of the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

REPOSITORY = "https://github.com/groundjudge/groundjudge"
LINK = re.compile(r"(?P<picture>!?)(?P<text>\[[^\]]*\])\((?!https?:|#)(?P<path>[^)]*)\)")


class CustomMetadataHook(MetadataHookInterface):
    """Sets the project's `readme` while a distribution is built."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the text to the metadata."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": LINK.sub(_absolute_link, text)}


def _absolute_link(link: re.Match[str]) -> str:
    kind = "raw" if link["picture"] else "blob"
    return f"{link['picture']}{link['text']}({REPOSITORY}/{kind}/main/{link['path']})"
