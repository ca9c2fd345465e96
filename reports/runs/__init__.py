"""The result of a run, as other reports show it."""
