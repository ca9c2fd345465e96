"""The blocks of a predicate that is divided. See `leadline.checker.source.control_flow`, which makes them."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType
from typing import Any, NamedTuple

import attrs

TRUE, FALSE, NEITHER = 0, 1, 2
"""The indices of the blocks that end a call: the predicate is true; it is false; it returns no bool."""

NOTHING: frozenset[bool] = frozenset()

THROUGH: dict[str, Callable[..., Iterable[Any]]] = {
    "combinations": itertools.combinations,
    "enumerate": enumerate,
    "pairwise": itertools.pairwise,
    "permutations": itertools.permutations,
    "product": itertools.product,
    "reversed": reversed,
    "zip": zip,
}
"""The functions over whose results a divided loop can iterate: they arrange elements and do not look at them."""


class Whole(Exception):
    """Raised if a predicate cannot be divided.

    Attributes:
        text: a description of the code that cannot be divided.
        line: the line of this code, or 0 if it has none.
        place: the expression to leave undivided if the rest of the predicate can be divided, or None.
    """

    def __init__(self, text: str, line: int = 0, place: Place | None = None) -> None:
        self.text, self.line, self.place = text, line, place
        super().__init__(text)


Place = tuple[int, int, int | None, int | None]
"""The position of an expression in its file."""


class Variable(NamedTuple):
    """A variable of the predicate or of one of its comprehensions.

    Attributes:
        name: the name in the source code.
        scope: 0 for a variable of the predicate itself, or the number of the comprehension.
    """

    name: str
    scope: int


Scope = Mapping[str, Variable]


@attrs.define(eq=False)
class Block:
    """A part of a predicate that runs as a unit. A call then continues with another block.

    Attributes:
        kind: ``test`` evaluates an expression and continues with `then` if it is true, otherwise with `other`.
            ``assign`` assigns to variables. ``iterate`` evaluates an iterable. ``next`` assigns the next element to the
            target of a loop, or continues with `other` if there is none. ``yield`` and ``yield from`` yield sentences.
        node: the syntax tree of the code, for messages.
        code: a function that evaluates the code, or None.
        names: the variables that are passed to the function.
        free: the indices of the closure variables that are passed to the function after them.
        then, other: the indices of the blocks with which a call continues.
        exact: the results, True or False, that the predicate returns. A test with such a result must evaluate to a
            bool.
        counts: whether the block adds to a counter, which must be an integer.
        loop: the index of the loop, for ``iterate`` and ``next``.
        target: the target of the loop, for ``next``, or the tuple of names to which the block assigns, or None.
        scope: the variables that are visible in the target.
        through: the function in `THROUGH` over whose result the loop iterates, or an empty string.
        place: the expression to leave undivided if this block cannot be run, or None.
        live: the variables that are read in this block or later.
        live_loops: the loops that are continued in this block or later.
    """

    kind: str
    node: ast.AST | None = None
    code: CodeType | None = None
    names: tuple[Variable, ...] = ()
    free: tuple[int, ...] = ()
    targets: tuple[Variable, ...] = ()
    then: int = NEITHER
    other: int = NEITHER
    exact: frozenset[bool] = NOTHING
    counts: bool = False
    loop: int = -1
    target: ast.expr | None = None
    scope: Scope = attrs.field(factory=dict)
    through: str = ""
    place: Place | None = None
    live: tuple[Variable, ...] = ()
    live_loops: tuple[int, ...] = ()


def find_live(blocks: Sequence[Block]) -> None:
    """Set, for each block, the variables and loops that this block or a later block uses."""
    live = [set[Variable | int]() for _ in blocks]
    changed = True
    while changed:
        changed = False
        for index in reversed(range(len(blocks))):
            block = blocks[index]
            if block.kind == "end":
                continue
            after = set(live[block.then])
            if block.kind == "next":
                after -= set(block.targets)
                after |= live[block.other] | {block.loop}
            elif block.kind == "iterate":
                after -= {block.loop}
                after |= set(block.names)
            else:
                after -= set(block.targets)
                after |= live[block.other] if block.kind != "assign" else set()
                after |= set(block.names)
            if after != live[index]:
                live[index], changed = after, True
    for block, found in zip(blocks, live, strict=True):
        block.live = tuple(sorted(item for item in found if isinstance(item, Variable)))
        block.live_loops = tuple(sorted(item for item in found if isinstance(item, int)))
