"""Stand-ins for sets and bags, whose members are read one by one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import TYPE_CHECKING, Any

from leadline.checker.bag import Bag
from leadline.checker.observing.domains import StandIn
from leadline.checker.observing.filters import Filter, filter_of
from leadline.checker.observing.nodes import Collection

if TYPE_CHECKING:
    from leadline.checker.observing.recording import Recorder


class CollectionView(StandIn):
    """Stands in for a collection. What the two kinds have in common.

    Parameters:
        recorder: of the call that it is made for.
        offset: which state it is of; see `Recorder.read`.
        node: which collection.
        changes: how often it holds the members in which it differs from what the state has there.
    """

    __slots__ = ("_changes", "_node", "_offset", "_recorder")

    def __init__(
        self, recorder: Recorder, offset: int, node: Collection, changes: Mapping[Any, Any] | None = None
    ) -> None:
        self._recorder, self._offset, self._node, self._changes = recorder, offset, node, changes or {}

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return self._node.cls

    def _count(self, member: Any) -> Any:
        """How often it holds a member; of a set, whether it does."""
        if member in self._changes:
            return self._changes[member]
        return self._recorder.member(self._node, self._offset, member)

    def _changed(self, changes: Mapping[Any, Any]) -> Any:
        return type(self)(self._recorder, self._offset, self._node, {**self._changes, **changes})

    def _candidates(self) -> list[Any]:
        """All members that it may hold, as far as is known."""
        self._recorder.enumerated.add(self._node)
        known = self._node.members
        return [*known, *(member for member in self._changes if member not in known)]

    def _value(self) -> Any:
        """What it stands for; all of it is read."""
        return self._node.of({member: self._count(member) for member in self._candidates()})

    def __iter__(self) -> Iterator[Any]:
        return _Members(self, filter_of(sys._getframe(1)))

    def __len__(self) -> int:
        return len(self._value())

    def __bool__(self) -> bool:
        return any(self._count(member) for member in self._candidates())

    def __contains__(self, member: Any) -> bool:
        return bool(self._count(member))

    def __hash__(self) -> int:
        return hash(self._value())

    def __repr__(self) -> str:
        return repr(self._value())

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _itself, (self._value(),)

    def __copy__(self) -> Any:
        return self._value()

    def __deepcopy__(self, memo: Any) -> Any:
        return self._value()


def _itself(value: Any) -> Any:
    return value


class _Members:
    """Iterates over the members of a collection that a loop does not pass over.

    Parameters:
        view: the collection.
        filter: of the loop, if it has one.
    """

    def __init__(self, view: CollectionView, filter: Filter | None) -> None:
        self._view, self._filter = view, filter
        self._members: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._members is None:
            concerns = (
                None if self._filter is None else self._filter.bind(sys._getframe(1), self._view._recorder.is_immutable)
            )
            self._members = self._found(concerns)
        return next(self._members)

    def _found(self, concerns: Callable[[Any], bool] | None) -> Iterator[Any]:
        view, asks = self._view, self._filter is not None and self._filter.asks
        candidates: Iterable[Any] = view._candidates()
        if concerns is not None:
            candidates = filter(concerns, candidates)
        present = (member for member in candidates if view._count(member))
        if asks:  # one member may decide, and the order makes no difference
            return present
        # in the order of the value itself, in which the call on the state itself gives its next states
        found = set(present)
        return (
            member for member in view._recorder.in_order(view._node, view._offset, view._changes) if member in found
        )


class SetView(CollectionView, Set[Any]):
    """Stands in for a frozenset."""

    __slots__ = ()

    def __or__(self, other: Any) -> Any:
        return self._changed(dict.fromkeys(other, True)) if isinstance(other, Set) else NotImplemented

    __ror__ = __or__

    def __sub__(self, other: Any) -> Any:
        return self._changed(dict.fromkeys(other, False)) if isinstance(other, Set) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return frozenset(item for item in other if item not in self) if isinstance(other, Set) else NotImplemented

    def __and__(self, other: Any) -> Any:
        return frozenset(item for item in other if item in self) if isinstance(other, Set) else NotImplemented

    __rand__ = __and__

    def __xor__(self, other: Any) -> Any:
        return self._changed({item: item not in self for item in other}) if isinstance(other, Set) else NotImplemented

    __rxor__ = __xor__

    def union(self, *others: Iterable[Any]) -> Any:
        return self._changed({item: True for other in others for item in other})

    def difference(self, *others: Iterable[Any]) -> Any:
        return self._changed({item: False for other in others for item in other})

    def intersection(self, *others: Iterable[Any]) -> Any:
        if not others:
            return self
        first, *rest = map(frozenset, others)
        return frozenset(item for item in first.intersection(*rest) if item in self)

    def symmetric_difference(self, other: Iterable[Any]) -> Any:
        return self ^ frozenset(other)

    def issuperset(self, other: Iterable[Any]) -> bool:
        return all(item in self for item in other)

    def issubset(self, other: Iterable[Any]) -> bool:
        within = frozenset(other)
        return not any(self._count(member) for member in self._candidates() if member not in within)

    def isdisjoint(self, other: Iterable[Any]) -> bool:
        return not any(item in self for item in other)

    def copy(self) -> Any:
        return self

    def __ge__(self, other: Any) -> Any:
        return self.issuperset(other) if isinstance(other, Set) else NotImplemented

    def __le__(self, other: Any) -> Any:
        return self.issubset(other) if isinstance(other, Set) else NotImplemented

    def __gt__(self, other: Any) -> Any:
        return self >= other and not self <= other if isinstance(other, Set) else NotImplemented

    def __lt__(self, other: Any) -> Any:
        return self <= other and not self >= other if isinstance(other, Set) else NotImplemented

    def __eq__(self, other: object) -> Any:
        return self >= other and self <= other if isinstance(other, Set) else NotImplemented

    __hash__ = CollectionView.__hash__
    __len__ = CollectionView.__len__
    __iter__ = CollectionView.__iter__
    __contains__ = CollectionView.__contains__


class BagView(CollectionView, Mapping[Any, Any]):
    """Stands in for a `Bag`."""

    __slots__ = ()

    def add(self, member: Any, times: int = 1) -> Any:
        return self._changed({member: self[member] + times})

    def remove(self, member: Any, times: int = 1) -> Any:
        if self[member] < times:
            raise ValueError(f"{member!r} is in the bag {self[member]} times, not {times}")
        return self._changed({member: self[member] - times})

    def __getitem__(self, member: Any) -> int:
        return int(self._count(member))

    def total(self) -> int:
        return sum(self.values())

    def __eq__(self, other: object) -> Any:
        if type(other) is BagView:
            return self._value() == other._value()
        return self._value() == other if isinstance(other, Bag) else NotImplemented

    __hash__ = CollectionView.__hash__
    __len__ = CollectionView.__len__
    __iter__ = CollectionView.__iter__
    __contains__ = CollectionView.__contains__
