"""Finds the condition that makes a predicate false in a state, and the element that each loop has reached.

The blocks of the predicate are run on the real states; see `control_flow`. This is only done for counterexamples.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from types import FunctionType

from leadline.checker.source.blocks import FALSE, NEITHER, TRUE, Block, Variable
from leadline.checker.source.control_flow import FlowGraph
from leadline.checker.source.running import MOST_STEPS, Carried, Runner
from leadline.checker.support.inspection import with_arguments

LONGEST = 100
"""The maximum length of a condition or a value in a sentence."""


def false_condition(function: object, *states: object) -> str:
    """Return a sentence that names the condition that makes a predicate false.

    Parameters:
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


class _Explained(Runner):
    """A call on real states."""

    def __init__(self, function: FunctionType, states: tuple[object, ...], given: Mapping[str, object]) -> None:
        graph = FlowGraph(function, frozenset())
        values: dict[Variable, object] = dict(zip(graph.parameters, states, strict=False))
        values |= {each: given[each.name] for each in graph.parameters if each.name in given}
        super().__init__(function, graph, {each: self._carried(value) for each, value in values.items()})
        self._first, self._definition = graph.first, graph.definition

    def text(self) -> str:
        index, deciding, is_true = self._first, Block("end"), False
        for _ in range(MOST_STEPS):
            if index in (TRUE, FALSE, NEITHER):
                break
            block = self._blocks[index]
            if block.kind.startswith("yield"):
                return ""  # the sentence says what is wrong
            index = self._run(block)
            if block.kind == "test":
                deciding, is_true = block, index == block.then
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
        iterable = next(block.node for block in self._blocks if block.kind == "iterate" and block.loop == number)
        assert step.target is not None
        assert iterable is not None
        element = loop.elements[loop.done - 1]
        value = self._value(element) if isinstance(element, Carried) else element
        is_path = isinstance(iterable, ast.Attribute | ast.Name)
        name = ast.unparse(step.target)
        if is_path and not isinstance(value, int | str | bool | None):
            return f"{name} = {ast.unparse(iterable)}[{loop.done - 1}]"
        if isinstance(value, tuple) and isinstance(step.target, ast.Tuple):
            pairs = zip(step.target.elts, value, strict=False)
            return ", ".join(f"{ast.unparse(target)} = {_short(_repr(each))}" for target, each in pairs)
        return f"{name} = {_short(_repr(value))}" + (f" ({ast.unparse(iterable)}[{loop.done - 1}])" if is_path else "")


def _repr(value: object) -> str:
    """Return the `repr` of a value without memory addresses, which differ from run to run."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
