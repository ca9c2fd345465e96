"""Mutation testing: introduces mistakes into a spec, to find out which of them the properties detect."""
