"""Convert traces to the form that reports show, and to the formats of other tools."""
