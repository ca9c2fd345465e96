"""The compiled engine, a breadth-first search that uses the transition tables of the `learning` package.

Read the modules in this order: `choose_engine` decides between transition tables and `direct` calls, based on a
`forecast` of the number of states, on the `recurrence` of the values that calls read, and on the `pace` of a search;
`problem` defines a search problem; `search` is the breadth-first search, and `position` describes its progress;
`block_parts` divides a block of states into parts; `expander` expands the block with the compiled loops of `kernel` and
their `buffers`; `store` stores the states; `checkpoint` saves the search, and `resumption` restores a saved search;
`paths` finds paths from the initial states to a state; `results` converts the results to states and properties of the
spec.
"""

from leadline.checker.engines.compiled.choose_engine import explore

__all__ = ["explore"]
