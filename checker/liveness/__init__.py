"""Liveness: what the infinite behaviours of a spec have in common, and what can still happen.

- `fairness` says which fairness conditions a step and a state are about.
- `graph` is the graph of all states and steps, and `decide` checks properties on it in plain Python.
- `lasso` makes a counterexample short, and `recheck` checks a counterexample by calling the spec again.
"""
