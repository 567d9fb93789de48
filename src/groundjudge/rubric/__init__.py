"""Rubrics: how a case is asked about and how a reply becomes a verdict; their options; the Model protocol."""
