"""Mutation testing: introduces mistakes into a spec, to find out which of these mistakes the properties detect."""
