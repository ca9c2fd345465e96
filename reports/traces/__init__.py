"""Traces: as frames for the views, and in the formats of external tools."""
