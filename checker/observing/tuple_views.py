"""Objects that replace tuples, and the elements of tuples, while a call is recorded.

A `TupleView` records which elements of a tuple are read. An `Unread` object replaces an element that may only be
copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

from leadline.checker.observing.domains import StandIn
from leadline.checker.observing.nodes import NODES

if TYPE_CHECKING:
    from leadline.checker.observing.recording import Recorder


class LookedAt(BaseException):
    """Raised when code uses the value of an element that it was only expected to copy.

    This class is not a subclass of `Exception`, so specs are unlikely to catch it. If a spec catches it,
    `Recorder.looked_at` is still true.
    """


class Unread(StandIn):
    """Replaces an element of a tuple that code may only copy, as in ``(*values[:place], new, *values[place + 1 :])``.

    An element that is only copied does not count as read. Any use of this object sets `Recorder.looked_at` and raises
    `LookedAt`. A few operations, such as ``is`` and `type`, do not call a method of the object, so this class does not
    notice them. `opcodes` and `reach` handle them.
    """

    __slots__ = ("recorder", "slot")

    def __init__(self, recorder: Recorder, slot: int) -> None:
        _set_recorder(self, recorder)
        _set_slot(self, slot)

    def _look(self, *_: object, **__: object) -> Any:
        recorder_of(self).looked_at = True
        raise LookedAt

    __getattribute__ = __setattr__ = __delattr__ = _look
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _look
    __bool__ = __len__ = __iter__ = __getitem__ = __contains__ = __call__ = __missing__ = _look
    __int__ = __index__ = __float__ = __complex__ = __neg__ = __pos__ = __abs__ = __invert__ = _look
    __add__ = __sub__ = __mul__ = __matmul__ = __truediv__ = __floordiv__ = __mod__ = __divmod__ = __pow__ = _look
    __lshift__ = __rshift__ = __and__ = __xor__ = __or__ = _look
    __radd__ = __rsub__ = __rmul__ = __rmatmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rdivmod__ = _look
    __rpow__ = __rlshift__ = __rrshift__ = __rand__ = __rxor__ = __ror__ = _look
    __repr__ = __str__ = __format__ = __bytes__ = __reduce__ = __reduce_ex__ = _look
    __copy__ = __deepcopy__ = __sizeof__ = __dir__ = __fspath__ = _look
    __enter__ = __exit__ = __next__ = __reversed__ = __length_hint__ = _look
    __round__ = __trunc__ = __floor__ = __ceil__ = __await__ = __aiter__ = __anext__ = __aenter__ = __aexit__ = _look
    __get__ = __set_name__ = __instancecheck__ = __subclasscheck__ = __mro_entries__ = __buffer__ = _look


_recorder, _slot = (vars(Unread)[name] for name in Unread.__slots__)  # attributes of an `Unread` cannot be accessed
recorder_of, slot_of = _recorder.__get__, _slot.__get__
_set_recorder, _set_slot = _recorder.__set__, _slot.__set__


class TupleView(StandIn, Sequence[object]):
    """Replaces a tuple while a call is recorded. An element counts as read only when the code accesses it.

    Parameters:
        offset: 0 for the first state of the call, or `SECOND` for the second state.
        items: the elements. An item is either the node of a part of the state or, after a change, the new element
            itself.
    """

    __slots__ = ("_items", "_offset", "_recorder")

    def __init__(self, recorder: Recorder, offset: int, items: tuple[Any, ...]) -> None:
        self._recorder, self._offset, self._items = recorder, offset, items

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return tuple

    def is_fixed(self) -> bool:
        return NODES.issuperset(map(type, self._items))

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: Any) -> Any:
        item = self._items[index]
        if isinstance(index, slice):
            return TupleView(self._recorder, self._offset, item)
        return self._recorder.value(item, self._offset) if type(item) in NODES else item

    def __iter__(self) -> Iterator[object]:
        for item in self._items:
            yield self._recorder.copied_element(item, self._offset) if type(item) in NODES else item

    def __reversed__(self) -> Iterator[object]:
        return iter(self[::-1])

    def __add__(self, other: object) -> TupleView:
        if type(other) is TupleView:
            same = other._recorder is self._recorder and other._offset == self._offset
            return TupleView(self._recorder, self._offset, self._items + (other._items if same else tuple(other)))
        if not isinstance(other, tuple):
            return NotImplemented
        return TupleView(self._recorder, self._offset, self._items + other)

    def __radd__(self, other: object) -> TupleView:
        if not isinstance(other, tuple):
            return NotImplemented
        return TupleView(self._recorder, self._offset, other + self._items)

    def __mul__(self, times: SupportsIndex) -> TupleView:
        return TupleView(self._recorder, self._offset, self._items * times)

    __rmul__ = __mul__

    def _real(self) -> tuple[object, ...]:
        return tuple([self[place] for place in range(len(self))])

    def __contains__(self, value: object) -> bool:
        return any(self[place] == value for place in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return self._real() == (other._real() if type(other) is TupleView else other)

    def __lt__(self, other: Any) -> bool:
        return self._real() < (other._real() if type(other) is TupleView else other)

    def __le__(self, other: Any) -> bool:
        return self._real() <= (other._real() if type(other) is TupleView else other)

    def __gt__(self, other: Any) -> bool:
        return self._real() > (other._real() if type(other) is TupleView else other)

    def __ge__(self, other: Any) -> bool:
        return self._real() >= (other._real() if type(other) is TupleView else other)

    def __hash__(self) -> int:
        return hash(self._real())

    def __repr__(self) -> str:
        return repr(self._real())

    def __reduce_ex__(self, protocol: object) -> tuple[object, ...]:
        return tuple, (self._real(),)


def items_of(value: Any) -> Any:
    return value._items if type(value) is TupleView else value
