"""A trace as a story, and in the formats of other tools."""
