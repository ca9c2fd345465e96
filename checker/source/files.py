"""Reads source code: parses each file once, and finds the syntax tree that belongs to running code.

What the other modules understand of a spec's code, they understand of these trees: `opcodes` looks at the operands of
``%``, `filters` at loops and their conditions, `control_flow` at whole predicates, and `set_iteration` at whole files.
A tree is used only if it compiles to the instructions that run; otherwise nothing is known of the code.
"""

from __future__ import annotations

import ast
import dis
import functools
import linecache
from collections.abc import Iterator
from types import CodeType
from typing import Any

import attrs

Position = tuple[int | None, int | None, int | None, int | None]
"""The first and last line of a part of a file, and its first and last column, as `dis.Positions`."""

SCOPES = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)
"""The nodes with variables of their own."""

_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)


@attrs.frozen(eq=False)
class Source:
    """A file of source code.

    Attributes:
        codes: the code of the module and of every function in it.
        above: the node to which each node belongs.
        at: the nodes that have each position.
    """

    tree: ast.Module
    module: CodeType
    codes: frozenset[CodeType]
    above: dict[ast.AST, ast.AST]
    at: dict[Position, list[ast.AST]]


@functools.lru_cache(maxsize=256)
def source_in(filename: str) -> Source | None:
    """Return the source code in a file, or None if there is none that can be read."""
    text = "".join(linecache.getlines(filename))
    try:
        tree, module = ast.parse(text), compile(text, filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    above, at = dict[ast.AST, ast.AST](), dict[Position, list[ast.AST]]()
    for node in ast.walk(tree):
        above.update(dict.fromkeys(ast.iter_child_nodes(node), node))
        if hasattr(node, "lineno"):
            at.setdefault(position(node), []).append(node)
    return Source(tree, module, frozenset(codes_in(module)), above, at)


def source_of(code: CodeType) -> Source | None:
    """Return the file that contains the source code of a function. Return None if it compiles to other instructions."""
    found = source_in(code.co_filename)
    return found if found is not None and code in found.codes else None


def definition_of(code: CodeType) -> ast.FunctionDef | None:
    """Return the syntax tree of a function, or None if it is not known."""
    source = source_of(code)
    found = [
        node
        for node in (ast.walk(source.tree) if source is not None else ())
        if isinstance(node, ast.FunctionDef)
        and node.name == code.co_name
        and min((node.lineno, *(each.lineno for each in node.decorator_list))) == code.co_firstlineno
    ]
    return found[0] if len(found) == 1 else None


def operands_of(instruction: dis.Instruction, code: CodeType) -> tuple[ast.expr, ast.expr] | None:
    """Return the operands of a binary operator, or None if they are not known."""
    source = source_of(code)
    if source is None or instruction.positions is None:
        return None
    for node in source.at.get(position(instruction.positions), ()):
        if isinstance(node, ast.BinOp):
            return node.left, node.right
        if isinstance(node, ast.AugAssign):
            return node.target, node.value
    return None


def position(node: Any) -> Position:
    """Return the position of a node or an instruction."""
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and all code objects that it contains, at any depth."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)


def names_in(node: ast.AST) -> set[str]:
    """Return all names in a part of a syntax tree."""
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def assigned_in(node: ast.AST) -> set[str]:
    """Return the names that a part of a syntax tree assigns to."""
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
