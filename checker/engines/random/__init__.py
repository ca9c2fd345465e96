"""Random search of a spec's behaviours, for state spaces that are too large to search completely.

Read the modules in this order: `search` contains the function that runs a search; `walkers` takes random steps and
expands states, with the compiled loop of `kernel` and the tables of `walker_tables`; `arrays` defines the arguments of
the loop; `frontier` holds the states that wait to be expanded; `distinct_estimate` estimates the number of distinct
states, and `coverage` measures coverage; `shorten` shortens counterexamples; `leave_out` leaves out steps of a
counterexample, and `visited_states` stores the states that it visits.
"""
