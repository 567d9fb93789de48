"""Rubrics: how to ask about a case and turn a reply into a verdict; their options; the Model protocol."""
