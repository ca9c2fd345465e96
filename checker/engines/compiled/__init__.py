"""The compiled engine: breadth-first search by learned transition tables.

After LTSmin's PINS and local transition caches, and SPIN's COLLAPSE: an action reads only a few small parts
of a state, so the number of different calls is tiny. Each is made once, and remembered.

`calling` and `forecast` decide where to learn at all. Read in this order: `layout` takes a state apart into slots;
`recording` finds which slots a call reads, `constructs` and `reach` how precisely that can be done; `calls` makes
recorded calls, and `call_workers` makes them in other processes too; `forest` keeps what was learned as decision trees;
`learned` adds to it, and `comparison` compares it with further calls; `packing` makes a state a few words; `kernel`
walks the trees for all states, with the `arrays` of the others, and `chunks` collects the paths that it did not know;
`expander` joins these, a block at a time; `sightings` reports in the spec's terms what was seen; `search` is the
breadth-first search, which `checkpoint` saves; `warming` compiles the loops before it begins, and `caching` says where
compiled code is kept.

`walk_search` searches at random through the same trees: `walks` moves the walkers, whose arrays are in `walk_arrays`,
by the loop in `walk_kernel`; `walk_learner` makes the calls that these wait for, and learns from them; `frontier` keeps
the states to be expanded; `contents` hashes states so that the result does not depend on how values are numbered;
`sample` counts distinct states, and `walk_coverage` reports what was tried.
"""

from leadline.checker.engines.compiled.choose_engine import explore

__all__ = ["explore"]
