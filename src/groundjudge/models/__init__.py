"""Models that answer requests: an OpenAI-compatible endpoint, and none at all."""
