"""Random search, for state spaces that are too large to search exhaustively.

Read the modules in this order: `search` contains the function that runs a search; `walkers` chooses the states to be
expanded and the steps of walks, with the functions in `kernel`, and has the states expanded by the compiled engine;
`block` stores the states of a round; `frontier` holds the states that have been found but not yet expanded;
`distinct_estimate` estimates the number of distinct states, and `coverage` measures coverage; `shorten` shortens
counterexamples; `leave_out` removes unnecessary steps from a counterexample; `visited_states` stores the states that a
Hypothesis state machine visits.
"""
