"""Reads the source code of a spec's functions.

Everything that is understood of a function from its source is found here, once: `files` parses each file and finds the
syntax tree that belongs to running code; `control_flow` divides a predicate into `blocks` of its loops, elements and
conditions, with code that `fragments` compiles; `running` runs the blocks, and `explain` names the condition that made
a predicate false. `leadline.checker.observing` uses it: `filters` finds the conditions under which a loop skips
members, `opcodes` asks for operands, and `apart` records divided predicates.

What is not understood is left as it is: code whose source does not compile to the instructions that run, and
expressions and statements that are not listed.
"""
