"""The compiled engine, a breadth-first search with transition tables that `learning` builds.

Read the modules in this order: `choose_engine` decides between learning and direct calls, with a `forecast` of the
number of states; `problem` defines what to search; `search` is the breadth-first search, and `position` describes its
progress; `expander` expands a block of states, divided by `block_parts`, with the compiled loops of `kernel` and their
`buffers`; `store` holds the states; `checkpoint` saves the search; `paths` finds paths from the initial states to a
state; `results` converts the results to states and properties of the spec.
"""

from leadline.checker.engines.compiled.choose_engine import explore

__all__ = ["explore"]
