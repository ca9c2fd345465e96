"""A result or a trace, turned into something a person or a CI system reads; and the command line."""
