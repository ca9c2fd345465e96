"""Random search of a spec's behaviours.

Read in this order: `search` runs it; `walkers` moves the walkers, in the compiled loop of `kernel`, with what
`walker_tables` knows of the spec; `frontier` keeps the states to expand; `distinct_estimate` and `coverage` say what
was covered; `shorten` shortens the counterexamples, with `leave_out`, which leaves out steps between `visited_states`.
"""
