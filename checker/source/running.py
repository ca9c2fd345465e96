"""Runs a predicate block by block.

The module `explain` runs it on real states. `leadline.checker.observing.divided_predicate` runs it on lazy states,
where each block records what it reads.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Sequence
from types import FunctionType
from typing import Any, NamedTuple

from leadline.checker.source.blocks import THROUGH, Block, Variable, Whole
from leadline.checker.source.control_flow import FlowGraph

MOST_ELEMENTS = 4_096
"""The maximum number of elements of a loop that is divided."""

MOST_STEPS = 100_000
"""The maximum number of blocks that a call runs."""

Key = tuple[object, ...]
"""Identifies a position of a call: the index of a block, and the values of variables and loops."""


class Carried(NamedTuple):
    """The value of a variable between two blocks.

    Attributes:
        key: identifies the value. Values with equal keys cannot be distinguished, except by identity.
        kind: ``data`` for a value without parts of a state, ``node`` for a part of a state, ``tuple`` and ``view`` for
            tuples of carried values.
        value: the value itself, the node, or the carried values of the elements.
        offset: for ``node`` and ``view``, a number that identifies the state; see `Recorder`.
    """

    key: Key
    kind: str
    value: Any
    offset: int = 0


class Loop(NamedTuple):
    """The progress of a loop between two blocks.

    Attributes:
        key: identifies the elements.
        done: the number of elements that the loop has already visited.
    """

    key: Key
    elements: Sequence[Carried] | range
    done: int


class Runner:
    """A running call, block by block, on ordinary values: the values of its variables, and its loops."""

    def __init__(self, function: FunctionType, graph: FlowGraph, values: dict[Variable, Carried]) -> None:
        self._function, self._blocks, self._values = function, graph.blocks, values
        self._loops: dict[int, Loop] = {}

    def _carried(self, value: Any) -> Carried:
        """Return a value in a form that can be kept until the next block."""
        return Carried((), "data", value)

    def _value(self, given: Carried) -> Any:
        """Return a value in the form in which a block uses it."""
        return tuple(map(self._value, given.value)) if given.kind == "tuple" else given.value

    def _elements(self, given: Carried) -> list[Carried]:
        """Return the elements of an iterable."""
        return [self._carried(each) for each in itertools.islice(self._value(given), MOST_ELEMENTS + 1)]

    def _run(self, block: Block) -> int:
        """Run a block, and return the index of the next one."""
        following: int = getattr(self, f"_{block.kind.replace(' ', '_')}")(block)
        return following

    def _evaluated(self, block: Block) -> Any:
        assert block.code is not None
        missing = [variable.name for variable in block.names if variable not in self._values]
        if missing:
            raise Whole(f"the variable {missing[0]}, which might not have a value")
        values = [self._value(self._values[variable]) for variable in block.names]
        cells = self._function.__closure__ or ()
        call = FunctionType(block.code, self._function.__globals__, block.code.co_name)
        return call(*values, *(cells[place].cell_contents for place in block.free))

    def _test(self, block: Block) -> int:
        value = self._evaluated(block)
        is_true = True if value else False  # noqa: SIM210, as a view of a collection is read here
        if is_true in block.exact and type(value) is not bool:
            raise Whole("a result that is not a bool")
        return block.then if is_true else block.other

    def _assign(self, block: Block) -> int:
        value = self._evaluated(block)
        if block.counts and type(value) is not int:
            raise Whole("a sum of values that are not integers")
        if block.target is not None:
            self._bind(block.target, self._carried(value), block)
        else:
            self._values[block.targets[0]] = self._carried(value)
        return block.then

    def _yield(self, block: Block) -> int:
        if not isinstance(self._evaluated(block), str):
            raise Whole("a yielded value that is not a str")
        return block.then

    def _yield_from(self, block: Block) -> int:
        sentence = next(iter(self._evaluated(block)), None)
        if sentence is None:
            return block.then
        if not isinstance(sentence, str):
            raise Whole("a yielded value that is not a str")
        return block.other

    def _iterate(self, block: Block) -> int:
        value = self._carried(self._evaluated(block))
        arguments = self._elements(value) if block.through else [value]
        elements = self._through(block.through, arguments)
        if len(elements) > MOST_ELEMENTS:
            raise Whole("a loop over too many elements")
        self._loops[block.loop] = Loop((block.through, *(each.key for each in arguments)), elements, 0)
        return block.then

    def _next(self, block: Block) -> int:
        loop = self._loops[block.loop]
        if loop.done == len(loop.elements):
            del self._loops[block.loop]
            return block.other
        element = loop.elements[loop.done]
        assert block.target is not None
        bound = element if isinstance(element, Carried) else self._carried(element)
        self._bind(block.target, bound, block)
        self._loops[block.loop] = loop._replace(done=loop.done + 1)
        return block.then

    def _bind(self, target: ast.expr, value: Carried, block: Block) -> None:
        if isinstance(target, ast.Name):
            self._values[block.scope[target.id]] = value
            return
        assert isinstance(target, ast.Tuple | ast.List)
        elements = self._elements(value)
        if len(elements) != len(target.elts):
            raise Whole("a tuple with an unexpected number of elements")
        for inner, element in zip(target.elts, elements, strict=True):
            self._bind(inner, element, block)

    def _through(self, name: str, arguments: list[Carried]) -> Sequence[Carried] | range:
        """Return the elements over which a loop iterates.

        The functions in `THROUGH` only arrange the elements of their arguments, so they are given carried values.

        Parameters:
            name: the name of a function in `THROUGH`, or an empty string.
            arguments: the arguments of the function, or the iterable.
        """
        if not name and arguments[0].kind == "data" and type(arguments[0].value) is range:
            found: range = arguments[0].value
            return found
        given: list[Any] = [
            each.value if name and each.kind == "data" and type(each.value) is int else self._sequence(each)
            for each in arguments
        ]
        if sum(len(each) for each in given if isinstance(each, list)) > MOST_ELEMENTS:
            raise Whole("a loop over too many elements")
        try:
            rows = list(itertools.islice(THROUGH[name](*given) if name else given[0], MOST_ELEMENTS + 1))
        except (TypeError, ValueError):
            raise Whole(f"unsupported arguments of {name}") from None
        return [row if isinstance(row, Carried) else self._row(row) for row in rows]

    def _row(self, row: Iterable[Any]) -> Carried:
        """Return a tuple of elements and numbers."""
        items = tuple([each if isinstance(each, Carried) else self._carried(each) for each in row])
        return Carried(("tuple", *(each.key for each in items)), "tuple", items)

    def _sequence(self, given: Carried) -> list[Carried]:
        if given.kind == "data" and type(given.value) is range:
            if len(given.value) > MOST_ELEMENTS:
                raise Whole("a loop over too many elements")
            return [self._carried(number) for number in given.value]
        return self._elements(given)
