"""Checks liveness properties, which say what happens in every infinite behaviour of a spec, or what can still happen
after every reachable state.

- `fairness` defines the fairness conditions of actions.
- `graph` is the graph of all states and steps, and `decide` checks properties on it in plain Python.
- `violation` recognises the formulas that need no automaton. For the others, `automaton` translates the formula, and
  `product` multiplies the graph and the automaton.
- `lasso` builds short counterexamples, and `recheck` checks a counterexample by calling the functions of the spec.
  `truth` evaluates a formula on it without an automaton.
"""
