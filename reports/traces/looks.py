"""Expressions that a user looks at along a trace, such as ``len(replicas)`` or ``before.leader != leader``."""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import CodeType
from typing import Any

import attrs

from leadline.checker.action import Step
from leadline.checker.drawing import Along, Drawing
from leadline.checker.errors import LeadlineError, error_text
from leadline.checker.result import Result
from leadline.checker.spec import Spec
from leadline.checker.support.messages import nearest
from leadline.checker.trace import Trace

OF_A_STEP = ("before", "step")
"""The names in an expression that have no value in the initial state."""


@attrs.frozen
class Look:
    """An expression about each state of a trace.

    In the expression, the fields of the state have their names, and ``state`` is the whole state. ``before`` is the
    state before the step and ``step`` is the step (``step.action``, ``step.arguments``). A field that has one of these
    three names is an attribute of ``state``. The names of the file that defines the spec's actions are known, too.

    Attributes:
        names: the names that the expression reads, without those that it defines, such as ``x`` in ``[x for x in y]``.
    """

    text: str
    code: CodeType = attrs.field(eq=False, repr=False)
    names: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Look:
        """Return the look for an expression. Raise LeadlineError if the text is not a Python expression."""
        try:
            tree = ast.parse(text.strip(), "--look", "eval")
            code = compile(tree, "--look", "eval")
        except (SyntaxError, ValueError) as error:
            raise LeadlineError(f"--look {text!r} is not a Python expression: {error_text(error)}") from None
        nodes = [*ast.walk(tree)]
        read = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        defined = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        defined |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        return cls(text.strip(), code, frozenset(read - defined))

    def value(self, known: Mapping[str, object], state: Any, step: Step[Any] | None = None) -> object:
        """Return the value of the expression in a state, or a text that says which exception it raised.

        Parameters:
            known: the values of other names than those of the state.
            step: the step to the state, or None for the initial state.
        """
        if step is None and not self.names.isdisjoint(OF_A_STEP):
            return None
        own = {"state": state, "before": step and step.before, "step": step}
        fields = {field.name: getattr(state, field.name) for field in attrs.fields(type(state))}
        try:
            found = eval(self.code, {**known, **fields, **own})
            return [*found] if isinstance(found, Iterator) else found  # such as (x for x in y), which has no text
        except Exception as error:
            return f"{type(error).__name__}: {error_text(error)}"


def check_looks(looks: Iterable[Look], spec: Spec[Any], state: Any) -> None:
    """Raise LeadlineError if an expression mentions a name that does not exist."""
    own = [*(field.name for field in attrs.fields(type(state))), "state", *OF_A_STEP]
    known = {*dir(builtins), *_known(spec), *own}
    for look in looks:
        for name in sorted(look.names - known):
            raise LeadlineError(f"--look {look.text!r}: there is no {name!r}{nearest(name, own)}")


def looked_at(trace: Trace[Any], looks: Sequence[Look]) -> Trace[Any]:
    """Return the trace with the values of expressions, which its reports show with each state.

    Raises:
        LeadlineError: if an expression mentions a name that does not exist.
    """
    if not looks:
        return trace
    spec = trace.spec
    check_looks(looks, spec, trace.states[0])
    drawing = spec.drawing or Drawing[Any]()
    along = dict(drawing.along) | dict(_along(looks, _known(spec)))
    return attrs.evolve(trace, spec=attrs.evolve(spec, drawing=attrs.evolve(drawing, along=along)))


def result_looked_at(result: Result, looks: Sequence[Look]) -> Result:
    """Return the result with the values of expressions along its traces; see `looked_at`."""
    properties = tuple(
        attrs.evolve(item, traces=tuple(looked_at(trace, looks) for trace in item.traces)) for item in result.properties
    )
    return attrs.evolve(result, properties=properties) if looks else result


def _along(looks: Sequence[Look], known: Mapping[str, object]) -> Iterator[tuple[str, Along[Any]]]:
    for look in looks:
        value = functools.partial(look.value, known)
        yield look.text, Along(value, lambda _, step, value=value: value(step.after, step))  # type: ignore[misc]


def _known(spec: Spec[Any]) -> Mapping[str, object]:
    """Return the names of the file that defines the first action of a spec."""
    return getattr(spec.actions[0].function, "__globals__", {}) if spec.actions else {}
