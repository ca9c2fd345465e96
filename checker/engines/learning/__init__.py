"""Learns the transition function of a spec. The compiled engine, the Spark engine and random search share this code.

The idea comes from LTSmin's PINS interface and local transition caches, and from SPIN's COLLAPSE compression. An action
reads only a few small parts of a state, so many calls read the same values and return the same result. Therefore only
one of these calls is made. The values that this call reads and its result are stored as a path in a decision tree. For
other states with the same values, compiled loops follow the path instead of calling the action.

A state is split into slots, and each value of a slot has an index. A state can therefore be represented as a row of
integers; see `leadline.checker.observing.layout`.

Read the modules in this order: `calls` calls the spec's functions and records the slots that they read, and `helpers`
makes such calls in other processes; `trees` defines the format of a decision tree, and `forest` builds the trees;
`tables` holds all results; `packing` packs a state into a few words; `learner` extends the tables, `effort` decides
which calls are worth recording, and `comparison` and `verification` check stored results with additional calls;
`restart` holds the adjustments for the next attempt at a search; `enabled_index` and `slot_hashes` are lookup tables
for the loops; `arrays` defines the arguments of the loops; `workers` manages the threads, `watch` checks the limits,
and `interrupts` defers Ctrl-C; `warm_up` compiles the loops before a search, and `loop_cache` stores the compiled code.
`causes` uses recorded calls to explain a trace.
"""
