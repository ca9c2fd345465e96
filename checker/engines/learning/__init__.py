"""Learns the transition function of a spec. The compiled engine, the Spark engine and random search share this code.

The idea comes from LTSmin's PINS and local transition caches, and from SPIN's COLLAPSE: an action reads only a few
small parts of a state, so many calls read the same values and return the same result. Such a call is made only once.
The values that it read and its result are stored as a path in a decision tree, which compiled loops walk for all other
states with the same values.

A state is represented as a row of integers: it is split into slots, and the values of each slot are numbered. See
`leadline.checker.observing.layout`.

Read the modules in this order: `calls` calls the spec's functions and records what they read, and `helpers` does so in
other processes; `trees` defines the format of a decision tree, and `forest` builds the trees; `tables` holds all
results; `packing` packs a state into a few words; `learner` extends the tables, `effort` decides which calls are worth
recording, and `comparison` and `verification` check stored results by further calls; `restart` holds the adjustments
for the next attempt at a search; `enabled_index` and `slot_hashes` are lookup tables for the loops; `arrays` defines
the arguments of the loops; `workers` manages the threads, `watch` checks the limits, and `interrupts` defers Ctrl-C;
`warm_up` compiles the loops before a search, and `loop_cache` stores the compiled code.
"""
