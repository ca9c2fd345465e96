"""Generates small mistakes in the functions of a file, for mutation testing.

For example, a condition is removed or negated, a field is no longer changed by `evolve` or `put`, an integer is changed
by one, or an operator is replaced by a different one. Each mistake changes one node of the syntax tree.
"""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from collections.abc import Iterator

import attrs

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
NEGATED_BY_COMPARISON = (ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot)
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
Replaced = ast.expr | ast.stmt
"""A node of the syntax tree that a change replaces."""

LEAVES = (ast.Return, ast.Continue, ast.Break, ast.Raise)


@attrs.frozen
class Change:
    """A mistake in the source of a file: a range of the text and its replacement.

    Attributes:
        function: the qualified name of the function, for example ``Log.append``.
        start: the position of the replaced text in the file, in bytes.
        end: the position where the replaced text ends, in bytes.
        is_expression: whether `old` and `new` are expressions. If so, parentheses are added around the replacement.
        line: the line number of the replaced text, starting from 1. If the text has several lines, the number of its
            first line.
        begins: the line numbers at which the functions around the replaced text begin, including decorators, from the
            outermost function to `function`.
        number: a number, starting from 1, that distinguishes equal changes in the same function.
    """

    function: str
    start: int
    end: int
    old: str
    new: str
    is_expression: bool
    line: int
    begins: tuple[int, ...]
    number: int = 1

    @property
    def name(self) -> str:
        """A name that identifies the change within the file. It does not depend on line numbers."""
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        again = f" ({self.number})" if self.number > 1 else ""
        return f"{self.function}: {old} => {new}{again}"

    def text(self, original: bytes) -> bytes:
        """Apply the change to a file, and return the new content."""
        new = f"({self.new})" if self.is_expression else self.new
        return original[: self.start] + new.encode() + original[self.end :]


def changes_of(source: bytes) -> list[Change]:
    """Return all changes that can be made to a file, in the order of its lines.

    Only statements in functions are changed. Decorators, default values, annotations and assertions are not changed.

    Parameters:
        source: the content of a Python file, encoded in UTF-8.

    Raises:
        SyntaxError: if the content is not valid Python.
    """
    line_starts = [0, *itertools.accumulate(len(line) for line in source.splitlines(keepends=True))]
    seen: Counter[tuple[str, str, str]] = Counter()
    found: dict[tuple[int, int, str], Change] = {}
    for inside, node, new in _changes(ast.parse(source), _Inside()):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = line_starts[node.lineno - 1] + node.col_offset
        end = line_starts[node.end_lineno - 1] + node.end_col_offset
        old = source[start:end].decode()
        if (start, end, new) not in found and new != old:
            seen[inside.function, old, new] += 1
            number = seen[inside.function, old, new]
            found[start, end, new] = Change(
                function=inside.function,
                start=start,
                end=end,
                old=old,
                new=new,
                is_expression=isinstance(node, ast.expr),
                line=node.lineno,
                begins=inside.begins,
                number=number,
            )
    return list(found.values())


@attrs.frozen
class _Inside:
    """The function in which a change is made.

    Attributes:
        function: the qualified name of the function.
        begins: the first line number of each function that encloses the change, from the outermost to the innermost
            function.
    """

    function: str = ""
    begins: tuple[int, ...] = ()

    def class_(self, name: str) -> _Inside:
        return _Inside(f"{self.function}{name}.", self.begins)

    def of(self, definition: ast.FunctionDef) -> _Inside:
        first = definition.decorator_list[0] if definition.decorator_list else definition
        return _Inside(f"{self.function}{definition.name}", (*self.begins, first.lineno))

    @property
    def nested(self) -> _Inside:
        return _Inside(f"{self.function}.", self.begins)


def _changes(node: ast.AST, inside: _Inside) -> Iterator[tuple[_Inside, Replaced, str]]:
    """Yield a (function, replaced node, replacement) tuple for every possible change below a node."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.ClassDef(name=name):
                yield from _changes(child, inside.class_(name))
            case ast.FunctionDef(body=body):
                known = {argument.arg for argument in ast.walk(child.args) if isinstance(argument, ast.arg)}
                for statement in body[1:] if ast.get_docstring(child) else body:
                    yield from _changes_in(statement, inside.of(child), known)
            case ast.expr():
                pass
            case _:
                yield from _changes(child, inside)


def _changes_in(node: ast.AST, inside: _Inside, known: set[str]) -> Iterator[tuple[_Inside, Replaced, str]]:
    if isinstance(node, ast.FunctionDef):
        yield from _changes(ast.Module([node], []), inside.nested)
        return
    if isinstance(node, ast.Assert):
        return
    for changed, new in itertools.chain(_changed_statement(node, known), _changed_expression(node)):
        yield inside, changed, new
    for name, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        for child in children if name != "annotation" else ():
            if isinstance(child, ast.AST):
                yield from _changes_in(child, inside, known)


def _changed_statement(node: ast.AST, known: set[str]) -> Iterator[tuple[Replaced, str]]:
    match node:
        case ast.If(test=test, body=body, orelse=orelse):
            if isinstance(body[-1], LEAVES) and not orelse:
                yield test, "False"
            else:
                yield test, "True"
            yield from _negated(test)
        case ast.While(test=test):
            yield test, "False"
        case ast.Expr(value=ast.Yield() | ast.YieldFrom()):
            yield node, "yield from ()"
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield node, "pass"
        case ast.Assign(targets=targets):
            names = {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
            if names <= known or not all(isinstance(target, ast.Name | ast.Tuple) for target in targets):
                yield node, "pass"
            known |= names


def _negated(test: ast.expr) -> Iterator[tuple[Replaced, str]]:
    """Yield the negation of a condition, unless a different change already negates the condition."""
    match test:
        case ast.UnaryOp(op=ast.Not()):
            pass
        case ast.Compare(ops=[op]) if isinstance(op, NEGATED_BY_COMPARISON):
            pass
        case _:
            yield test, ast.unparse(ast.UnaryOp(ast.Not(), test))


def _changed_expression(node: ast.AST) -> Iterator[tuple[Replaced, str]]:
    match node:
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            for place, op in enumerate(ops):
                others = [*ops[:place], COMPARISONS[type(op)](), *ops[place + 1 :]]
                yield node, ast.unparse(ast.Compare(left, others, comparators))
        case ast.BoolOp(op=op, values=values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield node, ast.unparse(ast.BoolOp(other, values))
            for place in range(len(values)):
                rest = [*values[:place], *values[place + 1 :]]
                yield node, ast.unparse(ast.BoolOp(op, rest) if len(rest) > 1 else rest[0])
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield node, ast.unparse(operand)
        case ast.IfExp(body=body, orelse=orelse):
            yield node, ast.unparse(body)
            yield node, ast.unparse(orelse)
        case ast.comprehension(ifs=tests):
            yield from ((test, "True") for test in tests)
        case ast.Call(func=ast.Name(id=name) as called) if name in CALLS:
            yield called, CALLS[name]
        case ast.Call(func=ast.Name(id="put"), args=[value, _, _, *_]):
            yield node, ast.unparse(value)
        case ast.Call(func=ast.Attribute(attr="evolve") | ast.Name(id="evolve"), keywords=keywords):
            for place in range(len(keywords)):
                fewer = [*keywords[:place], *keywords[place + 1 :]]
                yield node, ast.unparse(ast.Call(node.func, node.args, fewer))
        case ast.BinOp(op=ast.Add() | ast.Sub(), right=ast.Constant(value=1)):
            pass  # the constant 1 is changed to 0 and 2 instead
        case ast.BinOp(left=left, op=ast.Sub(), right=ast.Set()):
            yield node, ast.unparse(left)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            other_sign = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
            yield node, ast.unparse(ast.BinOp(left, other_sign, right))
            yield node, ast.unparse(left)
        case ast.BinOp(left=left, op=ast.BitOr() | ast.BitAnd(), right=right):
            yield node, ast.unparse(left)
            yield node, ast.unparse(right)
        case ast.Constant(value=bool(value)):
            yield node, str(not value)
        case ast.Constant(value=int(value)):
            yield node, str(value + 1)
            yield node, str(value - 1)
