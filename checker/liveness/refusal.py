"""Rejects specs with liveness properties, on behalf of engines that do not check such properties."""

from __future__ import annotations

from typing import TypeVar

from leadline.checker.errors import SpecError
from leadline.checker.spec import Spec

S = TypeVar("S")


def refuse_liveness(spec: Spec[S], engine: str, instead: str) -> None:
    """Check that a spec has no liveness property.

    Parameters:
        engine: the name of the engine that does not check liveness properties.
        instead: an order with which the error message ends: what to do instead.

    Raises:
        SpecError: if the spec has a liveness property. The message names it.
    """
    for item in spec.liveness:
        raise SpecError(
            f"{engine} cannot check {item.name}, which is a liveness property (kind {item.kind.value!r}): {instead}"
        )
