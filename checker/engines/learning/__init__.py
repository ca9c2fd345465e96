"""The learned transition function of a spec, which the compiled engine, Spark and random search share.

After LTSmin's PINS and local transition caches, and SPIN's COLLAPSE: an action reads only a few small parts of a state,
so the number of different calls is small. Each is made once, and remembered.

Read in this order: `calls` makes recorded calls, and `helpers` makes them in other processes too; `trees` is the format
of a decision tree, and `forest` builds the trees; `tables` holds what was learned; `packing` makes a state a few words;
`learner` decides with `effort` what to learn, learns it, and compares it with further calls by `comparison`; `restart`
says what a search does better in its next attempt; `enabled_index` and `slot_hashes` are tables that loops look into;
`arrays` names the arguments of loops; `workers` has the threads, `watch` checks the limits, `interrupts` defers Ctrl-C;
`warm_up` compiles the loops before a search, and `loop_cache` keeps what was compiled.
"""
