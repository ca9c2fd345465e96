"""Reports for a terminal.

Read in this order: `console` prints; `trace` shows traces, `run` results with their `coverage`, `mutants` and `specs`
the rest; `progress` is shown during a search.
"""
