"""Replays a trace file: performs its actions in the model, and compares each state with the recorded state.

Steps that are kept without states are executed in the model, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from leadline.checker.action import ActionInstance
from leadline.checker.errors import TraceError
from leadline.checker.liveness.recheck import fault
from leadline.checker.properties import Property
from leadline.checker.spec import Spec
from leadline.checker.support.messages import nearest
from leadline.checker.trace import Trace, complaint_at_end
from leadline.checker.traces.itf import Json, RecordedState, TraceFile, encode, encode_state, shown

S = TypeVar("S")

MOST_BEHAVIOURS = 100
"""The maximum number of behaviours to examine that have the same steps."""


def replay(spec: Spec[S], recorded: TraceFile) -> Trace[S]:
    """Replay a trace file: perform its actions in the model, starting from the recorded initial state.

    Parameters:
        spec: the spec. Its bounds must be those of the trace.

    Returns:
        The trace, which consists of the model's states.

    Raises:
        TraceError: if a state of the model differs from the recorded state, or if the trace no longer violates its
            property or no longer satisfies its witness. The message names the step and the variable, or gives another
            reason, for example that the loop at the end of the trace is not fair.
    """
    about = _property(spec, recorded)
    states = [_initial(spec, recorded.states[0])]
    instances: list[ActionInstance[S]] = []
    for index, target in enumerate(recorded.states[1:], start=1):
        instance, state = _follow(spec, index, _instances(spec, index, target, states[-1]), states, target)
        states.append(state)
        instances.append(instance)
    if recorded.loop is not None and states[recorded.loop] != states[-1]:
        raise TraceError(
            f"every step is as recorded, but the last state is not equal to state {recorded.loop}, "
            "at which the loop begins"
        )
    followed = Trace(spec, states, instances, about, recorded.loop)
    if about is not None and about.kind.is_liveness:
        if wrong := fault(followed):
            raise TraceError(f"every step is as recorded, but {wrong}")
        return followed
    if about is not None and complaint_at_end(spec, about, states) is None:
        verb = "shows" if about.kind.is_witness else "violates"
        raise TraceError(
            f"every step is as recorded, but the last state no longer {verb} {about.name}: {about.sentence}"
        )
    return followed


def executed(spec: Spec[S], steps: Sequence[str], loop: int | None = None) -> Trace[S] | None:
    """Execute the given steps in a spec, and return a behaviour that violates the spec's property. Whether a behaviour
    violates a property about the future is not decided again: any that ends in the loop is returned.

    If an action has several next states, at most `MOST_BEHAVIOURS` behaviours are examined.

    Parameters:
        steps: the action instances, as `repr` writes them.
        loop: for steps that end in a loop, the number of steps before it.

    Returns:
        The behaviour, or None if no behaviour with these steps violates the property.
    """
    known = {repr(instance): instance for instance in spec.instances}
    if not known.keys() >= {*steps}:
        return None
    (about,), behaviours = spec.checks, [[state] for state in spec.initials()]
    for step in steps:
        following = (
            [*states, after]
            for states in behaviours
            if spec.is_within(states[-1])
            for after in spec.take(known[step], states[-1])
        )
        begins = slice(0, 0) if loop is None else slice(loop, loop + 1)
        # only the last step and the beginning of the loop can make a difference
        unlike = {(*states[-2:], *states[begins]): states for states in following}
        behaviours = [*unlike.values()][:MOST_BEHAVIOURS]
    for states in behaviours:
        if about.kind.is_liveness:
            is_about = loop is None or states[loop] == states[-1]
        else:
            is_about = complaint_at_end(spec, about, states) is not None
        if is_about:
            return Trace(spec, states, [known[step] for step in steps], about, loop)
    return None


def _property(spec: Spec[S], recorded: TraceFile) -> Property | None:
    if recorded.about is None:
        return None
    known = {item.name: item for item in spec.all_checks}
    if recorded.about not in known:
        raise TraceError(f"{spec.name} has no property {recorded.about!r}{nearest(recorded.about, known)}")
    return known[recorded.about]


def _initial(spec: Spec[S], target: RecordedState) -> S:
    differences = {state: _difference(state, state, target) for state in spec.initials()}
    for state, difference in differences.items():
        if not difference:
            return state
    first = next(iter(differences.values()))
    raise TraceError(f"the recorded initial state is not an initial state of the spec: {first}")


def _instances(spec: Spec[S], index: int, target: RecordedState, before: S) -> list[ActionInstance[S]]:
    """Return the action instances that the file can mean. There are several if their values are written alike."""
    if target.action is None:
        raise TraceError(f'step {index} does not name its action: "#meta" lacks "action" or "parameters"')
    names = [action.name for action in spec.actions]
    if target.action not in names:
        raise TraceError(f"step {index}: {spec.name} has no action {target.action!r}{nearest(target.action, names)}")
    known = [instance for instance in spec.instances if instance.action.name == target.action]
    drawn = known[0].action.drawn.keys()
    if drawn:
        known = list(dict.fromkeys(each for instance in known for each, _ in spec.steps(instance, before)))
    found = [
        each for each in known if {name: encode(value) for name, value in each.arguments.items()} == target.arguments
    ]
    if found:
        return found
    where = f", and {' and '.join(sorted(drawn))} drawn from the previous state" if drawn else ""
    raise TraceError(f"step {index}: {target.label} is not possible with {spec.named_bounds}{where}")


def _follow(
    spec: Spec[S], index: int, instances: list[ActionInstance[S]], states: list[S], target: RecordedState
) -> tuple[ActionInstance[S], S]:
    steps = [step for instance in instances for step in spec.steps(instance, states[-1])]
    for instance, successor in steps:
        if not _difference(successor, states[0], target):
            return instance, successor
    if not steps:
        raise TraceError(f"step {index}: {instances[0]} is not enabled in the previous state")
    instance, successor = steps[0]
    raise TraceError(
        f"step {index}: {instance} leads to a different state: {_difference(successor, states[0], target)}"
    )


def _difference(state: object, first: object, target: RecordedState) -> str:
    """Describe the first variable whose value differs from the recorded value.

    Parameters:
        first: the first state of the model's trace.

    Returns:
        The description, or an empty string if there is no difference.
    """
    values = encode_state(state, first)
    for name in [*values, *target.values]:
        if name not in target.values or name not in values:
            return f"variable {name!r} exists only in the {'model' if name in values else 'file'}"
        if values[name] != target.values[name]:
            return _where(name, values[name], target.values[name])
    return ""


def _where(path: str, ours: Json, theirs: Json) -> str:
    """Describe the innermost parts in which two values differ.

    Parameters:
        path: the path to both values, which begins with the name of the variable.
    """
    for name, inner, other in _parts(ours, theirs):
        if inner != other:
            return _where(f"{path}{name}", inner, other)
    return f"{path} is {shown(ours)} in the model, but {shown(theirs)} in the file"


def _parts(ours: Json, theirs: Json) -> list[tuple[str, Json, Json]]:
    match ours, theirs:
        case {"#tup": list(items)}, {"#tup": list(others)} if len(items) == len(others):
            return [(f"[{index}]", *pair) for index, pair in enumerate(zip(items, others, strict=True))]
        case {"tag": tag, "value": dict(fields)}, {"tag": other, "value": dict(others)} if tag == other:
            return _parts(fields, others)
        case ({"tag": str()}, _) | (_, {"tag": str()}):
            return []
        case dict(), dict() if ours.keys() == theirs.keys() and not any(name.startswith("#") for name in ours):
            return [(f".{name}", ours[name], theirs[name]) for name in ours]
    return []
