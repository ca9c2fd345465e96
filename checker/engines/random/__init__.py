"""Random search of a spec's behaviours.

Read the modules in this order: `search` runs the search; `walkers` moves the walkers, using the compiled loop of
`kernel` and the tables of `walker_tables`; `frontier` holds the states to expand; `distinct_estimate` and `coverage`
measure what was covered; `shorten` shortens the counterexamples with `leave_out`, which leaves out steps between
`visited_states`.
"""
