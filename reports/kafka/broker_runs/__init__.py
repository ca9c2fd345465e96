"""Reproduce known bugs and replay saved traces on real brokers, and report the results."""
