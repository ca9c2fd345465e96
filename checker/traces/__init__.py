"""Finding, ordering, saving, replaying and comparing traces.

Read the modules in this order: `graph` finds shortest traces; `reordering` chooses the order of their steps; `itf`
saves traces in files; `replay` executes saved traces; `deliveries` follows messages; `divergence` compares two specs.
"""
