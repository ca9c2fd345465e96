"""Views: objects that replace sets and bags while a call is recorded, and that record which members the call reads.

If the second operand of an operator is a set, a frozenset or a view, the operator returns the same result as for the
real collection. For any other operand, the operator is applied to the real collection, and all members of the
collection count as read.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from types import CodeType
from typing import TYPE_CHECKING, Any, Self, TypeGuard, TypeVar

from leadline.checker.bag import Bag
from leadline.checker.map import Map
from leadline.checker.observing.constructs import Construct
from leadline.checker.observing.domains import StandIn
from leadline.checker.observing.filters import Condition, Filter, filter_of, may_intersect, operator_at
from leadline.checker.observing.nodes import Collection
from leadline.checker.values import same

if TYPE_CHECKING:
    from leadline.checker.observing.recording import Recorder

T = TypeVar("T")

Operator = Callable[[object, object], Set[object]]
"""A binary operator on sets. If the operands have other classes, it can return any object."""

_OR: Operator = operator.or_
_SUB: Operator = operator.sub
_AND: Operator = operator.and_
_XOR: Operator = operator.xor
_IOR: Operator = operator.ior
_ISUB: Operator = operator.isub
_IAND: Operator = operator.iand
_IXOR: Operator = operator.ixor
_EQ: Callable[[object, object], bool] = operator.eq


class CollectionView(StandIn):
    """The base class of the objects that replace collections.

    Parameters:
        offset: 0 for the first state of the call, or `SECOND` for the second state.
        changes: the new count of each member whose count the code has changed. For a frozenset, a count is a bool.
    """

    __slots__ = ("_changes", "_node", "_offset", "_recorder")

    def __init__(
        self, recorder: Recorder, offset: int, node: Collection, changes: Mapping[object, Any] | None = None
    ) -> None:
        self._recorder, self._offset, self._node, self._changes = recorder, offset, node, changes or {}

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return self._node.cls

    def is_fixed(self) -> bool:
        return not self._changes

    def _count(self, member: object) -> Any:
        """Return the count of a member; see `Collection`."""
        member = self._recorder.ordinary(member)
        if member in self._changes:
            return self._changes[member]
        return self._recorder.member(self._node, self._offset, member)

    def _changed(self, changes: Mapping[object, Any]) -> Self:
        """Return a view in which the given counts replace the old ones.

        The view would hide it if a known member equals a changed member and is not the same. Then the call is recorded
        less precisely.
        """
        made = {self._recorder.ordinary(member): count for member, count in changes.items()}
        self._recorder.escaped |= any(map(self._is_held_otherwise, made))
        return type(self)(self._recorder, self._offset, self._node, {**self._changes, **made})

    def _is_held_otherwise(self, member: object) -> bool:
        """Return whether a known member equals the given value but is distinguishable from it, as ``1`` is from
        ``True``.
        """
        if member in self._node.members:
            return not self._recorder.is_known_as(self._node, member)
        return member in self._changes and not any(same(known, member) for known in self._changes if known == member)

    def _candidates(self) -> list[object]:
        """Return all known members of the collection, whether or not it currently contains them."""
        self._recorder.enumerated.add(self._node)
        known = self._node.members
        return [*known, *(member for member in self._changes if member not in known)]

    def _value(self) -> Any:
        """Return the real collection, and record that all its members are read."""
        return self._node.of({member: self._count(member) for member in self._candidates()})

    def __iter__(self) -> Iterator[object]:
        frame = sys._getframe(1)
        if frame.f_globals is not globals() and may_intersect(frame):
            # `intersection` takes equal members, such as 1 and True, from the smaller set
            self._recorder.escaped = True
        return _Members(self, filter_of(frame))

    def __len__(self) -> int:
        return len(self._value())

    def __bool__(self) -> bool:
        return any(self._count(member) for member in self._candidates())

    def __contains__(self, member: object) -> bool:
        return bool(self._count(member))

    def __hash__(self) -> int:
        return hash(self._value())

    def __repr__(self) -> str:
        return repr(self._value())

    def __reduce_ex__(self, protocol: object) -> tuple[object, ...]:
        return _itself, (self._value(),)

    def __copy__(self) -> object:
        return self._value()

    def __deepcopy__(self, memo: object) -> object:
        return self._value()


def _itself(value: T) -> T:
    return value


class _Members:
    """An iterator over the members that a loop uses. Members that the loop skips do not count as read.

    Parameters:
        filter: the filter of the loop, or None if the loop has no filter.
    """

    def __init__(self, view: CollectionView, filter: Filter | None) -> None:
        self._view, self._filter = view, filter
        self._code: CodeType | None = None
        self._members: Iterator[object] | None = None

    def __iter__(self) -> Iterator[object]:
        return self

    def __next__(self) -> Any:
        if self._members is None:
            conditions: list[Callable[[Any], bool]] = []
            if self._filter is not None:
                frame = sys._getframe(1)
                self._code, lasting = frame.f_code, self._view._recorder.lasting
                if lasting:
                    self._note(0, lasting)
                else:
                    conditions = self._filter.bind(frame)
                    if len(conditions) < len(self._filter.asked):
                        self._note(len(conditions))
            self._members = self._found(conditions)
        return next(self._members)

    def _found(self, conditions: list[Condition]) -> Iterator[object]:
        filter = self._filter
        if filter is not None and filter.asks and len(conditions) == len(filter.conditions):
            return self._deciding(conditions)
        return self._in_order(conditions)

    def _deciding(self, conditions: list[Condition]) -> Iterator[object]:
        """Yield the members that can decide the result of ``any`` or ``all``.

        The order of the members matters only if a condition cannot be evaluated.
        """
        for member in self._view._candidates():
            concerns = self._concerns(conditions, member)
            if concerns is None:
                yield from self._in_order(conditions)
                return
            if concerns and self._view._count(member):
                yield member

    def _in_order(self, conditions: list[Condition]) -> Iterator[object]:
        """Return an iterator over the members in the order of the real collection.

        An action then yields its next states in the same order as with the real collection.
        """
        view = self._view
        concern = [member for member in view._candidates() if self._concerns(conditions, member) is not False]
        found = {member for member in concern if view._count(member)}
        members = view._recorder.in_order(view._node, view._offset, view._changes)
        return (member for member in members if member in found)

    def _concerns(self, conditions: list[Condition], member: object) -> bool | None:
        """Return whether the loop uses a member, or None if one of the loop's conditions cannot be evaluated in
        advance.
        """
        for number, condition in enumerate(conditions):
            try:
                if not condition(member):
                    return False
            except Exception:
                self._note(number)
                return None  # if the collection contains the member, the loop itself raises the exception
        return True

    def _note(self, number: int, why: str = "") -> None:
        """Record an unsupported condition, which makes the loop read more members than necessary.

        Parameters:
            number: the index of the condition in `Filter.asked`.
            why: what to record instead of the condition.
        """
        assert self._filter is not None
        assert self._code is not None
        text, line = self._filter.asked[number]
        self._view._recorder.constructs.add(Construct.of(why or text, self._code, line))


class SetView(CollectionView, Set[object]):
    """Replaces a frozenset while a call is recorded."""

    __slots__ = ()

    def __or__(self, other: object) -> Set[object]:
        return self._changed(dict.fromkeys(other, True)) if _is_set(other) else _OR(self._value(), other)

    def __ror__(self, other: object) -> Set[object]:
        return self | other if _is_frozen(other) else self._after(other, "|", _OR, _IOR)

    def __sub__(self, other: object) -> Set[object]:
        return self._changed(dict.fromkeys(other, False)) if _is_set(other) else _SUB(self._value(), other)

    def __rsub__(self, other: object) -> Set[object]:
        if _is_frozen(other):
            return frozenset(item for item in other if item not in self)
        return self._after(other, "-", _SUB, _ISUB)

    def __and__(self, other: object) -> Set[object]:
        return self._shared(other) if _is_set(other) else _AND(self._value(), other)

    def __rand__(self, other: object) -> Set[object]:
        return self._shared(other) if _is_frozen(other) else self._after(other, "&", _AND, _IAND)

    def __xor__(self, other: object) -> Set[object]:
        return (
            self._changed({item: item not in self for item in other}) if _is_set(other) else _XOR(self._value(), other)
        )

    def __rxor__(self, other: object) -> Set[object]:
        return self ^ other if _is_frozen(other) else self._after(other, "^", _XOR, _IXOR)

    def _after(self, other: object, symbol: str, apply: Operator, apply_in_place: Operator) -> Set[object]:
        """Apply an operator whose right operand is this view, and return the result. The left operand is not a
        frozenset.

        Python calls this method both for ``total | members`` and for ``total |= members``. For two sets, only the
        latter changes `total` in place. The running instruction shows which of the two operators was used.

        Parameters:
            symbol: the symbol of the operator, for example ``|``.
            apply: the function that applies the operator.
            apply_in_place: the function that applies the operator and changes the left operand.
        """
        used = operator_at(sys._getframe(2))
        if used not in (symbol, f"{symbol}="):
            self._recorder.escaped = True  # C code, such as `functools.reduce`, called it
        return (apply_in_place if used == f"{symbol}=" else apply)(other, self._value())

    def _shared(self, others: Iterable[object]) -> frozenset[object]:
        """Return the members that this collection shares with `others`.

        The operator decides whether the result has 1 or True. If that matters, the call is recorded less precisely.
        """
        found = [item for item in others if item in self]
        self._recorder.escaped |= not all(self._recorder.is_known_as(self._node, item) for item in found)
        return frozenset(found)

    def union(self, *others: Iterable[object]) -> Set[object]:
        return self._changed({item: True for other in others for item in other})

    def difference(self, *others: Iterable[object]) -> Set[object]:
        return self._changed({item: False for other in others for item in other})

    def intersection(self, *others: Iterable[object]) -> Set[object]:
        if not others:
            return self
        first, *rest = map(frozenset, others)
        return self._shared(first.intersection(*rest))

    def symmetric_difference(self, other: Iterable[object]) -> Set[object]:
        return self ^ frozenset(other)

    def issuperset(self, other: Iterable[object]) -> bool:
        return all(item in self for item in other)

    def issubset(self, other: Iterable[object]) -> bool:
        within = frozenset(other)
        return not any(self._count(member) for member in self._candidates() if member not in within)

    def isdisjoint(self, other: Iterable[object]) -> bool:
        return not any(item in self for item in other)

    def copy(self) -> Self:
        return self

    def __ge__(self, other: Any) -> Any:
        return self.issuperset(other) if _is_set(other) else operator.ge(self._value(), other)

    def __le__(self, other: Any) -> Any:
        return self.issubset(other) if _is_set(other) else operator.le(self._value(), other)

    def __gt__(self, other: Any) -> Any:
        return self >= other and not self <= other if _is_set(other) else operator.gt(self._value(), other)

    def __lt__(self, other: Any) -> Any:
        return self <= other and not self >= other if _is_set(other) else operator.lt(self._value(), other)

    def __eq__(self, other: object) -> bool:
        return self >= other and self <= other if _is_set(other) else _EQ(self._value(), other)

    __hash__ = CollectionView.__hash__
    __len__ = CollectionView.__len__
    __iter__ = CollectionView.__iter__
    __contains__ = CollectionView.__contains__


_SETS = (set, frozenset, SetView)


def _is_set(other: object) -> TypeGuard[Set[object]]:
    return type(other) in _SETS


def _is_frozen(other: object) -> TypeGuard[Set[object]]:
    return type(other) in (frozenset, SetView)


class BagView(CollectionView, Mapping[object, int]):
    """Replaces a `Bag` while a call is recorded."""

    __slots__ = ()

    def add(self, member: object, times: int = 1) -> Self:
        return self._with(member, self[member] + times)

    def remove(self, member: object, times: int = 1) -> Self:
        if self[member] < times:
            raise ValueError(f"cannot subtract {times} from the count of {member!r}, which is {self[member]}")
        return self._with(member, self[member] - times)

    def _with(self, member: object, count: int) -> Self:
        if count < 0:
            raise ValueError(f"the counts of a bag must be positive, not {count}")
        return self._changed({member: count})

    def __getitem__(self, member: object) -> int:
        return int(self._count(member))

    def total(self) -> int:
        return sum(self.values())

    def __eq__(self, other: object) -> bool:
        if type(other) is BagView:
            return bool(self._value() == other._value())
        return bool(self._value() == other) if isinstance(other, Bag) else NotImplemented

    __hash__ = CollectionView.__hash__
    __len__ = CollectionView.__len__
    __iter__ = CollectionView.__iter__
    __contains__ = CollectionView.__contains__


class MapView(CollectionView, Mapping[object, Any]):
    """Replaces a `Map` while a call is recorded."""

    __slots__ = ()

    def put(self, key: object, value: object) -> Self:
        return self._changed({key: (self._recorder.ordinary(value),)})

    def remove(self, key: object) -> Self:
        self[key]
        return self._changed({key: ()})

    def __getitem__(self, key: object) -> Any:
        count = self._count(key)
        if not count:
            raise KeyError(key)
        return count[0]

    def __eq__(self, other: object) -> bool:
        if type(other) is MapView:
            return bool(self._value() == other._value())
        return bool(self._value() == other) if isinstance(other, Map) else NotImplemented

    __hash__ = CollectionView.__hash__
    __len__ = CollectionView.__len__
    __iter__ = CollectionView.__iter__
    __contains__ = CollectionView.__contains__


VIEWS: dict[type, type[CollectionView]] = {frozenset: SetView, Bag: BagView, Map: MapView}
"""The view of each class of collections."""
