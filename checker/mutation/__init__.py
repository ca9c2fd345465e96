"""Mutation testing: makes mistakes in a spec, to find out which of these mistakes the properties detect."""
