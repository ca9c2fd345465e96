"""Analysis of a spec's code: the objects that it reaches, its opcodes, and the parts of a state that a call reads."""
