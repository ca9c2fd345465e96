"""Hunts: series of searches of one spec that continue after a violation.

A reading order: `plan` says what is searched, `cures` names the changes that can mend a violation, `hunt` makes the
searches and mends what they find, and `report` describes the results.
"""
