"""Many cases: files of them, budgets, costs and summaries."""
