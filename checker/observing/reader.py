"""Reader: the interface of the recorder to the stand-ins for parts of a state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from leadline.checker.observing.constructs import Construct
from leadline.checker.observing.nodes import Collection, Node, Struct


class Reader(Protocol):
    """Reads the states of one call; `recording.Recorder` implements it and describes the methods.

    Attributes:
        enumerated: the collections that were enumerated, so that members not known yet would also have been read.
        looked_at: whether the value of a copied element was used after all.
        escaped: whether a read may have been missed for another reason.
        constructs: the code that was not understood in loops over collections.
    """

    enumerated: set[Collection]
    looked_at: bool
    escaped: bool
    constructs: set[Construct]

    def read(self, slot: int, offset: int = 0) -> Any: ...

    def member(self, node: Collection, offset: int, member: object) -> int: ...

    def is_known_as(self, node: Collection, member: object) -> bool: ...

    def ordinary(self, value: object) -> Any: ...

    def in_order(self, node: Collection, offset: int, changes: Mapping[object, int]) -> list[object]: ...

    def value(self, node: Node, offset: int = 0) -> Any: ...

    def instance(self, node: Struct, offset: int, changed: dict[str, object] | None = None) -> Any: ...

    def whole(self, node: Struct | Collection, offset: int) -> Any: ...

    def copied_element(self, node: Node, offset: int) -> Any: ...
