"""Defines the interface through which views and lazy instances access a call's recorder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from leadline.checker.observing.constructs import Construct
from leadline.checker.observing.nodes import Collection, Node, Struct


class Reader(Protocol):
    """The methods and attributes of `recording.Recorder` that views and lazy instances use.

    Attributes:
        enumerated: the collections whose members all count as read, even members that are found later.
        looked_at: whether the code used the value of an element that it was only expected to copy.
        escaped: whether the code may have read a value without the read being recorded.
        constructs: the unsupported code in loops over collections.
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
