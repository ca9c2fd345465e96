"""Hunts: searches of a spec that continue after a violation.

Read the modules in this order. `plan` lists the searches, `cures` lists the changes that can prevent a violation,
`hunt` makes the searches and applies the changes, and `report` describes the results.
"""
