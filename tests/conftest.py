"""Hypothesis runs the same examples every time, and none is refused for being slow."""

from hypothesis import settings

settings.register_profile("leadline", derandomize=True, deadline=None)
settings.load_profile("leadline")
