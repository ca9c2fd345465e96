"""Traces: finding, ordering, saving, replaying and comparing them.

Read in this order: `graph` finds shortest traces; `reordering` chooses among the orders of their steps; `itf` saves
them in files, and `replay` executes these; `deliveries` follows messages; `divergence` compares two specs.
"""
