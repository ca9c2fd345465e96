"""Find the guard that keeps an action from being enabled in a state, and the values that the guard read."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
import textwrap
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeVar

from leadline.checker.action import ActionInstance

S = TypeVar("S")

LONGEST_VALUE = 80


def why_not(instance: ActionInstance[S], state: S) -> str:
    """Return why an action instance is not enabled in a state.

    The reason is the condition that made the action's function return, with the values of the names and fields in it.
    If conditions are joined by ``or``, only the first true one is given. If there is a comment on the line of the
    ``if``, the reason begins with the comment.

    Returns:
        A clause, or an empty string if the action instance is enabled. If the action yields no state although no guard
        fails, the clause says so.
    """
    watcher = _Watcher(instance.action.function.__code__)
    before = sys.gettrace()
    sys.settrace(watcher.called)
    try:
        possible = any(True for _ in instance.successors(state))
    finally:
        sys.settrace(before)
    if possible:
        return ""
    return watcher.reason(instance.action.function) or f"{instance} yields no state"


class _Watcher:
    """Records the lines that a function executes, and the values of its variables at the last line."""

    def __init__(self, code: CodeType) -> None:
        self._code = code
        self._lines: list[int] = []
        self._names: dict[str, Any] = {}

    def called(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        return self._line if frame.f_code is self._code else None

    def _line(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
        if event in ("line", "return"):
            self._lines.append(frame.f_lineno)
            self._names = {**frame.f_globals, **frame.f_locals}
        return self._line

    def reason(self, function: Callable[..., Any]) -> str:
        """Return the last condition that made the function return, or an empty string if no such condition is found."""
        found = _guards(function)
        for line in reversed(self._lines):
            if line in found:
                condition, negated, comment = found[line]
                told = _told(condition, negated, self._names)
                return f"{comment} ({told})" if comment else told
        return ""


@functools.cache
def _guards(function: Callable[..., Any]) -> dict[int, tuple[ast.expr, bool, str]]:
    """Return the conditions that can make a function return, keyed by line number.

    If execution ends on the ``return`` in an ``if``, the condition was true. If execution ends on the line of the
    ``if``, the condition was false. Each value is a tuple of the condition, whether it was false, and the comment on
    its line.
    """
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        return {}
    tree = ast.parse(textwrap.dedent("".join(lines)))
    found: dict[int, tuple[ast.expr, bool, str]] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.If):
            continue
        text = lines[node.test.end_lineno - 1] if node.test.end_lineno else ""
        comment = text.partition("  # ")[2].strip()
        if isinstance(node.body[0], ast.Return):
            found[node.body[0].lineno + first - 1] = node.test, False, comment
        for line in range(node.lineno, (node.test.end_lineno or node.lineno) + 1):
            found.setdefault(line + first - 1, (node.test, True, comment))
    return found


def _told(condition: ast.expr, negated: bool, names: dict[str, Any]) -> str:
    """Describe the part of a condition that determined the result, with the values in it."""
    match condition:
        case ast.BoolOp(op=op, values=parts):
            decides = isinstance(op, ast.Or) != negated
            if decides:
                for part in parts:
                    known, value = _value(part, names)
                    if known and bool(value) is not negated:
                        return _told(part, negated, names)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _told(operand, not negated, names)
    values = [f"{ast.unparse(node)} = {text}" for node in _parts(condition) if (text := _shown(node, names))]
    text = f"not {ast.unparse(condition)}" if negated else ast.unparse(condition)
    if negated and isinstance(condition, ast.Compare | ast.BoolOp):
        text = f"not ({ast.unparse(condition)})"
    return f"{text}, where {', '.join(dict.fromkeys(values))}" if values else text


def _parts(node: ast.expr) -> list[ast.expr]:
    """Return the largest expressions in a condition that are names, fields or items."""
    match node:
        case ast.Compare(left=left, comparators=others):
            return [part for each in (left, *others) for part in _parts(each)]
        case ast.BoolOp(values=values):
            return [part for each in values for part in _parts(each)]
        case ast.BinOp(left=left, right=right):
            return [*_parts(left), *_parts(right)]
        case ast.UnaryOp(operand=operand):
            return _parts(operand)
        case ast.Call(func=ast.Name(id="len" | "isinstance"), args=args):
            return _parts(args[0])
        case ast.Call(args=args):
            return [part for each in args for part in _parts(each)]
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return [node]
    return []


def _value(node: ast.expr, names: dict[str, Any]) -> tuple[bool, Any]:
    try:
        return True, eval(compile(ast.Expression(node), "<guard>", "eval"), names)
    except Exception:
        return False, None


def _shown(node: ast.expr, names: dict[str, Any]) -> str:
    known, value = _value(node, names)
    text = str(value) if known and not callable(value) else ""
    return "" if not text or len(text) > LONGEST_VALUE else text
