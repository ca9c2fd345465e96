"""Recordings of consumer groups as observations: what a coordinator answers, and what it does unasked.

`classic` follows the coordinator of the classic protocol, and `consumer` that of KIP-848. `errors` has the error codes.
"""
