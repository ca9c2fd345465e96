"""Small helpers for files, locks, text and objects that know nothing of specs."""
