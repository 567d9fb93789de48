"""A judge as people bring it: replies copy each sentence and its quotes, and the weakest sentence decides."""

from __future__ import annotations

from pathlib import Path

SENTENCE_CARDS = Path(__file__).with_suffix(".prompty")
