"""Reports for a terminal.

Read in this order: `console` prints lines. `trace` shows traces, `run` shows results with their `coverage`, and
`mutants` and `specs` show mutants and specs. `progress` shows the progress of a search.
"""
