"""Finds the syntax tree of a predicate, and checks that the predicate can be divided into blocks."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Iterable
from types import CodeType

from leadline.checker.observing.blocks import Whole


def with_arguments(function: object) -> tuple[object, dict[str, object]]:
    """Return the function that a `functools.partial` calls, and its keyword arguments."""
    given: dict[str, object] = {}
    while isinstance(function, functools.partial) and not function.args:
        given = {**function.keywords, **given}
        function = function.func
    return function, given


def definition(code: CodeType) -> ast.FunctionDef:
    """Return the syntax tree of a function from the file that contains it.

    Raises:
        Whole: if the source code is not available, or does not compile to the same instructions.
    """
    definitions, codes = _functions(code.co_filename)
    found = definitions.get((code.co_name, code.co_firstlineno), [])
    if len(found) != 1 or code not in codes:
        raise Whole("source code that cannot be read")
    return found[0]


@functools.lru_cache(maxsize=256)
def _functions(filename: str) -> tuple[dict[tuple[str, int], list[ast.FunctionDef]], frozenset[CodeType]]:
    """Return the syntax trees of a file's functions, keyed by name and first line, and their code objects. Both are
    empty if the file cannot be read.
    """
    source = "".join(linecache.getlines(filename))
    try:
        tree, module = ast.parse(source), compile(source, filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return {}, frozenset()
    found: dict[tuple[str, int], list[ast.FunctionDef]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = min((node.lineno, *(each.lineno for each in node.decorator_list)))
            found.setdefault((node.name, first), []).append(node)
    return found, frozenset(codes_in(module))


def codes_in(code: CodeType) -> Iterable[CodeType]:
    """Yield a code object and all code objects that it contains, at any depth."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)


def check_statements(node: ast.FunctionDef) -> None:
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
