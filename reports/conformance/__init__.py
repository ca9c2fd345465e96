"""Whether a recording of real brokers is a behaviour of the specs of releases.

- `report` follows a recording through the specs.
- `text` explains the result, `objects` is the result for programs, and `page` is an HTML page.
"""
