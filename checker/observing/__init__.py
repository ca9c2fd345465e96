"""Analysis of a spec's code: which objects it can reach, which operations it contains, and what each call reads."""
