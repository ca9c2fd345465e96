"""Functions that find, reorder, save, replay and compare traces.

The modules are best read in this order:

- `graph` finds the shortest traces to a state.
- `reordering` changes the order of the steps of a trace to make it easier to read.
- `itf` saves traces in files.
- `replay` replays saved traces.
- `continued` lets a search begin at the end of a trace.
- `deliveries` follows the messages of a trace.
- `divergence` compares the behaviours of two specs.
"""
