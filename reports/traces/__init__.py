"""Traces in the form that reports show, and in the formats of other tools."""
