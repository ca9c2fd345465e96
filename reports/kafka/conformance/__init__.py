"""Check whether the specs of releases allow the recorded behaviour of real brokers.

- `report` checks a recording against the specs.
- `text` explains the result, `objects` is the result for programs, and `page` is an HTML page.
"""
