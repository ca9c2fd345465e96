"""Divides a predicate into blocks. Between two blocks, a search can remember the position of a call.

A predicate that requires something of each process of a system reads all processes. If its result were learned as one
decision tree, the tree would need a path for each combination of their values. But after the predicate has seen that a
process satisfies the condition, it continues in the same way, whatever the values of this process are. `FlowGraph`
divides a predicate into blocks at such positions. Each block evaluates an expression or assigns variables, and then
continues with another block, as in the control-flow graph that a compiler builds:

- ``and``, ``or``, ``not`` and conditional expressions are evaluated in Python's order, with short-circuiting;
- ``all`` and ``any`` of a generator expression, and ``for`` statements, are loops over the elements of a sequence;
- ``sum`` of a generator expression and ``len`` of a list comprehension are loops with a counter;
- ``return``, ``continue``, ``break``, ``else`` and the ``yield`` of a sentence are jumps.

Every expression is evaluated once, in the order in which Python evaluates it. An expression that is not in this list
remains one block. A predicate is not divided if it contains a statement that is not in this list. The module `blocks`
describes a block, `fragments` compiles parts of the syntax tree, and `apart` runs the blocks.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import itertools
from collections.abc import Callable, Iterable
from types import FunctionType

from leadline.checker.source.blocks import (
    FALSE,
    NEITHER,
    NOTHING,
    THROUGH,
    TRUE,
    Block,
    Place,
    Scope,
    Variable,
    Whole,
    find_live,
)
from leadline.checker.source.files import codes_in, definition_of
from leadline.checker.source.fragments import (
    compiled_alone,
    function_code,
    load,
    located,
    place_of,
    read_names,
    returning,
    target_names,
)

MOST_BLOCKS = 2_000
"""The maximum number of blocks of a predicate that is divided."""

_COUNTER = "__count"
_LEFT, _RIGHT = "__left", "__right"
_BOTH = frozenset((True, False))


class FlowGraph:
    """The blocks of a predicate.

    Parameters:
        undivided: the expressions that must not be divided.

    Attributes:
        definition: the syntax tree of the predicate.
        blocks: the blocks. The first three end a call; see `TRUE`.
        first: the index of the block at which a call begins.

    Raises:
        Whole: if the predicate cannot be divided.
    """

    def __init__(self, function: FunctionType, undivided: frozenset[Place]) -> None:
        self._function, self._undivided = function, undivided
        code = function.__code__
        node = definition_of(code)
        if node is None:
            raise Whole("source code that cannot be read")
        self.definition = node
        self._local = {*code.co_varnames, *code.co_cellvars}
        self._free = code.co_freevars
        self._is_generator = bool(code.co_flags & inspect.CO_GENERATOR)
        self._loops = self._scopes = 0
        _check_statements(node)
        self.parameters = tuple(Variable(name, 0) for name in code.co_varnames[: code.co_argcount])
        own = {name: Variable(name, 0) for name in self._local}
        self.blocks = [Block("end"), Block("end"), Block("end")]
        self.first = self._statements(node.body, own, TRUE if self._is_generator else NEITHER, None)
        if sum(block.kind in ("test", "next") for block in self.blocks) < 2:
            raise Whole("")  # it has a single condition, so there is nothing to divide
        find_live(self.blocks)

    # --- statements ---

    def _statements(self, body: Iterable[ast.stmt], scope: Scope, after: int, loop: tuple[int, int] | None) -> int:
        for statement in reversed(list(body)):
            after = self._statement(statement, scope, after, loop)
        return after

    def _statement(self, statement: ast.stmt, scope: Scope, after: int, loop: tuple[int, int] | None) -> int:
        """Add the blocks of a statement, and return the index of the first.

        Parameters:
            scope: the variables that are visible.
            loop: the blocks to which ``continue`` and ``break`` jump, or None outside of loops.
        """
        match statement:
            case ast.Return(value=None) | ast.Return(value=ast.Constant(value=None)) if self._is_generator:
                return TRUE
            case ast.Return(value=ast.expr() as value) if not self._is_generator:
                return self._truth(value, scope, TRUE, FALSE, _BOTH)
            case ast.If(test=test, body=body, orelse=orelse):
                then = self._statements(body, scope, after, loop)
                return self._truth(test, scope, then, self._statements(orelse, scope, after, loop))
            case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
                step = self._next(target, scope, None)
                self.blocks[step].other = self._statements(orelse, scope, after, loop)
                self.blocks[step].then = self._statements(body, scope, step, (step, after))
                return self._iterate(iterable, scope, step, None)
            case ast.Continue() if loop is not None:
                return loop[0]
            case ast.Break() if loop is not None:
                return loop[1]
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                return after
            case ast.Expr(value=ast.Yield(value=ast.expr() as value)):
                return self._add(self._evaluating("yield", value, scope, then=FALSE))
            case ast.Expr(value=ast.YieldFrom(value=value)):
                return self._add(self._evaluating("yield from", value, scope, then=after, other=FALSE))
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return self._into(value, scope[name], scope, after)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                return self._into(value, scope[name], scope, after)
            case ast.AnnAssign(value=None):
                return after
            case ast.Assign(targets=[ast.Tuple() as target], value=value):
                block = self._evaluating("assign", value, scope, then=after)
                block.target, block.scope = target, scope
                block.targets = tuple(scope[name] for name in target_names(target))
                return self._add(block)
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                read = ast.copy_location(ast.Name(name, ast.Load()), statement)
                changed: list[ast.stmt] = [statement, returning(load(name, statement))]
                return self._assigning(changed, scope[name], [read, value], scope, after, statement)
        raise Whole(_shown(statement), statement.lineno)

    # --- expressions ---

    def _truth(self, node: ast.expr, scope: Scope, then: int, other: int, exact: frozenset[bool] = NOTHING) -> int:
        """Add the blocks of a condition, and return the index of the first.

        Parameters:
            scope: the variables that are visible.
            then, other: the indices of the blocks that follow if the condition is true or false.
            exact: see `Block`.
        """
        if place_of(node) in self._undivided:
            return self._test(node, scope, then, other, exact)
        match node:
            case ast.Constant(value=bool() as is_true):
                return then if is_true else other
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._truth(operand, scope, other, then)
            case ast.BoolOp(op=op, values=values):
                is_and = isinstance(op, ast.And)
                entry = self._truth(values[-1], scope, then, other, exact)
                for value in reversed(values[:-1]):
                    if is_and:
                        entry = self._truth(value, scope, entry, other, exact & {False})
                    else:
                        entry = self._truth(value, scope, then, entry, exact & {True})
                return entry
            case ast.IfExp(test=test, body=body, orelse=orelse):
                if_true = self._truth(body, scope, then, other, exact)
                return self._truth(test, scope, if_true, self._truth(orelse, scope, then, other, exact))
            case ast.Call(func=function, args=[ast.GeneratorExp() as each], keywords=[]):
                if self._is_builtin(function, "all"):
                    return self._loop(node, each, scope, then, lambda at, up: self._truth(each.elt, at, up, other))
                if self._is_builtin(function, "any"):
                    return self._loop(node, each, scope, other, lambda at, up: self._truth(each.elt, at, then, up))
            case ast.Call(func=function, args=[argument], keywords=[]) if self._is_builtin(function, "bool"):
                if not isinstance(argument, ast.Starred):
                    return self._truth(argument, scope, then, other)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if self._counts(left) or self._counts(right):
                compared = ast.copy_location(ast.Compare(load(_LEFT, left), [op], [load(_RIGHT, right)]), node)
                inner_scope, sides = self._sides(scope)
                last = self._test(compared, inner_scope, then, other, exact, node)
                return self._into(left, sides[0], scope, self._into(right, sides[1], scope, last))
        return self._test(node, scope, then, other, exact)

    def _into(self, node: ast.expr, variable: Variable, scope: Scope, after: int) -> int:
        """Add the blocks that assign the value of an expression to a variable, and return the index of the first."""
        if place_of(node) not in self._undivided:
            match node:
                case ast.Call(func=function, args=[ast.GeneratorExp()], keywords=[]):
                    if self._is_builtin(function, "all") or self._is_builtin(function, "any"):
                        constants = [located(ast.Constant(value), node) for value in (True, False)]
                        if_true, if_false = [self._value(value, variable, scope, after, node) for value in constants]
                        return self._truth(node, scope, if_true, if_false)
                case ast.BinOp(left=left, op=op, right=right) if self._counts(left) or self._counts(right):
                    inner_scope, sides = self._sides(scope)
                    value = ast.copy_location(ast.BinOp(load(_LEFT, left), op, load(_RIGHT, right)), node)
                    result = self._value(value, variable, inner_scope, after, node)
                    return self._into(left, sides[0], scope, self._into(right, sides[1], scope, result))
            if (counted := self._counted(node)) is not None:
                return self._count(node, *counted, variable, scope, after)
        return self._value(node, variable, scope, after, node)

    def _counted(self, node: ast.expr) -> tuple[ast.ListComp | ast.GeneratorExp, bool] | None:
        """Return the comprehension inside a call of ``sum`` or ``len``, and whether the function is ``len``. Return
        None for other expressions.
        """
        match node:
            case ast.Call(func=function, args=[ast.GeneratorExp() | ast.ListComp() as inner], keywords=[]):
                if self._is_builtin(function, "sum"):
                    return inner, False
                if isinstance(inner, ast.ListComp) and self._is_builtin(function, "len"):
                    return inner, True
        return None

    def _counts(self, node: ast.expr) -> bool:
        """Return whether an operand contains a call of ``sum`` or ``len`` that is divided into a loop."""
        if place_of(node) in self._undivided:
            return False
        if isinstance(node, ast.BinOp):
            return self._counts(node.left) or self._counts(node.right)
        return self._counted(node) is not None

    def _count(
        self,
        node: ast.expr,
        inner: ast.ListComp | ast.GeneratorExp,
        counts: bool,
        variable: Variable,
        scope: Scope,
        after: int,
    ) -> int:
        self._scopes += 1
        counter = Variable(_COUNTER, self._scopes)

        def add(at: Scope, up: int) -> int:
            with_counter = {**at, _COUNTER: counter}
            if counts:
                added: list[ast.stmt] = [located(ast.Expr(inner.elt), inner.elt)]
                value: ast.expr = ast.BinOp(load(_COUNTER, inner.elt), ast.Add(), ast.Constant(1))
            else:
                added, value = [], ast.BinOp(load(_COUNTER, inner.elt), ast.Add(), inner.elt)
            added.append(returning(located(value, inner.elt)))
            read = [load(_COUNTER, inner.elt), inner.elt]
            block = self._assigning(added, counter, read, with_counter, up, node)
            self.blocks[block].counts, self.blocks[block].place = True, place_of(node)
            return block

        result = self._value(load(_COUNTER, node), variable, {_COUNTER: counter}, after, node)
        loop = self._loop(node, inner, scope, result, add)
        return self._value(located(ast.Constant(0), node), counter, scope, loop, node)

    def _loop(
        self,
        node: ast.expr,
        inner: ast.GeneratorExp | ast.ListComp,
        scope: Scope,
        after: int,
        element: Callable[[Scope, int], int],
    ) -> int:
        """Add the blocks of a comprehension, and return the index of the first.

        Parameters:
            node: the expression that contains the comprehension.
            scope: the variables that are visible outside of the comprehension.
            after: the block that follows the last element.
            element: a function that adds the blocks for an element. It takes the visible variables and the block that
                follows.
        """
        self._scopes += 1
        number = self._scopes
        at = dict(scope)
        for clause in inner.generators:
            at.update((name, Variable(name, number)) for name in target_names(clause.target))
        steps = []
        for clause in inner.generators:
            if clause.is_async:
                raise Whole("an asynchronous comprehension", node.lineno)
            steps.append(self._next(clause.target, at, place_of(node)))
        entry = element(at, steps[-1])
        for place in reversed(range(len(steps))):
            clause = inner.generators[place]
            for condition in reversed(clause.ifs):
                entry = self._truth(condition, at, entry, steps[place])
            self.blocks[steps[place]].then = entry
            self.blocks[steps[place]].other = steps[place - 1] if place else after
            entry = self._iterate(clause.iter, at if place else scope, steps[place], place_of(node))
        return entry

    # --- blocks ---

    def _add(self, block: Block) -> int:
        self.blocks.append(block)
        if len(self.blocks) > MOST_BLOCKS:
            raise Whole("a predicate that is too long")
        return len(self.blocks) - 1

    def _next(self, target: ast.expr, scope: Scope, place: Place | None) -> int:
        targets = tuple(scope[name] for name in target_names(target))
        self._loops += 1
        return self._add(
            Block("next", target, target=target, targets=targets, scope=scope, loop=self._loops, place=place)
        )

    def _iterate(self, iterable: ast.expr, scope: Scope, step: int, place: Place | None) -> int:
        """Add the block that evaluates the iterable of a loop, and return its index."""
        through = ""
        if isinstance(iterable, ast.Call) and not iterable.keywords:
            function, through = self._named(iterable.func), ""
            if function is not None and not any(isinstance(argument, ast.Starred) for argument in iterable.args):
                through = next((name for name, known in THROUGH.items() if known is function), "")
        value: ast.expr = iterable
        if through:
            assert isinstance(iterable, ast.Call)
            value = located(ast.Tuple(iterable.args, ast.Load()), iterable)
        block = self._evaluating("iterate", value, scope, then=step)
        block.loop, block.place, block.through, block.node = self.blocks[step].loop, place, through, iterable
        return self._add(block)

    def _test(
        self,
        node: ast.expr,
        scope: Scope,
        then: int,
        other: int,
        exact: frozenset[bool],
        shown: ast.expr | None = None,
    ) -> int:
        block = self._evaluating("test", node, scope, then=then, other=other)
        block.exact, block.node = exact, shown or node
        return self._add(block)

    def _value(self, node: ast.expr, variable: Variable, scope: Scope, after: int, shown: ast.expr) -> int:
        block = self._evaluating("assign", node, scope, then=after)
        block.targets, block.node = (variable,), shown
        return self._add(block)

    def _assigning(
        self,
        body: list[ast.stmt],
        variable: Variable,
        read: list[ast.expr],
        scope: Scope,
        after: int,
        node: ast.AST,
    ) -> int:
        """Add a block that executes statements and assigns their result. Return the index of the block."""
        block = self._compiled("assign", body, read, scope)
        block.targets, block.then, block.node = (variable,), after, node
        return self._add(block)

    def _evaluating(self, kind: str, node: ast.expr, scope: Scope, *, then: int, other: int = NEITHER) -> Block:
        block = self._compiled(kind, [returning(node)], [node], scope)
        block.node, block.then, block.other = node, then, other
        return block

    def _compiled(self, kind: str, body: list[ast.stmt], read: list[ast.expr], scope: Scope) -> Block:
        """Return a block that executes statements. Its parameters are the variables that the given expressions read."""
        used = sorted(set[str]().union(*map(read_names, read)))
        names = [name for name in used if name in scope]
        free = [name for name in used if name not in scope and name in self._free]
        arguments = ast.arguments([], [ast.arg(name) for name in (*names, *free)], None, [], [], None, [])
        code = function_code(self._function.__name__, arguments, body, self._function.__code__.co_filename)
        compiled_alone.update(codes_in(code))
        free_places = tuple(self._free.index(name) for name in free)
        return Block(kind, code=code, names=tuple(scope[name] for name in names), free=free_places)

    def _sides(self, scope: Scope) -> tuple[Scope, tuple[Variable, Variable]]:
        self._scopes += 1
        sides = Variable(_LEFT, self._scopes), Variable(_RIGHT, self._scopes)
        return {**scope, _LEFT: sides[0], _RIGHT: sides[1]}, sides

    def _named(self, node: ast.expr) -> object:
        """Return the object to which a global name or an attribute of `itertools` refers. Return None for other
        expressions.
        """
        names = self._function.__globals__
        match node:
            case ast.Name(id=name) if name not in self._local and name not in self._free:
                return names.get(name, getattr(builtins, name, None))
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                if name not in self._local and name not in self._free and names.get(name) is itertools:
                    return getattr(itertools, attribute, None)
        return None

    def _is_builtin(self, node: ast.expr, name: str) -> bool:
        return isinstance(node, ast.Name) and node.id == name and self._named(node) is getattr(builtins, name)


def _check_statements(node: ast.FunctionDef) -> None:
    """Check that a function binds names only in ways that blocks support.

    Raises:
        Whole: if it binds names in another way.
    """
    arguments = node.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs:
        raise Whole("parameters that are not plain positional parameters", node.lineno)
    for inner in ast.walk(node):
        match inner:
            case ast.NamedExpr():
                raise Whole("an assignment expression", inner.lineno)
            case ast.Await() | ast.AsyncFor() | ast.AsyncWith():
                raise Whole("asynchronous code", inner.lineno)
            case ast.Yield() | ast.YieldFrom():
                pass  # `_statement` accepts it as a statement only, and no other block can contain it
            case ast.Name(id=name) | ast.arg(arg=name) if name[:2] == "__" and name[-2:] != "__":
                raise Whole(f"the private name {name}", inner.lineno)
            case ast.Attribute(attr=name) if name[:2] == "__" and name[-2:] != "__":
                raise Whole(f"the private name {name}", inner.lineno)
    statements = [inner for inner in ast.walk(node) if isinstance(inner, ast.expr | ast.stmt)]
    yields = [inner for inner in statements if isinstance(inner, ast.Yield | ast.YieldFrom)]
    alone = [inner.value for inner in statements if isinstance(inner, ast.Expr)]
    for inner in yields:
        if not any(inner is value for value in alone):
            raise Whole("a yield expression whose value is used", inner.lineno)


def _shown(statement: ast.stmt) -> str:
    names = {
        ast.While: "while",
        ast.Try: "try",
        ast.With: "with",
        ast.Match: "match",
        ast.FunctionDef: "a nested function",
        ast.Expr: "an expression that is a statement",
        ast.Assert: "assert",
        ast.Raise: "raise",
        ast.Return: "return",
    }
    return names.get(type(statement), type(statement).__name__.lower())
