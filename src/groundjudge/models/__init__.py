"""Models that answer requests: endpoints, functions, and the models of other libraries."""
