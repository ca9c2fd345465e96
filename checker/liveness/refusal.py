"""The refusal of liveness properties by engines that do not check them."""

from __future__ import annotations

from typing import TypeVar

from leadline.checker.errors import SpecError
from leadline.checker.spec import Spec

S = TypeVar("S")


def refuse_liveness(spec: Spec[S], engine: str, instead: str) -> None:
    """Check that a spec has no liveness property.

    Parameters:
        spec: the spec to search.
        engine: what cannot check liveness properties.
        instead: what checks them, for the end of a sentence.

    Raises:
        SpecError: the spec has a liveness property. The message names it.
    """
    for item in spec.liveness:
        raise SpecError(
            f"{engine} cannot check {item.name}, which is a property of kind {item.kind.value!r}: "
            f"leave it out (-i names the properties to check), or use {instead}"
        )
