"""The compiled engine, a breadth-first search that uses the transition tables of the `learning` package.

Read the modules in this order: `forms` is the search that users get. It begins with objects and `direct` calls, and
continues in the `packed_form` or back; `moving` hands over what has been found; `problem` defines a search problem;
`search` is the breadth-first search over packed states, and `position` describes its progress; `block_parts` divides a
block of states into parts; `expander` expands the block with the compiled loops of `kernel` and their `buffers`;
`store` stores the states; `checkpoint` saves the search, and `resumption` restores a saved search; `paths` finds paths
from the initial states to a state; `results` converts the results to states and properties of the spec.
"""

from leadline.checker.engines.compiled.forms import explore

__all__ = ["explore"]
