"""Show reports on a terminal.

Read the modules in this order: `console` prints lines. `trace` shows traces. `run` shows the results of
searches, and `coverage` their coverage. `mutants` and `specs` show mutants and specs. `progress` shows the progress of
a search.
"""
