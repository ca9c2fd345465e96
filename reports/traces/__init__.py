"""A trace as the frames that views show, and in the formats of other tools."""
