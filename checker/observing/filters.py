"""Filters: which members of a collection a loop skips.

``[m for m in state.msgs if m.kind == "vote"]`` depends on the membership of votes only: whether another message is in
the set makes no difference, as the loop passes over it. A loop's filter is the ``if`` of a comprehension, the ``if``
that is all there is in the body of a ``for`` statement, an ``if`` with ``continue`` at its beginning, and what ``any``
and ``all`` ask of each member. It is taken from the source of the running function, provided that the source compiles
to the very instructions that run.

It is evaluated before the loop begins, so it must not change while the loop runs. Hence the names in it must not be
assigned in the loop, their values must be immutable, and a generator expression must be consumed at once.
"""

from __future__ import annotations

import ast
import builtins
import dis
import functools
import itertools
import linecache
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

_MEMBER = "__member"
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, *_COMPREHENSIONS)
_NOT_FOR_FILTERS = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
_CONSUMERS = frozenset(("all", "any", "dict", "frozenset", "list", "max", "min", "set", "sorted", "sum", "tuple"))
"""Built-in functions that have finished with a generator expression when they return."""

_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)

Position = tuple[int | None, int | None, int | None, int | None]


class Filter(NamedTuple):
    """The condition by which a loop passes over members.

    Attributes:
        target: what the loop assigns each member to.
        condition: true of the members that the loop does not pass over.
        consumer: the built-in function that a generator expression is given to; else empty.
        asks: whether the condition is what ``any`` or ``all`` ask, so that one member may decide.
        clause: which of the ``for`` clauses of a comprehension; -1 of a ``for`` statement.
    """

    target: ast.expr
    condition: ast.expr
    consumer: str
    asks: bool
    clause: int

    def bind(self, frame: FrameType, is_immutable: Callable[[Any], bool]) -> Callable[[Any], bool]:
        """The condition, with the values that names have in the running loop now.

        Parameters:
            frame: of the function that the loop is in.
            is_immutable: whether a value stays as it is while the loop runs.
        """
        code, names = _compiled(self, frame.f_code)
        local = frame.f_locals
        given = [local[name] for name in names if name in local]
        if len(given) < len(names) or not all(map(is_immutable, given)):
            return lambda _: True
        function: Any = FunctionType(code, frame.f_globals)

        def concerns(member: Any) -> bool:
            try:
                return bool(function(member, *given))
            except Exception:
                return True  # the loop itself would raise it, if the member is in the collection

        return concerns


def filter_of(frame: FrameType) -> Filter | None:
    """The filter of the loop that a running function is about to begin; None if it has none, or none can be known.

    Parameters:
        frame: of the function, which asks for an iterator.
    """
    found = _filter_at(frame.f_code, frame.f_lasti)
    if found is not None and found.consumer:
        own = getattr(builtins, found.consumer)
        function = frame.f_locals.get(found.consumer, frame.f_globals.get(found.consumer, own))
        return found if function is own else None
    return found


@functools.lru_cache(maxsize=4096)
def _filter_at(code: CodeType, place: int) -> Filter | None:
    instructions = [step for step in dis.get_instructions(code) if step.opname not in ("CACHE", "PRECALL")]
    number = next((number for number, step in enumerate(instructions) if step.offset == place), None)
    if number is None or instructions[number].opname != "GET_ITER":
        return None
    position = next(itertools.islice(code.co_positions(), place // 2, None))
    found = _filters(code.co_filename).get(code, {}).get(position, [])
    if len(found) > 1:  # the clauses of one comprehension: the first is begun outside of the function of the others
        following = instructions[number + 1].opname
        clauses = {"CALL": [0], "FOR_ITER": [clause for clause in range(1, 3) if len(found) == 2]}.get(following, [])
        found = [item for item in found if item.clause in clauses]
    return found[0] if len(found) == 1 and found[0].condition is not _ANYTHING else None


_ANYTHING: ast.expr = ast.Constant(True)
"""The condition of a loop that passes over nothing."""


@functools.lru_cache(maxsize=256)
def _filters(filename: str) -> dict[CodeType, dict[Position, list[Filter]]]:
    """For each function of a file, the filters of the file's loops by the position of what begins them."""
    source = "".join(linecache.getlines(filename))
    try:
        tree, module = ast.parse(source), compile(source, filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return {}
    found: dict[Position, list[Filter]] = {}

    def visit(node: ast.AST, parent: ast.AST, function: ast.AST) -> None:
        if isinstance(node, ast.For):
            item = Filter(node.target, _statement_condition(node, function), "", False, -1)
            for place in (node, node.iter):
                found.setdefault(_position(place), []).append(item)
        elif isinstance(node, _COMPREHENSIONS):
            for clause, item in enumerate(_comprehension_filters(node, parent, function)):
                found.setdefault(_position(node), []).append(item)
                found.setdefault(_position(node.generators[clause].iter), []).append(item)
        for child in ast.iter_child_nodes(node):
            visit(child, node, node if isinstance(node, _FUNCTIONS) else function)

    visit(tree, tree, tree)
    return dict.fromkeys(_codes(module), found)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _position(node: Any) -> Position:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _comprehension_filters(
    node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, parent: ast.AST, function: ast.AST
) -> Iterator[Filter]:
    last, consumer = len(node.generators) - 1, ""
    if isinstance(node, ast.GeneratorExp):
        consumer = _consumer(parent, node)
    for clause, generator in enumerate(node.generators):
        conditions = list(generator.ifs)
        asks = clause == last and consumer in ("any", "all")
        if asks:
            conditions.append(node.elt if consumer == "any" else ast.UnaryOp(ast.Not(), node.elt))  # type: ignore[union-attr]
        at_once = consumer or not isinstance(node, ast.GeneratorExp)
        condition = _all_of(conditions, node, function) if at_once else _ANYTHING
        yield Filter(generator.target, condition, consumer, asks, clause)


def _consumer(parent: ast.AST, generator: ast.GeneratorExp) -> str:
    """The function that is through with a generator expression at once; empty if there is none."""
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.args == [generator]:
        return parent.func.id if parent.func.id in _CONSUMERS else ""
    return ""


def _statement_condition(loop: ast.For, function: ast.AST) -> ast.expr:
    """When the body of a ``for`` statement does anything."""
    if any(name in _read_outside_of_loops(function, name) for name in _names(loop.target)):
        return _ANYTHING  # the last member matters after the loop
    conditions: list[ast.expr] = []
    body = list(loop.body)
    while body and isinstance(body[0], ast.If) and not body[0].orelse and _is_continue(body[0].body):
        conditions.append(ast.UnaryOp(ast.Not(), body.pop(0).test))  # type: ignore[attr-defined]
    if len(body) == 1 and isinstance(body[0], ast.If):
        tests, branch = [body[0].test], body[0].orelse
        while len(branch) == 1 and isinstance(branch[0], ast.If):
            tests.append(branch[0].test)
            branch = branch[0].orelse
        if not branch:
            conditions.append(tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), tests))
    return _all_of(conditions, loop, function)


def _read_outside_of_loops(node: ast.AST, name: str) -> set[str]:
    """The name, if it is read where no loop over it gives it its value; else nothing."""
    binders = (ast.For, ast.comprehension)
    if isinstance(node, ast.Name):
        return {node.id} if node.id == name and isinstance(node.ctx, ast.Load) else set()
    if isinstance(node, _COMPREHENSIONS) and any(name in _names(clause.target) for clause in node.generators):
        return set()
    if isinstance(node, binders) and name in _names(node.target):
        return _read_outside_of_loops(node.iter, name)
    return set().union(*(_read_outside_of_loops(child, name) for child in ast.iter_child_nodes(node)))


def _is_continue(body: list[ast.stmt]) -> bool:
    return len(body) == 1 and isinstance(body[0], ast.Continue)


def _all_of(conditions: list[ast.expr], loop: ast.AST, function: ast.AST) -> ast.expr:
    """All conditions of a loop, unless the loop may change what they depend on."""
    if not conditions or any(isinstance(node, _NOT_FOR_FILTERS) for item in conditions for node in ast.walk(item)):
        return _ANYTHING
    if any(isinstance(node, ast.Nonlocal | ast.Global) for node in ast.walk(function)):
        return _ANYTHING
    read = set().union(*map(_names, conditions))
    if isinstance(loop, ast.For):
        read -= _names(loop.target)
        runs: list[ast.AST] = [*loop.body, *loop.orelse]
    else:
        runs = [node for node in ast.walk(loop) if isinstance(node, ast.NamedExpr)]
    if any(read & _assigned(node) for node in runs):
        return _ANYTHING
    return conditions[0] if len(conditions) == 1 else ast.BoolOp(ast.And(), conditions)


def _assigned(node: ast.AST) -> set[str]:
    """The names that a statement binds, wherever in it."""
    found = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Load):
            found.add(inner.id)
        elif isinstance(inner, _NAMED):
            found.add(inner.name or "")
        elif isinstance(inner, ast.MatchMapping):
            found.add(inner.rest or "")
        elif isinstance(inner, ast.alias):
            found.add(inner.asname or inner.name.partition(".")[0])
    return found


def _names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


@functools.lru_cache(maxsize=4096)
def _compiled(item: Filter, running: CodeType) -> tuple[CodeType, tuple[str, ...]]:
    """A function of a member, and of the values of some local names, that gives a filter's condition.

    Parameters:
        item: the filter.
        running: the function that the loop is in: it says which names are local.
    """
    local = {*running.co_varnames, *running.co_cellvars, *running.co_freevars}
    names = tuple(sorted((_names(item.condition) & local) - _names(item.target)))
    arguments = ast.arguments([], [ast.arg(_MEMBER), *map(ast.arg, names)], None, [], [], None, [])
    # a loop over one member, so that it is taken apart as in ``for kind, sender in ...``
    loop = ast.For(
        item.target, ast.Tuple([ast.Name(_MEMBER, ast.Load())], ast.Load()), [ast.Return(item.condition)], [], None
    )
    function = ast.FunctionDef("filter", arguments, [loop], [], None, None)
    if hasattr(function, "type_params"):
        function.type_params = []
    tree = ast.fix_missing_locations(ast.Module([function], []))
    module = compile(tree, running.co_filename, "exec", dont_inherit=True)
    return next(constant for constant in module.co_consts if isinstance(constant, CodeType)), names
