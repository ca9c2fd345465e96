"""Builds and compiles parts of a predicate from its syntax tree."""

from __future__ import annotations

import ast
import dis
from types import CodeType
from typing import Any

from leadline.checker.source.blocks import Place, Whole
from leadline.checker.source.files import codes_in

compiled_alone = set[CodeType]()
"""The code that was compiled from a part of a function. It has the line and column numbers of the whole function, so
what is known of the loops of the function is also known here.
"""


def target_names(target: ast.expr) -> list[str]:
    """Return the names to which a target assigns.

    Raises:
        Whole: if the target is not a name or a tuple of names.
    """
    match target:
        case ast.Name(id=name):
            return [name]
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return [name for element in elements for name in target_names(element)]
    raise Whole(f"an assignment to {ast.unparse(target)}", target.lineno)


def read_names(node: ast.expr) -> set[str]:
    """Return the names that an expression reads, except the variables of its own comprehensions and lambdas."""
    arguments = ast.arguments([], [], None, [], [], None, [])
    code = function_code("read", arguments, [returning(node)], "<read>")
    steps = (step for part in codes_in(code) for step in dis.get_instructions(part))
    return {step.argval for step in steps if step.opname == "LOAD_GLOBAL"}


def function_code(name: str, arguments: ast.arguments, body: list[ast.stmt], filename: str) -> CodeType:
    """Return the compiled code of a function with the given parameters and statements."""
    function = ast.FunctionDef(name, arguments, body, [], None, None)
    if hasattr(function, "type_params"):
        function.type_params = []
    tree = ast.Module([ast.copy_location(function, body[0])], [])
    for part in ast.walk(tree):
        if isinstance(part, ast.expr | ast.stmt | ast.arg) and not hasattr(part, "lineno"):
            ast.copy_location(part, body[0])
    module = compile(tree, filename, "exec", dont_inherit=True)
    return next(constant for constant in module.co_consts if isinstance(constant, CodeType))


def place_of(node: ast.expr) -> Place:
    """Return the position of an expression."""
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def located(node: Any, at: ast.AST) -> Any:
    """Give a new node the position of another one, and return it."""
    return ast.copy_location(node, at)


def load(name: str, at: ast.AST) -> ast.expr:
    """Return an expression that reads a variable, with the position of another node."""
    found: ast.expr = located(ast.Name(name, ast.Load()), at)
    return found


def returning(value: ast.expr) -> ast.stmt:
    """Return a statement that returns the value of an expression."""
    found: ast.stmt = located(ast.Return(value), value)
    return found
