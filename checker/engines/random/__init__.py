"""The random search: behaviours of a spec at random."""
