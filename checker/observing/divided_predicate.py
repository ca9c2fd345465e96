"""Runs a predicate block by block, and records what each block reads.

Between two blocks, the position of a call consists of the next block and the values of the variables that later blocks
use. Two calls at the same position continue in the same way, whatever earlier blocks have read. Therefore, the search
learns a separate decision tree for each position. A leaf of this tree says at which position the call continues.

This requires that no other information passes from a block to a later block. The value of a variable must be immutable
or a part of the state; see `carried`. The code must not be able to change an object that outlives a block; see
`Reach.lasting`. Otherwise, the predicate is not divided.
"""

from __future__ import annotations

import ast
import enum
import functools
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, NamedTuple

import attrs

from leadline.checker.bag import Bag
from leadline.checker.map import Map
from leadline.checker.observing.collection_views import CollectionView
from leadline.checker.observing.lazy import lazy_instances
from leadline.checker.observing.nodes import NODES, Node, can_be_taken_apart, copies_unread
from leadline.checker.observing.recording import Recorder
from leadline.checker.observing.step_slots import SECOND
from leadline.checker.observing.tuple_views import TupleView
from leadline.checker.source.blocks import FALSE, NEITHER, TRUE, Block, Place, Variable, Whole
from leadline.checker.source.control_flow import FlowGraph
from leadline.checker.source.running import MOST_STEPS, Carried, Key, Runner
from leadline.checker.support.inspection import is_frozen


class Position(NamedTuple):
    """One part of a recorded call.

    Attributes:
        reads: the slots that the part reads, each with the index of its value, in the order in which they were read.
    """

    key: Key
    reads: dict[int, int]


@attrs.frozen
class Run:
    """A recorded call of a predicate.

    Attributes:
        positions: the parts of the call, in order.
    """

    positions: tuple[Position, ...]
    gave: bool


class DividedPredicate:
    """A predicate that is divided into blocks.

    Parameters:
        given: the values of the parameters after the states, keyed by name.

    Attributes:
        undivided: the expressions that cannot be divided. Keys of positions must not be compared if they were created
            with different expressions of this kind.

    Raises:
        Whole: if the predicate cannot be divided.
    """

    def __init__(self, function: FunctionType, given: Mapping[str, object]) -> None:
        self._function, self._given = function, given
        self.undivided = frozenset[Place]()
        self._graph = FlowGraph(function, self.undivided)

    def run(
        self, root: Node, states: int, new_recorder: Callable[[], Recorder], ended: Callable[[Recorder], None]
    ) -> Run:
        """Call the predicate, and record its reads.

        Parameters:
            states: the number of states that the predicate takes.
            new_recorder: a function that returns a new recorder for the state, or for the states before and after a
                step.
            ended: a function that is called with each recorder after its block has ended.

        Raises:
            Whole: if the predicate cannot be divided. It must not be run again after this.
            Exception: if the predicate raised an exception.
        """
        while True:
            try:
                values = self._first_values(root, states)
                return self._run(_Running(self._function, self._graph, values, new_recorder, ended))
            except Whole as error:
                if error.place is None or error.place in self.undivided:
                    raise
                self.undivided |= {error.place}
                self._graph = FlowGraph(self._function, self.undivided)

    def _run(self, running: _Running) -> Run:
        positions: list[Position] = []
        block = self._graph.first
        for _ in range(MOST_STEPS):
            if block in (TRUE, FALSE, NEITHER):
                if block == NEITHER:
                    raise Whole("a result that is not a bool")
                last = [Position((block,), {})]
                return Run(tuple([each for each in positions if each.reads] or last), block == TRUE)
            key = running.key(block)
            block, reads = running.step(block)
            positions.append(Position(key, reads))
        raise Whole("a call that takes too many steps")

    def _first_values(self, root: Node, states: int) -> dict[Variable, Carried]:
        """Return the values of the parameters."""
        values = {}
        for place, variable in enumerate(self._graph.parameters):
            if place < states:
                values[variable] = _node(root, place * SECOND)
            elif variable.name in self._given:
                values[variable] = carried(self._given[variable.name], None)
            else:
                raise Whole("a parameter with a default value")
        return values


class _Running(Runner):
    """A recorded call. For the parameters that `Runner` does not have, see `DividedPredicate.run`."""

    def __init__(
        self,
        function: FunctionType,
        graph: FlowGraph,
        values: dict[Variable, Carried],
        new_recorder: Callable[[], Recorder],
        ended: Callable[[Recorder], None],
    ) -> None:
        super().__init__(function, graph, values)
        self._new_recorder, self._ended = new_recorder, ended
        self._recorder: Recorder | None = None

    def _carried(self, value: Any) -> Carried:
        return carried(value, self._recorder)

    def _value(self, given: Carried) -> Any:
        return _value(given, self._recorder)

    def _elements(self, given: Carried) -> list[Carried]:
        return _elements(given, self._recorder)

    def key(self, index: int) -> Key:
        """Return the key of the position before a block."""
        block, values, loops = self._blocks[index], self._values, self._loops
        of_variables = tuple([(variable in values and values[variable].key) for variable in block.live])
        of_loops = tuple([(number in loops and (loops[number].key, loops[number].done)) for number in block.live_loops])
        return index, of_variables, of_loops

    def step(self, index: int) -> tuple[int, dict[int, int]]:
        """Run a block. Return the index of the next block and the slots that were read."""
        block = self._blocks[index]
        recorder = self._recorder = self._new_recorder() if self._may_read(block) else None
        try:
            following = self._run(block)
        except Whole as error:
            line = getattr(block.node, "lineno", 0)
            raise Whole(error.text, error.line or line, block.place) from None
        finally:
            if recorder is not None:
                recorder.end()
                self._ended(recorder)
        return following, {} if recorder is None else recorder.reads

    def _may_read(self, block: Block) -> bool:
        """Return whether a block may read a part of a state."""
        if block.kind == "next":
            return not isinstance(block.target, ast.Name)
        return any(variable in self._values and self._values[variable].kind != "data" for variable in block.names)


def _node(node: Node, offset: int) -> Carried:
    return Carried(("node", node.path, offset), "node", node, offset)


def carried(value: Any, recorder: Recorder | None) -> Carried:
    """Return a value in a form that can be kept between two blocks.

    Parameters:
        value: the value of a variable or of an iterable.
        recorder: the recorder of the block that computed the value, or None if it contains no part of a state.

    Raises:
        Whole: if the value may be mutable, or is a part of a state that the predicate has changed.
    """
    kind = type(value)
    if kind in _ATOMS:
        return Carried((kind.__name__, value), "data", value)
    if kind is range:
        return Carried(("range", value.start, value.stop, value.step), "data", value)
    if kind is TupleView and recorder is not None and value._recorder is recorder:
        inner = tuple(
            [_node(item, value._offset) if type(item) in NODES else carried(item, recorder) for item in value._items]
        )
        return Carried(("view", *(each.key for each in inner)), "view", inner, value._offset)
    if isinstance(value, CollectionView):
        if recorder is not None and value._recorder is recorder and not value._changes:
            return _node(value._node, value._offset)
        raise Whole("a modified set, bag or map")
    lazy = lazy_instances.get(id(value))
    if lazy is not None:
        if lazy[0] is recorder and lazy[3] is None:
            return _node(lazy[1], lazy[2])
        raise Whole("a modified part of the state")
    if kind is tuple:
        inner = tuple([carried(item, recorder) for item in value])
        if all(each.kind == "data" for each in inner):
            return Carried(("tuple", *(each.key for each in inner)), "data", value)
        return Carried(("tuple", *(each.key for each in inner)), "tuple", inner)
    return Carried(_key_of_data(value), "data", value)


def _key_of_data(value: Any) -> Key:
    """Return a key that identifies a value without parts of a state."""
    kind: Any = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if _named.setdefault(name, kind) is not kind:
        raise Whole(f"two classes named {name}")  # keys name classes, as they are sent between processes
    if id(value) in lazy_instances:
        raise Whole("an object that contains a part of the state")
    if kind in _ATOMS or kind in (range, tuple):
        return carried(value, None).key
    if kind is frozenset:
        return name, frozenset(map(_key_of_data, value))
    if kind is Bag:
        return name, frozenset((_key_of_data(item), count) for item, count in value.items())
    if kind is Map:
        return name, frozenset((_key_of_data(key), _key_of_data(item)) for key, item in value.items())
    if isinstance(value, enum.Enum) and kind.__members__.get(value.name) is value:
        return name, value.name
    if _is_record(kind):
        return name, *(_key_of_data(getattr(value, field.name)) for field in attrs.fields(kind))
    raise Whole(f"a variable or an iterable of type {kind.__name__}")


@functools.lru_cache(maxsize=4096)
def _is_record(kind: Any) -> bool:
    """Return whether a class is a frozen attrs class whose instances consist only of their fields."""
    return is_frozen(kind) and can_be_taken_apart(kind) and copies_unread(kind)


def _value(given: Carried, recorder: Recorder | None) -> Any:
    """Convert a carried value back to a value that another block can use."""
    if given.kind == "data":
        return given.value
    if given.kind == "tuple":
        return tuple([_value(item, recorder) for item in given.value])
    assert recorder is not None
    if given.kind == "node":
        return recorder.value(given.value, given.offset)
    items = [item.value if item.kind == "node" else _value(item, recorder) for item in given.value]
    return TupleView(recorder, given.offset, tuple(items))


def _elements(given: Carried, recorder: Recorder | None) -> list[Carried]:
    """Return the elements of a tuple.

    Raises:
        Whole: if the value is not a tuple.
    """
    if given.kind in ("tuple", "view"):
        return list(given.value)
    value = _value(given, recorder)
    if given.kind == "node" and (type(value) is TupleView or type(value) is tuple):
        again = carried(value, recorder)
        return _elements(again, recorder)
    if given.kind == "data" and type(value) is tuple:
        return [carried(item, None) for item in value]
    raise Whole(f"a loop over a value of type {_name_of(value)}")


def _name_of(value: object) -> str:
    return "set" if isinstance(value, CollectionView) else type(value).__name__


_ATOMS = frozenset((int, bool, str, bytes, type(None)))

_named: dict[str, Any] = {}
"""The classes of values that were carried, by name."""
