"""The schemas that `make test` downloads."""

from __future__ import annotations

from pathlib import Path

SCHEMAS = Path(__file__).parent / "schemas"
