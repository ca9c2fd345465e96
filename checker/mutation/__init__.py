"""Mutation testing: making mistakes in a spec on purpose, to find out which of them the properties detect."""
