"""The compiled engine: breadth-first search by learned transition tables, which `learning` makes.

Read in this order: `choose_engine` decides between learning and direct calls, with a `forecast` of the states;
`problem` is what to search; `search` is the breadth-first search, and `position` is how far it is; `expander` expands a
block of states, in `block_parts`, with the compiled loops of `kernel` and their `buffers`; `store` keeps the states;
`checkpoint` saves the search; `paths` lead back from a state to the initial ones; `results` reports in the spec's own
terms.
"""

from leadline.checker.engines.compiled.choose_engine import explore

__all__ = ["explore"]
