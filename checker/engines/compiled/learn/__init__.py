"""Learning: what calls of a spec's functions read and write, as decision trees over numbered slots."""
