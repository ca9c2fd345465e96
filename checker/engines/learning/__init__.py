"""The learned transition function of a spec. The compiled engine, Spark and random search share this code.

The idea comes from LTSmin's PINS and local transition caches, and from SPIN's COLLAPSE: an action reads only a few
small parts of a state, so the number of different calls is small. Each call is made once and its result is remembered.

Read the modules in this order: `calls` makes recorded calls, and `helpers` makes them in other processes; `trees`
defines the format of a decision tree, and `forest` builds the trees; `tables` holds everything learned; `packing` packs
a state into a few words; `learner` uses `effort` to decide what to learn, learns it, and compares it with further calls
by `comparison`; `restart` holds what the next attempt at a search does differently; `enabled_index` and `slot_hashes`
are lookup tables for the loops; `arrays` defines the arguments of the loops; `workers` manages the threads, `watch`
checks the limits and `interrupts` defers Ctrl-C; `warm_up` compiles the loops before a search, and `loop_cache` stores
the compiled code.
"""
