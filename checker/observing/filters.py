"""Filters: the conditions under which a loop skips a member of a collection.

The result of ``[m for m in state.msgs if m.kind == "vote"]`` depends only on the votes in the set. Messages of other
kinds need not be read, because the loop skips them. The filter of a loop consists of

- the ``if`` clauses of a comprehension,
- an ``if`` statement that is the only statement in the body of a ``for`` loop,
- ``if`` statements that contain only ``continue``, at the beginning of the body,
- the condition that ``any`` or ``all`` tests for each member.

Filters are read from the source code of the running function, provided that the source compiles to the instructions
that are running.

A filter is evaluated before the loop starts, for all known members of the collection, whether or not the collection
contains them in the current state. That must have no effect, and give the same result as in the loop:

- the code must not be able to change an object that outlives the call, as when a predicate is divided; see
  `Reach.lasting`;
- the values of the names in a condition must not be able to change, and the loop must not assign to these names;
- a condition must not call functions, except ``len`` and ``isinstance``, as a call might not end for such a member;
- a generator expression must be consumed immediately, and the variable of a ``for`` loop must not be read after the
  loop, because it then contains the last member.

If the analysis cannot prove that these requirements are met, the loop reads all members. If a condition raises an
exception for a member, the loop reads this member, and raises the exception if the collection contains it.
"""

from __future__ import annotations

import ast
import builtins
import dis
import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

from leadline.checker.observing.domains import StandIn
from leadline.checker.observing.lazy import lazy_instances
from leadline.checker.source.files import SCOPES, Source, assigned_in, codes_in, names_in, source_in
from leadline.checker.source.fragments import compiled_alone, function_code
from leadline.checker.values import ATOMS, first_unfit

LONGEST = 60
"""The maximum number of characters of a condition in reports."""

_MEMBER = "__member"
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_CONSUMERS = frozenset(("all", "any", "dict", "frozenset", "list", "max", "min", "set", "sorted", "sum", "tuple"))
"""The built-in functions that do not use a generator expression after they return."""

Condition = Callable[[object], bool]
"""A function that returns false for a member that the loop skips."""


class Asked(NamedTuple):
    """Code that determines which members a loop uses: a condition, or a statement that ends the loop.

    Attributes:
        line: the line number of the code in the file.
    """

    text: str
    line: int


class Filter(NamedTuple):
    """The conditions under which a loop, or one ``for`` clause of a comprehension, skips members of a collection.

    Attributes:
        target: the syntax tree of the target to which the loop assigns each member.
        conditions: the conditions, in the order of evaluation. The loop skips a member if one of them is false.
        consumer: the name of the built-in function that consumes a generator expression, or an empty string for other
            loops.
        asks: whether the last condition is the one that ``any`` or ``all`` tests, so that a single member can determine
            the result.
        clause: the index of the ``for`` clause in a comprehension, or -1 for a ``for`` statement.
        suspends: whether other functions can run between two members, because the loop contains ``yield`` or ``await``.
        asked: all code that determines which members the loop uses, in order. The supported conditions come first. Any
            remaining code is not supported. The loop therefore reads every member for which the supported conditions
            are true.
    """

    target: ast.expr
    conditions: tuple[ast.expr, ...]
    consumer: str
    asks: bool
    clause: int
    suspends: bool = False
    asked: tuple[Asked, ...] = ()

    def bind(self, frame: FrameType) -> list[Condition]:
        """Return functions that evaluate the conditions with the current values of the names in them.

        If a condition contains a name whose value is unknown or may change, this condition and all later conditions are
        left out.

        Parameters:
            frame: the frame of the function that contains the loop.
        """
        found = []
        local = frame.f_locals
        for condition in self.conditions:
            code, own, other = _compiled(self.target, condition, frame.f_code)
            if self.suspends and not set(own).isdisjoint(frame.f_code.co_freevars):
                break
            values = [local.get(name, _UNKNOWN) for name in own]
            if not all(map(_is_fixed, values)):
                break
            values += [frame.f_globals.get(name, frame.f_builtins.get(name, _UNKNOWN)) for name in other]
            if any(value is _UNKNOWN for value in values):
                break
            found.append(_bound(FunctionType(code, {}), values))
        return found


def _bound(function: Callable[..., Any], values: list[Any]) -> Condition:
    return lambda member: bool(function(member, *values))


_UNKNOWN: Any = object()


def _is_fixed(value: Any) -> bool:
    """Return whether a value cannot change: it is a part of a state, or could be one."""
    kind: type = type(value)
    if kind in ATOMS:
        return True
    if id(value) in lazy_instances:
        return lazy_instances[id(value)][3] is None
    if issubclass(kind, StandIn):
        return kind.is_fixed(value)
    if kind is tuple:
        return all(map(_is_fixed, value))
    try:
        hash(value)  # lists, sets and dicts do not have a hash
    except TypeError:
        return False
    return value is not _UNKNOWN and first_unfit(value) is None


_are_off = ContextVar("_are_off", default=False)


@contextmanager
def filters_off() -> Iterator[None]:
    """Return a context manager that disables filters. Within its ``with`` block, loops run for all members and read all
    members.
    """
    token = _are_off.set(True)
    try:
        yield
    finally:
        _are_off.reset(token)


def are_off() -> bool:
    """Return whether filters are disabled; see `filters_off`."""
    return _are_off.get()


def filter_of(frame: FrameType) -> Filter | None:
    """Return the filter of the loop that a running function is about to start.

    Returns:
        The filter, or None if the loop has no filter or the filter cannot be determined.
    """
    if _are_off.get():
        return None
    found = _filter_at(frame.f_code.co_filename, frame.f_code, frame.f_lasti)
    if found is not None and found.consumer:
        own = getattr(builtins, found.consumer)
        function = frame.f_locals.get(found.consumer, frame.f_globals.get(found.consumer, own))
        return found if function is own else None
    return found


def operator_at(frame: FrameType) -> str:
    """Return the operator that a running function is applying, such as ``|=``.

    If the function is not applying an operator, return an empty string.
    """
    return _operator_at(frame.f_code, frame.f_lasti)


@functools.lru_cache(maxsize=4096)
def _operator_at(code: CodeType, place: int) -> str:
    steps = (step for step in dis.get_instructions(code) if step.offset == place and step.opname == "BINARY_OP")
    return next((step.argrepr for step in steps), "")


def may_intersect(frame: FrameType) -> bool:
    """Return whether a running function may be calling the method `intersection` or `intersection_update` of a real
    set.
    """
    names = frame.f_code.co_names
    return ("intersection" in names or "intersection_update" in names) and _is_call(frame.f_code, frame.f_lasti)


@functools.lru_cache(maxsize=4096)
def _is_call(code: CodeType, place: int) -> bool:
    return any(step.offset == place and step.opname.startswith("CALL") for step in dis.get_instructions(code))


@functools.lru_cache(maxsize=4096)
def _filter_at(filename: str, code: CodeType, place: int) -> Filter | None:
    """Return the filter of the loop at the given position in a code object, or None if there is no filter.

    Code objects from two files can be equal, so the file name is also needed.
    """
    instructions = [step for step in dis.get_instructions(code) if step.opname not in ("CACHE", "PRECALL")]
    number = next((number for number, step in enumerate(instructions) if step.offset == place), None)
    source = source_in(filename)
    if number is None or instructions[number].opname != "GET_ITER" or source is None:
        return None
    if code not in source.codes and code not in compiled_alone:  # a part of a function has the positions of the whole
        return None
    nodes = source.at.get(next(itertools.islice(code.co_positions(), place // 2, None)), ())
    found = [item for node in nodes for item in _filters_at(node, source)]
    if len(found) > 1:  # The iterable of the first clause is evaluated outside of the comprehension's function.
        following = instructions[number + 1].opname
        clauses = {"CALL": [0], "FOR_ITER": [clause for clause in range(1, 3) if len(found) == 2]}.get(following, [])
        found = [item for item in found if item.clause in clauses]
    return found[0] if len(found) == 1 and found[0].asked else None


def _filters_at(node: ast.AST, source: Source) -> Iterator[Filter]:
    """Yield the filters of the loops that begin where a node is: the node is a loop, or the iterable of one."""
    above = source.above.get(node)
    if isinstance(node, ast.For):
        yield _of_statement(node, source)
    elif isinstance(node, _COMPREHENSIONS):
        yield from _of_comprehension(node, source)
    if isinstance(above, ast.For) and above.iter is node:
        yield _of_statement(above, source)
    elif isinstance(above, ast.comprehension) and above.iter is node:
        comprehension = source.above[above]
        assert isinstance(comprehension, _COMPREHENSIONS)
        yield _of_comprehension(comprehension, source)[comprehension.generators.index(above)]


@functools.lru_cache(maxsize=256)
def _shared(source: Source) -> frozenset[str]:
    """Return the names of a file whose values can change while a loop runs that does not assign to them."""
    return _declared(source.tree) | _suspended(source.module)


def _declared(tree: ast.AST) -> frozenset[str]:
    """Return the names that any function in a file declares as global or nonlocal."""
    declarations = (node for node in ast.walk(tree) if isinstance(node, ast.Global | ast.Nonlocal))
    return frozenset(name for node in declarations for name in node.names)


def _suspended(module: CodeType) -> frozenset[str]:
    """Return the variables that a generator assigns to and that functions nested in the generator use in loops.

    The generator can assign to such a variable while the loop runs, because the loop can resume the generator.
    """
    found = set[str]()
    for code in codes_in(module):
        if code.co_flags & inspect.CO_GENERATOR:
            steps = dis.get_instructions(code)
            assigned = {step.argval for step in steps if step.opname in ("STORE_DEREF", "DELETE_DEREF")}
            for inner in codes_in(code):
                is_function = inner is not code and (inner.co_name[0] != "<" or inner.co_name == "<lambda>")
                if is_function and any(_has_loop(part) for part in codes_in(inner)):
                    found |= assigned.intersection(inner.co_freevars)
    return frozenset(found)


def _has_loop(code: CodeType) -> bool:
    return any(step.opname == "GET_ITER" for step in dis.get_instructions(code))


@functools.lru_cache(maxsize=256)
def _bound_names(source: Source) -> frozenset[str]:
    """Return all names that the code in a file assigns to, and the names of all parameters."""
    parameters = (node.arg for node in ast.walk(source.tree) if isinstance(node, ast.arg))
    return frozenset(assigned_in(source.tree)).union(parameters)


def _of_comprehension(
    node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, source: Source
) -> list[Filter]:
    last, consumer, filters = len(node.generators) - 1, "", []
    if isinstance(node, ast.GeneratorExp):
        consumer = _consumer(source.above[node], node)
        consumer = "" if consumer in _bound_names(source) else consumer  # the name may refer to another function
    named = (inner for inner in ast.walk(node) if isinstance(inner, ast.NamedExpr))
    assigned = _shared(source).union(*map(assigned_in, named))
    for clause, generator in enumerate(node.generators):
        tests = list(generator.ifs)
        asks = clause == last and consumer in ("any", "all")
        if asks and isinstance(node, ast.GeneratorExp):
            tests.append(node.elt if consumer == "any" else _negated(node.elt))
        at_once = consumer or not isinstance(node, ast.GeneratorExp)
        wanted = list(_split(tests))
        conditions = _taken(wanted, generator.target, assigned) if at_once and not generator.is_async else ()
        decides = asks and len(conditions) == len(wanted)
        filters.append(Filter(generator.target, conditions, consumer, decides, clause, asked=_asked(wanted)))
    return filters


def _consumer(parent: ast.AST, generator: ast.GeneratorExp) -> str:
    """Return the name of the built-in function that consumes a generator expression immediately, or an empty string."""
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.args == [generator]:
        return parent.func.id if parent.func.id in _CONSUMERS else ""
    return ""


def _of_statement(loop: ast.For, source: Source) -> Filter:
    """Return the filter of a ``for`` statement. It has no conditions if its variable may be used after the loop."""
    tests, names = _tests(loop), names_in(loop.target)
    exits = [Asked(f"{type(node).__name__.lower()} in a loop", node.lineno) for node in _early_exits(loop.body)]
    asked = _asked(tests) if tests else tuple(exits[:1])
    suspends = any(isinstance(inner, ast.Yield | ast.YieldFrom | ast.Await) for inner in ast.walk(loop))
    conditions: tuple[ast.expr, ...] = ()
    function = source.above[loop]
    while not isinstance(function, (*SCOPES, ast.Module)):
        function = source.above[function]
    if isinstance(function, ast.FunctionDef) and _shared(source).isdisjoint(names):
        outside = [name for name in names if _is_kept(function, name) or _is_read_after(function, loop, name)]
        if outside:
            asked = asked and (Asked(f"{min(outside)}, which is read outside of its loop", loop.lineno),)
        else:
            assigned = _shared(source).union(*map(assigned_in, [*loop.body, *loop.orelse]))
            conditions = _taken(tests, loop.target, assigned)
    return Filter(loop.target, conditions, "", False, -1, suspends, asked)


def _tests(loop: ast.For) -> list[ast.expr]:
    """Return the conditions that must be true for the body of a ``for`` statement to have an effect."""
    tests: list[ast.expr] = []
    body = list(loop.body)
    while body and isinstance(body[0], ast.If) and not body[0].orelse and _is_continue(body[0].body):
        tests.append(_negated(body[0].test))
        body.pop(0)
    if len(body) == 1 and isinstance(body[0], ast.If):
        branches, branch = [body[0].test], body[0].orelse
        while len(branch) == 1 and isinstance(branch[0], ast.If):
            branches.append(branch[0].test)
            branch = branch[0].orelse
        if not branch:
            any_branch = ast.copy_location(ast.BoolOp(ast.Or(), branches), branches[0])
            tests.append(any_branch if len(branches) > 1 else branches[0])
    return list(_split(tests))


def _early_exits(body: Iterable[ast.AST], *, is_inner: bool = False) -> Iterator[ast.Break | ast.Return]:
    """Yield the ``break`` and ``return`` statements that end a loop.

    Parameters:
        is_inner: whether the statements are in a nested loop, whose ``break`` does not end the outer loop.
    """
    for node in body:
        if isinstance(node, ast.Return) or (isinstance(node, ast.Break) and not is_inner):
            yield node
        elif not isinstance(node, SCOPES):
            inner = is_inner or isinstance(node, ast.For | ast.While)
            yield from _early_exits(ast.iter_child_nodes(node), is_inner=inner)


def _asked(tests: Iterable[ast.expr]) -> tuple[Asked, ...]:
    return tuple(Asked(f"the condition {_shortened(ast.unparse(test))}", test.lineno) for test in tests)


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _is_kept(function: ast.FunctionDef, name: str) -> bool:
    """Return whether a nested function or generator expression reads a variable, and so may read it after the loop."""
    for node in ast.walk(function):
        parts: list[ast.AST] = []
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and node is not function:
            arguments = node.args
            own = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
            if name not in {argument.arg for argument in own if argument is not None}:
                parts = [node]
        elif isinstance(node, ast.GeneratorExp) and not any(name in names_in(it.target) for it in node.generators):
            parts = [node]
        if any(isinstance(inner, ast.Name) and inner.id == name for part in parts for inner in ast.walk(part)):
            return True
    return False


def _is_read_after(node: ast.AST, loop: ast.For, name: str) -> bool:
    """Return whether a loop variable is read outside of the loop before another loop assigns to it.

    Parameters:
        node: the part of the function to search.
    """
    parts: Iterable[ast.AST] = ast.iter_child_nodes(node)
    match node:
        case ast.Name():
            return node.id == name and not isinstance(node.ctx, ast.Store)
        case ast.AugAssign(target=ast.Name(id=changed)) if changed == name:
            return True
        case ast.For() if node is loop or (name in names_in(node.target) and not _holds(node.body, loop)):
            # In the body, the variable contains the current member. A target such as `found[v], v` reads it earlier.
            parts = [node.target, node.iter, *node.orelse]
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            if any(name in names_in(clause.target) for clause in node.generators):
                parts = [node.generators[0].iter]
    return any(_is_read_after(part, loop, name) for part in parts)


def _holds(body: list[ast.stmt], loop: ast.For) -> bool:
    return any(inner is loop for statement in body for inner in ast.walk(statement))


def _negated(test: ast.expr) -> ast.expr:
    return ast.copy_location(ast.UnaryOp(ast.Not(), test), test)


def _split(tests: Iterable[ast.expr]) -> Iterator[ast.expr]:
    """Split each condition at ``and``, and yield the parts."""
    for test in tests:
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            yield from _split(test.values)
        else:
            yield test


def _taken(tests: Iterable[ast.expr], target: ast.expr, assigned: frozenset[str]) -> tuple[ast.expr, ...]:
    """Return the leading conditions that are supported and whose results cannot change during the loop."""
    found: list[ast.expr] = []
    if not isinstance(target, ast.Name) and not (
        isinstance(target, ast.Tuple) and all(isinstance(part, ast.Name) for part in target.elts)
    ):
        return ()
    for test in tests:
        if not _is_supported(test) or (names_in(test) - names_in(target)) & assigned:
            break
        found.append(test)
    return tuple(found)


def _is_supported(condition: ast.expr) -> bool:
    """Return whether a condition is an expression that calls no function, and that does not depend on where it is."""
    for node in ast.walk(condition):
        match node:
            case ast.Call(func=ast.Name(id="len" | "isinstance")):
                pass
            case ast.Call() | ast.Lambda() | ast.NamedExpr() | ast.Yield() | ast.YieldFrom() | ast.Await():
                return False
            case ast.Name(id=name) | ast.Attribute(attr=name) if name[:2] == "__" and name[-2:] != "__":
                return False  # in a class, Python changes this name
    return not any(isinstance(node, _COMPREHENSIONS) for node in ast.walk(condition))


def _is_continue(body: list[ast.stmt]) -> bool:
    return len(body) == 1 and isinstance(body[0], ast.Continue)


@functools.lru_cache(maxsize=4096)
def _compiled(
    target: ast.expr, condition: ast.expr, running: CodeType
) -> tuple[CodeType, tuple[str, ...], tuple[str, ...]]:
    """Compile a condition to a function that takes a member and the values of the names in the condition.

    Parameters:
        target: the target to which the loop assigns each member.
        running: the code of the function that contains the loop. This code determines which names are local.

    Returns:
        The code of the function, the local names in the condition, and the global names in the condition.
    """
    local = {*running.co_varnames, *running.co_cellvars, *running.co_freevars}
    names = names_in(condition) - names_in(target)
    own, other = tuple(sorted(names & local)), tuple(sorted(names - local))
    arguments = ast.arguments([], [ast.arg(_MEMBER), *map(ast.arg, own + other)], None, [], [], None, [])
    assignment = ast.copy_location(ast.Assign([target], ast.Name(_MEMBER, ast.Load())), target)
    code = function_code("filter", arguments, [assignment, ast.Return(condition)], running.co_filename)
    return code, own, other
