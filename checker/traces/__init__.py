"""Traces: finding, ordering, saving, replaying and comparing them."""
