"""Finds the condition that makes a predicate false in a state, and the element that each loop has reached.

The blocks of the predicate are run on the real states; see `control_flow`. This is only done for counterexamples.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Mapping
from types import FunctionType
from typing import Any, NamedTuple

from leadline.checker.observing.blocks import FALSE, NEITHER, TRUE, Block, Variable, Whole
from leadline.checker.observing.control_flow import FlowGraph
from leadline.checker.support.inspection import with_arguments

LONGEST = 100
"""The maximum length of a condition or a value in a sentence."""

MOST_STEPS = 100_000
"""The maximum number of blocks that are run."""


class _Loop(NamedTuple):
    """A running loop: its elements, the number of visited elements, and the code of its iterable."""

    elements: list[Any]
    done: int
    iterable: ast.AST


def false_condition(function: object, *states: object) -> str:
    """Return a sentence that names the condition that makes a predicate false.

    Parameters:
        function: the predicate.
        states: a state; for a step, the states before and after it.

    Returns:
        A sentence such as ``p.at < 2 is false for p = state.procs[1]``, or an empty string if the predicate is a single
        condition, or if it cannot be divided.
    """
    function, given = with_arguments(function)
    if not isinstance(function, FunctionType):
        return ""
    try:
        return _Explained(function, states, given).text()
    except Exception:  # of the spec's code: the counterexample is shown without the sentence
        return ""


class _Explained:
    def __init__(self, function: FunctionType, states: tuple[object, ...], given: Mapping[str, object]) -> None:
        self._function, graph = function, FlowGraph(function, frozenset())
        self._blocks, self._first, self._definition = graph.blocks, graph.first, graph.definition
        self._values: dict[Variable, Any] = dict(zip(graph.parameters, states, strict=False))
        self._values |= {each: given[each.name] for each in graph.parameters if each.name in given}
        self._loops: dict[int, _Loop] = {}

    def text(self) -> str:
        index, deciding, is_true = self._first, Block("end"), False
        for _ in range(MOST_STEPS):
            if index in (TRUE, FALSE, NEITHER):
                break
            block = self._blocks[index]
            if block.kind == "test":
                deciding = block
            index = self._step(block)
            if block.kind == "test":
                is_true = index == block.then
        tests = sum(block.kind == "test" for block in self._blocks)
        if index != FALSE or deciding.node is None or (tests < 2 and not deciding.live_loops):
            return ""
        where = [text for number in deciding.live_loops if (text := self._element(number))]
        found = f"{_short(ast.unparse(self._decided(deciding.node, is_true)))} is {str(is_true).lower()}"
        return f"{found} for {', '.join(where)}" if where else found

    def _decided(self, node: ast.AST, is_true: bool) -> ast.AST:
        """Return the largest ``and`` or ``or`` expression whose value the given condition decides."""
        above = {inner: outer for outer in ast.walk(self._definition) for inner in ast.iter_child_nodes(outer)}
        parts = ast.And if is_true else ast.Or
        while isinstance(outer := above.get(node), ast.BoolOp) and isinstance(outer.op, parts):
            node = outer
        return node

    def _element(self, number: int) -> str:
        """Return text that describes the current element of a loop."""
        loop = self._loops[number]
        step = next(block for block in self._blocks if block.kind == "next" and block.loop == number)
        assert step.target is not None
        iterable, value = loop.iterable, loop.elements[loop.done - 1]
        is_path = isinstance(iterable, ast.Attribute | ast.Name)
        name = ast.unparse(step.target)
        if is_path and not isinstance(value, int | str | bool | None):
            return f"{name} = {ast.unparse(iterable)}[{loop.done - 1}]"
        if isinstance(value, tuple) and isinstance(step.target, ast.Tuple):
            pairs = zip(step.target.elts, value, strict=False)
            return ", ".join(f"{ast.unparse(target)} = {_short(_repr(each))}" for target, each in pairs)
        return f"{name} = {_short(_repr(value))}" + (f" ({ast.unparse(iterable)}[{loop.done - 1}])" if is_path else "")

    def _step(self, block: Block) -> int:
        if block.kind == "next":
            loop = self._loops[block.loop]
            if loop.done == len(loop.elements):
                del self._loops[block.loop]
                return block.other
            self._loops[block.loop] = loop._replace(done=loop.done + 1)
            assert block.target is not None
            self._bind(block.target, loop.elements[loop.done], block)
            return block.then
        assert block.code is not None
        function = FunctionType(block.code, self._function.__globals__, block.code.co_name)
        closure = self._function.__closure__ or ()
        arguments = [self._values[variable] for variable in block.names]
        value = function(*arguments, *(closure[place].cell_contents for place in block.free))
        match block.kind:
            case "test":
                return block.then if value else block.other
            case "assign":
                if block.target is not None:
                    self._bind(block.target, value, block)
                else:
                    self._values[block.targets[0]] = value
                return block.then
            case "iterate":
                if block.through:
                    value = _FUNCTIONS[block.through](*value)
                self._loops[block.loop] = _Loop(list(itertools.islice(value, MOST_STEPS)), 0, self._node(block))
                return block.then
        raise Whole("a predicate that yields sentences")

    def _node(self, block: Block) -> ast.AST:
        assert block.node is not None
        return block.node

    def _bind(self, target: ast.expr, value: Any, block: Block) -> None:
        if isinstance(target, ast.Name):
            self._values[block.scope[target.id]] = value
        elif isinstance(target, ast.Tuple | ast.List):
            for inner, element in zip(target.elts, value, strict=True):
                self._bind(inner, element, block)


_FUNCTIONS: dict[str, Any] = {
    "enumerate": enumerate,
    "zip": zip,
    "reversed": reversed,
    "combinations": itertools.combinations,
    "permutations": itertools.permutations,
    "product": itertools.product,
    "pairwise": itertools.pairwise,
}


def _repr(value: object) -> str:
    """Return the `repr` of a value without memory addresses, which differ from run to run."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
