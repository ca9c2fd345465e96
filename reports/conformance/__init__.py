"""Checks whether the specs of releases allow the behaviour in a recording of real brokers.

- `report` checks a recording against the specs.
- `text` explains the result, `objects` is the result for programs, and `page` is an HTML page.
"""
