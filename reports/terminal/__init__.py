"""Reports for a terminal.

Read the modules in this order: `console` prints lines. `trace` shows traces. `run` shows results, and `coverage` their
coverage. `mutants` and `specs` show mutants and specs. `progress` shows the progress of a search.
"""
