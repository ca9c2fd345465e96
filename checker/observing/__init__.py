"""Analysis of a spec's code: which objects the code can reach, which operations it contains, and what calls read."""
