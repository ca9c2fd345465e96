"""Checks whether the specs of releases allow the behaviour in a recording of real brokers.

- `report` follows a recording through the specs.
- `text` explains the result, `objects` is the result for programs, and `page` is an HTML page.
"""
