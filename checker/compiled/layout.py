"""Layout: a state taken apart into slots, one for each leaf, and put together again.

A state is a tree: attrs values and component tuples are its inner nodes; what is in no component is a
leaf. Each leaf has a slot, numbered from 0. A slot's values are numbered too, as they are met, so that a
state is a row of small integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from checker.state import is_component, is_constant


class ShapeChanged(Exception):
    """A component was not shaped as in the initial state; it has to be kept whole, as one leaf.

    Attributes:
        path: where it is in the state.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(path)


class NotOnlyInts(Exception):
    """A slot whose values were ints took another one.

    Attributes:
        slot: which.
    """

    def __init__(self, slot: int) -> None:
        self.slot = slot
        super().__init__(slot)


@attrs.frozen(eq=False)
class Leaf:
    """A value kept whole, in one slot."""

    path: str
    slot: int


@attrs.frozen(eq=False)
class Struct:
    """An attrs value, taken apart into its fields.

    Attributes:
        path: where it is in the state; empty for the state itself.
        cls: its class.
        children: the node of each field, by name.
        constants: the value of each constant field, by name.
        aliases: each field's name by the name its constructor takes.
        slots: those of all leaves below, which follow one another.
        built: what was put together before, by the numbers in these slots.
    """

    path: str
    cls: type
    children: dict[str, Node]
    constants: dict[str, Any]
    aliases: dict[str, str]
    slots: slice
    built: dict[tuple[int, ...], Any] = attrs.field(factory=dict)


@attrs.frozen(eq=False)
class Parts:
    """A component tuple, taken apart into its elements.

    Attributes:
        path: where it is in the state.
        elements: the node of each.
        whole: whether no element is a leaf, so that a tuple of views reads nothing.
        slots, built: as of a `Struct`.
    """

    path: str
    elements: tuple[Node, ...]
    whole: bool
    slots: slice
    built: dict[tuple[int, ...], Any] = attrs.field(factory=dict)


Node = Leaf | Struct | Parts


class Domain:
    """The values that a slot was seen to take, numbered in the order they were met.

    Parameters:
        slot: the slot.
        copyable: whether all its values may be ints. See `views.Unread`.

    Attributes:
        values: by number.
        copied: whether something was learned from a call that copied one of them unread.
    """

    def __init__(self, slot: int, copyable: bool) -> None:
        self.slot, self.copyable, self.copied = slot, copyable, False
        self.values: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def number(self, value: Any) -> int:
        """The number of a value, a new one if it was not met before.

        Raises:
            NotOnlyInts: it is the first value that is not an int, and others were copied unread.
        """
        number = self._numbers.get(value)
        if number is None:
            if self.copyable and type(value) is not int:
                if self.copied:
                    raise NotOnlyInts(self.slot)
                self.copyable = False
            number = len(self.values)
            self.values.append(value)  # first, so that an interrupt in between does no harm
            self._numbers[value] = number
        return number

    def note_copy(self) -> None:
        """Note that one was copied unread. Raises NotOnlyInts: that was not right, as is known by now."""
        if not self.copyable:
            raise NotOnlyInts(self.slot)
        self.copied = True

    def forget(self, first: int) -> None:
        """Take back the numbers from the first on."""
        for value in self.values[first:]:
            del self._numbers[value]
        del self.values[first:]


class Layout:
    """The slots of a spec's states, as its first initial state shows them.

    Parameters:
        state: an initial state.
        whole: paths of components to keep whole, because their shape is not the same in every state.
        mixed: slots whose values are not only ints, although the first one is.

    Attributes:
        root: the state as a tree of nodes.
        domains: the values of each slot.
    """

    def __init__(self, state: Any, whole: frozenset[str] = frozenset(), mixed: frozenset[int] = frozenset()) -> None:
        self._whole, self._mixed = whole, mixed
        self.domains: list[Domain] = []
        self.root = self._struct(state, "")

    @property
    def slots(self) -> int:
        """How many slots there are."""
        return len(self.domains)

    def row(self, state: Any) -> list[int]:
        """The number of each slot's value in a state.

        Raises:
            ShapeChanged: a component is not shaped as in the initial state.
        """
        numbers = [0] * self.slots

        def visit(node: Node, value: Any) -> None:
            match node:
                case Leaf():
                    numbers[node.slot] = self.domains[node.slot].number(value)
                case Struct():
                    if type(value) is not node.cls:
                        raise ShapeChanged(node.path)
                    for name, child in node.children.items():
                        visit(child, getattr(value, name))
                case Parts():
                    if type(value) is not tuple or len(value) != len(node.elements):
                        raise ShapeChanged(node.path)
                    for element, item in zip(node.elements, value, strict=True):
                        visit(element, item)

        visit(self.root, state)
        return numbers

    def state(self, numbers: Sequence[int]) -> Any:
        """The state with these numbers in its slots. Components are shared with the states built before."""
        return self._build(self.root, tuple(numbers))

    def forget(self, sizes: Sequence[int]) -> None:
        """Take back the numbers of all but the first values of each slot, and what was built of them."""
        for domain, size in zip(self.domains, sizes, strict=True):
            domain.forget(size)
        waiting: list[Node] = [self.root]
        while waiting:
            match waiting.pop():
                case Struct(children=children, built=built):
                    waiting += children.values()
                    built.clear()
                case Parts(elements=elements, built=built):
                    waiting += elements
                    built.clear()

    def _build(self, node: Node, numbers: tuple[int, ...]) -> Any:
        if type(node) is Leaf:
            return self.domains[node.slot].values[numbers[node.slot]]
        assert not isinstance(node, Leaf)
        key = numbers[node.slots]
        built = node.built.get(key)
        if built is None:
            if isinstance(node, Parts):
                built = tuple([self._build(element, numbers) for element in node.elements])
            else:
                values = {name: self._build(child, numbers) for name, child in node.children.items()}
                values.update(node.constants)
                built = node.cls(**{alias: values[name] for alias, name in node.aliases.items()})
            if node is not self.root:
                node.built[key] = built
        return built

    def _leaf(self, path: str) -> Leaf:
        slot = len(self.domains)
        self.domains.append(Domain(slot, slot not in self._mixed))
        return Leaf(path, slot)

    def _struct(self, value: Any, path: str) -> Node:
        fields = attrs.fields(type(value))
        if path in self._whole or not all(field.init for field in fields):
            return self._leaf(path)
        first = self.slots
        children: dict[str, Node] = {}
        constants: dict[str, Any] = {}
        for field in fields:
            inner, inner_path = getattr(value, field.name), f"{path}.{field.name}".lstrip(".")
            if is_constant(field):
                constants[field.name] = inner
            elif not is_component(field) or inner_path in self._whole:
                children[field.name] = self._leaf(inner_path)
            elif isinstance(inner, tuple):
                begin = self.slots
                elements = [self._part(item, f"{inner_path}[{index}]") for index, item in enumerate(inner)]
                whole = all(isinstance(element, Struct) for element in elements)
                children[field.name] = Parts(inner_path, tuple(elements), whole, slice(begin, self.slots))
            else:
                children[field.name] = self._part(inner, inner_path)
        aliases = {field.alias: field.name for field in fields}
        return Struct(path, type(value), children, constants, aliases, slice(first, self.slots))

    def _part(self, value: Any, path: str) -> Node:
        return self._struct(value, path) if attrs.has(type(value)) else self._leaf(path)
