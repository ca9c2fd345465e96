"""Replay: re-execute a recorded trace on the model, and say precisely where it departs."""

from __future__ import annotations

from typing import Any, TypeVar

from checker.action import ActionInstance
from checker.errors import TraceError
from checker.itf import Recorded, TraceFile, decode, encode
from checker.names import nearest
from checker.properties import Property
from checker.spec import Spec
from checker.state import variables
from checker.trace import Trace, complaint_at_end

S = TypeVar("S")


def replay(spec: Spec[S], recorded: TraceFile) -> Trace[S]:
    """Follow a recorded trace on the model, from its initial state through every action.

    Parameters:
        spec: the spec, with the bounds that the trace was recorded with.
        recorded: what the trace file says.

    Returns:
        The trace, with the model's own states.

    Raises:
        TraceError: the model does not go where the trace went, naming the step and the variable, or
            the trace's end is no evidence about its property any more.
    """
    about = _property(spec, recorded)
    states = [_initial(spec, recorded.states[0])]
    instances: list[ActionInstance[S]] = []
    for index, target in enumerate(recorded.states[1:], start=1):
        instance = _instance(spec, index, target)
        states.append(_follow(spec, index, instance, states[-1], target))
        instances.append(instance)
    if about is not None and complaint_at_end(spec, about, states) is None:
        verb = "shows" if about.kind.is_witness else "violates"
        raise TraceError(f"every step is as recorded, but the end no longer {verb} {about.name}: {about.sentence}")
    return Trace(spec, states, instances, about)


def _property(spec: Spec[S], recorded: TraceFile) -> Property | None:
    if recorded.about is None:
        return None
    known = {item.name: item for item in spec.checks}
    if recorded.about not in known:
        raise TraceError(f"{spec.name} has no property {recorded.about!r}{nearest(recorded.about, known)}")
    return known[recorded.about]


def _initial(spec: Spec[S], target: Recorded) -> S:
    initials = spec.initials()
    for state in initials:
        if not _difference(state, target):
            return state
    raise TraceError(f"the recorded initial state is none of the spec's: {_difference(initials[0], target)}")


def _instance(spec: Spec[S], index: int, target: Recorded) -> ActionInstance[S]:
    if target.action is None:
        raise TraceError(f'step {index} does not say which action it takes: "#meta" lacks "action" and "parameters"')
    names = [action.name for action in spec.actions]
    if target.action not in names:
        raise TraceError(f"step {index}: {spec.name} has no action {target.action!r}{nearest(target.action, names)}")
    for instance in spec.instances:
        arguments = {name: decode(encode(value)) for name, value in instance.arguments.items()}
        if instance.action.name == target.action and arguments == target.arguments:
            return instance
    raise TraceError(f"step {index}: {target.label} is not possible with {spec.named_bounds}")


def _follow(spec: Spec[S], index: int, instance: ActionInstance[S], state: S, target: Recorded) -> S:
    successors = spec.take(instance, state)
    for successor in successors:
        if not _difference(successor, target):
            return successor
    if not successors:
        raise TraceError(f"step {index}: {instance} is not enabled in the state before it")
    raise TraceError(f"step {index}: {instance} leads elsewhere: {_difference(successors[0], target)}")


def _difference(state: Any, target: Recorded) -> str:
    """The first variable whose value is not as recorded, in words; empty if there is none."""
    values = {field.name: decode(encode(getattr(state, field.name))) for field in variables(state)}
    for name in [*values, *target.values]:
        if name not in target.values or name not in values:
            return f"the {'model' if name in values else 'file'} has a variable {name!r}, the other does not"
        if values[name] != target.values[name]:
            return _where(name, values[name], target.values[name])
    return ""


def _where(path: str, ours: Any, theirs: Any) -> str:
    """Descend to the innermost part that differs."""
    for name, inner, other in _parts(ours, theirs):
        if inner != other:
            return _where(f"{path}{name}", inner, other)
    return f"{path} is {ours} in the model, {theirs} in the file"


def _parts(ours: Any, theirs: Any) -> list[tuple[str, Any, Any]]:
    if type(ours) is not type(theirs):
        return []
    if isinstance(ours, tuple) and len(ours) == len(theirs):
        return [(f"[{index}]", *pair) for index, pair in enumerate(zip(ours, theirs, strict=True))]
    names, others = dict(getattr(ours, "fields", ())), dict(getattr(theirs, "fields", ()))
    return [(f".{name}", names[name], others[name]) for name in names] if names.keys() == others.keys() else []
