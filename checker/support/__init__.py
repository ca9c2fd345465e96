"""Helper functions and classes for files, locks, text and objects. They do not depend on specs."""
