"""Compile the loops of the engines: ``python -m tests.suite.compile_loops``. Tests in parallel then load them."""

from __future__ import annotations

from leadline.checker import Limits
from leadline.checker.engines.compiled import kernel
from leadline.checker.engines.compiled import search as compiled_search
from leadline.checker.engines.learning.warm_up import compiled_ahead
from leadline.checker.engines.random import search as random_search
from leadline.checker.settings import CompiledSettings
from leadline.invariants.catalog import CATALOG
from tests.specs import learning

if __name__ == "__main__":
    compiled_ahead(compiled_search._search_once, kernel.expand)
    compiled_ahead(compiled_search._check_once, kernel.expand)
    compiled_ahead(random_search._walk_once, kernel.expand)
    learning.explore(CATALOG["atomic/kip-320"], Limits(depth=5), settings=CompiledSettings(symmetry=True))
