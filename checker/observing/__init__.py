"""Analyses a spec's code: which objects it can reach, which operations it contains, and which parts of a state its
calls read.

Read the modules in this order: `nodes` and `layout` split states into slots, and `domains` stores the values of a slot;
`recording` records the slots that a call reads, through `lazy` instances, `tuple_views` and `collection_views`; `reach`
finds the code that a call can run, and `opcodes` what is in it, so that only code that is understood is recorded
precisely. Two modules use what `leadline.checker.source` reads: `filters` finds the conditions of loops, and `apart`
records divided predicates. `digest`, `line_coverage` and `set_iteration` do not record calls.
"""
