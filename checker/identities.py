"""Moves identities inside values: what a permutation of interchangeable identities makes of a state.

The annotations of the fields say which values are identities; see `leadline.checker.symmetry`. An attrs value is moved
as the annotations of its own class say, wherever it is. The result has the same structure: the values of sets, bags,
maps and tuples are moved one by one, and everything else stays as it is.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Union, cast, get_args, get_origin

import attrs

from leadline.checker.bag import Bag
from leadline.checker.canonical import canonical
from leadline.checker.errors import SpecError
from leadline.checker.map import Map
from leadline.checker.state import element_name, is_component
from leadline.checker.values import ATOMS, HASH, copied, is_constant, rule_of, same

MOST_CACHED = 100_000
"""The maximum number of values of a class of which it is cached what permutations make of them."""

_HOLDERS = (tuple, frozenset, Bag, Map)

Values = Mapping[object, object]
"""What a permutation makes of each value of a set of identities."""

Permutation = Mapping[str, Values]
"""What a permutation makes of the identities of each kind, keyed by the name of the kind."""


@attrs.frozen
class Identity:
    """The mark of a value that is an identity; `identity` creates it.

    Attributes:
        kind: the name of the kind, such as ``broker``.
    """

    kind: str


def identity(kind: str, /) -> Identity:
    """Return the mark of an identity, for an annotation such as ``BrokerId = Annotated[int, identity("broker")]``.

    Parameters:
        kind: the name of the kind, which is a key of `Spec.symmetric`.
    """
    if not isinstance(kind, str) or not kind:
        raise SpecError(f"identity needs the name of a kind, as in identity('broker'), not {kind!r}")
    return Identity(kind)


class Mover:
    """Moves the values of one annotation. This class moves values of which the annotation says nothing: attrs values in
    them are moved as their classes say.

    Parameters:
        known: what the classes say.
    """

    def __init__(self, known: Known) -> None:
        self.known = known

    def move(self, value: Any, by: Permutation) -> Any:
        """Return what a permutation makes of a value."""
        cls: type = type(value)
        if cls in ATOMS:
            return value
        return self.known.of_class(cls).move(value, by)

    def of(self, cls: type) -> Mover:
        """Return the mover for values of a class, where the annotation allows several."""
        return self


class Itself(Mover):
    """Moves values without identities."""

    def move(self, value: Any, by: Permutation) -> Any:
        return value


class Identities(Mover):
    """Moves identities of one kind. Other values stay, such as ``None`` or -1."""

    def __init__(self, known: Known, kind: str) -> None:
        super().__init__(known)
        self.kind = kind

    def move(self, value: Any, by: Permutation) -> Any:
        values = by[self.kind]
        moved = values.get(value, value)
        return moved if type(moved) is type(value) else value


class Elements(Mover):
    """Moves the elements of a tuple.

    Parameters:
        movers: the mover of each element, or of all if there is only one.
        each: the kind of identity that is the index of an element, or an empty string.
        place: where the tuple is, for messages.
    """

    def __init__(self, known: Known, movers: list[Mover], each: str = "", place: str = "") -> None:
        super().__init__(known)
        self._movers, self.each, self._place = movers, each, place

    def fit(self, length: int) -> bool:
        """Return whether a tuple of this length has the elements of the annotation."""
        return len(self._movers) == 1 or len(self._movers) == length

    def element(self, index: int) -> Mover:
        """Return the mover of an element."""
        return self._movers[index] if len(self._movers) > 1 else self._movers[0]

    def target(self, index: int, length: int, by: Permutation) -> int:
        """Return the index to which an element of a tuple of this length moves."""
        found = by[self.each].get(index, index) if self.each else index
        if type(found) is not int or not 0 <= found < length:
            raise SpecError(
                f"{self._place} has {length} elements, one for each {self.each}, but {self.each} {found!r} is not the "
                "index of one: number what is interchangeable from 0"
            )
        return found

    def move(self, value: Any, by: Permutation) -> Any:
        if not isinstance(value, tuple) or not self.fit(len(value)):
            return super().move(value, by)
        moved = [self.element(index).move(item, by) for index, item in enumerate(value)]
        if self.each:
            placed: dict[int, object] = {self.target(index, len(moved), by): item for index, item in enumerate(moved)}
            moved = [placed[index] for index in range(len(moved))]
        if all(one is other for one, other in zip(moved, value, strict=True)):
            return value
        return tuple.__new__(type(value), moved)


class Members(Mover):
    """Moves the members of a set or bag, or the keys and values of a map."""

    def __init__(self, known: Known, member: Mover, item: Mover) -> None:
        super().__init__(known)
        self.member, self.item = member, item

    def move(self, value: Any, by: Permutation) -> Any:
        if type(value) is frozenset:
            return canonical(frozenset([self.member.move(member, by) for member in value]))
        if type(value) is Bag:
            return canonical(Bag.of({self.member.move(member, by): count for member, count in value.items()}))
        if type(value) is Map:
            items = {self.member.move(key, by): self.item.move(item, by) for key, item in value.items()}
            return canonical(Map(items))
        return super().move(value, by)


class Fields(Mover):
    """Moves the fields of an attrs value. Most values occur in many states, so what was made of them is cached."""

    def __init__(self, known: Known, cls: type) -> None:
        super().__init__(known)
        self._cls = cls
        self.fields: dict[str, Mover] = {}
        self._made: dict[tuple[int, object], tuple[Any, Any]] = {}

    def move(self, value: Any, by: Permutation) -> Any:
        if self.known.root is self._cls:
            return self._moved(value, by)
        was, made = self._made.get((id(by), value), (None, None))  # the permutations of a group live as long as it
        if was is None or not same(was, value):
            if len(self._made) > MOST_CACHED:
                self._made.clear()
            made = self._moved(value, by)
            self._made[id(by), value] = value, made
        return made

    def _moved(self, value: Any, by: Permutation) -> Any:
        made = value
        for name, mover in self.fields.items():
            inner = getattr(value, name)
            moved = mover.move(inner, by)
            if moved is not inner:
                if made is value:
                    made = self._copied(value)
                object.__setattr__(made, name, moved)
        return made

    def _copied(self, value: Any) -> Any:
        if not rule_of(self._cls).names:
            raise SpecError(f"{self._cls.__name__} contains identities, but more than its fields: use a plain class")
        made = copied(value)
        if hasattr(made, HASH):
            object.__setattr__(made, HASH, None)
        return made


class Either(Mover):
    """Moves values of several classes, such as ``BrokerId | None``."""

    def __init__(self, known: Known, movers: dict[type, Mover]) -> None:
        super().__init__(known)
        self._movers = movers

    def move(self, value: Any, by: Permutation) -> Any:
        mover = self.of(type(value))
        return super().move(value, by) if mover is self else mover.move(value, by)

    def of(self, cls: type) -> Mover:
        return self._movers.get(cls, self.known.anything)


class Known:
    """What the annotations of classes say about the identities of some kinds.

    Parameters:
        kinds: for each kind, the classes of its identities.
        root: the class of the states.

    Attributes:
        anything: the mover of values of which no annotation says anything.
        itself: the mover of values without identities.
    """

    def __init__(self, kinds: Mapping[str, frozenset[type]], root: type) -> None:
        self._kinds, self.root = kinds, root
        self.anything, self.itself = Mover(self), Itself(self)
        self._of_class: dict[type, Mover] = {
            tuple: Elements(self, [self.anything]),
            **{cls: Members(self, self.anything, self.anything) for cls in (frozenset, Bag, Map)},
        }

    def of_class(self, cls: type) -> Mover:
        """Return the mover of the values of a class.

        Raises:
            SpecError: if the annotations of the class cannot be read, or if they are ambiguous.
        """
        found = self._of_class.get(cls)
        if found is None:
            if attrs.has(cls):
                self._of_class[cls] = fields = Fields(self, cls)  # first of all: a class may contain itself
                fields.fields.update(self._fields(cls))
                found = fields
            elif issubclass(cls, tuple) and hasattr(cls, "_fields"):
                hints = _hints(cls)
                found = Elements(
                    self, [self.of_hint(hints.get(name), f"{cls.__name__}.{name}") for name in cls._fields]
                )
            else:
                found = self.itself
            self._of_class[cls] = found
        return found

    def _fields(self, cls: type) -> dict[str, Mover]:
        hints, found = _hints(cls), {}
        for field in attrs.fields(cls):
            place = f"{cls.__name__}.{field.name}"
            if is_constant(field):
                continue
            mover = self.of_hint(hints.get(field.name), place)
            each = element_name(field) if is_component(field) else ""
            if each in self._kinds:
                inner = mover.of(tuple)
                element = inner.element(0) if isinstance(inner, Elements) else self.anything
                mover = Elements(self, [element], each, place)
            found[field.name] = mover
        return found

    def identities(self, kind: str) -> Mover:
        """Return the mover of the identities of a kind."""
        return Identities(self, kind)

    def of_hint(self, hint: Any, place: str) -> Mover:
        """Return the mover of an annotation.

        Parameters:
            place: what is annotated, for messages.

        Raises:
            SpecError: if the annotation allows two kinds of values that look alike, or if it marks what is not found.
        """
        hint = getattr(hint, "__value__", hint)  # of a `type` statement
        origin, args = get_origin(hint), get_args(hint)
        if origin is Annotated:
            known = [mark.kind for mark in hint.__metadata__ if isinstance(mark, Identity) and mark.kind in self._kinds]
            if not known:
                return self.of_hint(args[0], place)
            cls = get_origin(args[0])
            if cls in _HOLDERS and cls not in self._kinds[known[0]]:
                raise SpecError(f"{place} is marked as an identity, but it is a {cls.__name__}: mark what is in it")
            return self.identities(known[0])
        if origin in (Union, types.UnionType):
            return self._either(args, place)
        if origin is tuple and args:
            return Elements(self, [self.of_hint(arg, place) for arg in args if arg is not ...])
        if origin in (frozenset, Bag, Map) and args:
            return Members(self, self.of_hint(args[0], place), self.of_hint(args[-1], place))
        if self._has_identities(args):
            name = getattr(origin, "__name__", str(origin))
            raise SpecError(f"{place} has identities in a {name}: annotate it as a tuple, frozenset, Bag, Map or class")
        return self.itself if hint in ATOMS else self.anything

    def _has_identities(self, hints: Iterable[Any]) -> bool:
        marks = (mark for hint in hints for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, Identity))
        return any(mark.kind in self._kinds for mark in marks) or any(
            self._has_identities(get_args(hint)) for hint in hints
        )

    def _either(self, hints: tuple[Any, ...], place: str) -> Mover:
        found: dict[type, Mover] = {}
        for hint in hints:
            mover = self.of_hint(hint, place)
            for cls in self._classes(hint, mover):
                if cls in found and not (self._is_plain(mover) and self._is_plain(found[cls])):
                    raise SpecError(
                        f"{place} may hold a {cls.__name__} of two kinds, so it cannot be said which ones are "
                        "identities: annotate it with one of them"
                    )
                found[cls] = mover
        return Either(self, found)

    def _classes(self, hint: Any, mover: Mover) -> frozenset[type]:
        if isinstance(mover, Identities):
            return self._kinds[mover.kind]
        if isinstance(mover, Either):
            return frozenset(mover._movers)
        cls = get_origin(hint) or hint
        return frozenset([cls]) if isinstance(cls, type) else frozenset()

    def _is_plain(self, mover: Mover) -> bool:
        return mover is self.anything or mover is self.itself


def _hints(cls: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls, include_extras=True)
    except Exception as error:
        raise SpecError(
            f"the annotations of {cls.__name__} say which values are identities, but cannot be read: {error}"
        ) from error


def hints_of_function(function: object) -> dict[str, Any]:
    """Return the annotations of a function. Empty if they cannot be read, as those that only type checkers import: the
    domains of its parameters then say which of them are identities.
    """
    try:
        return typing.get_type_hints(cast(Any, function), include_extras=True)
    except Exception:
        return {}
