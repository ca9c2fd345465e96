"""The state spaces of the articles' protocols, as TLC counted them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from leadline.checker import Spec
from leadline.invariants.catalog import CATALOG
from leadline.model.atomic.state import Partition

FIGURES = json.loads((Path(__file__).parent / "tla_figures.json").read_text())


BOUNDS = ("brokers", "log_size", "records", "max_epoch")


def spec_of(protocol: str, bounds: Iterable[int]) -> Spec[Partition]:
    return CATALOG[f"atomic/{protocol}"].with_bounds(dict(zip(BOUNDS, bounds, strict=True)))


def row(protocol: str, bounds: tuple[int, ...], *values: Any) -> Any:
    """The parameters of one test."""
    return pytest.param(protocol, bounds, *values, id=f"{protocol}-{bounds}-{values[0]}")


def bounds_of(figure: dict[str, Any]) -> tuple[int, ...]:
    return tuple(figure[name] for name in BOUNDS)


STATE_SPACES = [
    row(figure["protocol"], bounds_of(figure), figure["distinct_states"], figure["depth"])
    for figure in FIGURES["state_spaces"]
]
