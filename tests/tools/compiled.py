"""Compile the engine's loops: ``python -m tests.tools.compiled``. Tests that run beside each other need not, then."""

from __future__ import annotations

from checker.engines.compiled import kernel, search, walk_kernel, walk_search
from checker.engines.compiled.warming import compiled_ahead

if __name__ == "__main__":
    compiled_ahead(search._search_once, kernel.expand)
    compiled_ahead(walk_search._walk_once, walk_kernel.walk)
