"""Leave a step out of a counterexample, to find out whether the other steps can still violate the property.

The world of a counterexample is its spec, restricted to the action instances that occur in the counterexample. These
instances may occur in any order, and any number of times. If the property holds once a step is left out of this world,
the step may be the cause of the violation. But the property may also hold because it no longer applies: without writes,
no write is lost. Therefore, if the property has a premise, the premise must still be true in some state. Otherwise,
each field that the violation depends on must still change.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from leadline.checker.action import Action, ActionInstance
from leadline.checker.properties import Kind, Property
from leadline.checker.spec import Spec
from leadline.checker.state import is_component, variables
from leadline.checker.trace import Trace, complaint_at_end

Path = tuple[str | int, ...]
"""The location of a field in a state, as a sequence of attribute names and tuple indices."""


@attrs.frozen(eq=False)
class _Chosen(Action[object, ...]):
    """An action restricted to some of its instances."""

    chosen: frozenset[tuple[object, ...]] = frozenset()

    def instances(self, bounds: object) -> list[ActionInstance[object]]:
        """Return the chosen instances of the action."""
        return [instance for instance in super().instances(bounds) if instance.values in self.chosen]


def world_without(trace: Trace[object], left_out: ActionInstance[object], item: Property) -> Spec[object] | None:
    """Return the world of a counterexample, without one of its action instances.

    The world has the violated property and, unless the property has a premise, a witness for each field that must
    change.

    Parameters:
        left_out: the action instance to leave out, without values that are drawn from states.

    Returns:
        The spec of this world, or None if no action instance remains.
    """
    kept = {instance.of_search for instance in trace.instances} - {left_out}
    actions = tuple(
        _Chosen(action.name, action.function, action.domains, action.sentence, drawn=action.drawn, chosen=chosen)
        for action in trace.spec.actions
        if (chosen := frozenset(instance.values for instance in kept if instance.action is action))
    )
    if not actions:
        return None
    changing = () if item.premise is not None else tuple(_changes(path, trace) for path in _decisive(trace, item))
    return attrs.evolve(
        trace.spec, actions=actions, properties=(item, *changing), check_deadlock=False, final=None, distance=None
    )


def _changes(path: Path, trace: Trace[object]) -> Property:
    """Return a witness that is shown if a field changes, that is, takes a value that it has in no initial state."""
    first = {_at(state, path) for state in trace.spec.initials()}
    name = ".".join(map(str, path))
    return Property(f"{name} changes", Kind.WITNESS, f"{name} changes", lambda state: _at(state, path) not in first, "")


def _decisive(trace: Trace[object], item: Property) -> list[Path]:
    """Return the changed fields that a violation depends on.

    A violation depends on a field if resetting the field to its initial value removes the violation. If there is no
    such field, for example because each of two fields suffices for the violation, return all changed fields.
    """
    last, initials = trace.states[-1], trace.spec.initials()
    changed = [path for path in _paths(trace.states[0]) if all(_at(each, path) != _at(last, path) for each in initials)]
    return [path for path in changed if not _is_violated_with(trace, item, path)] or changed


def _is_violated_with(trace: Trace[object], item: Property, path: Path) -> bool:
    """Return whether the end of a trace still violates a property after a field has been reset to its initial value."""
    value = _at(trace.states[0], path)
    try:
        states = [_replaced(state, path, value) for state in trace.states[-2:]]
        return complaint_at_end(trace.spec, item, states) is not None
    except Exception:  # the code of the spec need not accept a state that never occurs
        return False


def _paths(value: object, is_split: bool = False) -> Iterator[Path]:
    """Yield the path to each field of a state. For an attrs object or a component, yield the paths to the fields in it.

    Parameters:
        is_split: whether the part is a component.
    """
    if attrs.has(type(value)):
        for field in variables(value):
            for path in _paths(getattr(value, field.name), is_component(field)):
                yield (field.name, *path)
    elif type(value) is tuple and value and is_split:
        for index, each in enumerate(value):
            for path in _paths(each, True):
                yield (index, *path)
    else:
        yield ()


_ABSENT = object()


def _at(value: Any, path: Path) -> object:
    """Return the value of a field, or `_ABSENT` if the state has no such field."""
    for key in path:
        try:
            value = getattr(value, key) if isinstance(key, str) else value[key]
        except (AttributeError, IndexError, TypeError):
            return _ABSENT
    return value


def _replaced(value: Any, path: Path, new: object) -> object:
    """Return a copy of a state in which one field has a new value."""
    if not path:
        return new
    key, rest = path[0], path[1:]
    if isinstance(key, str):
        alias = attrs.fields_dict(type(value))[key].alias
        return attrs.evolve(value, **{str(alias): _replaced(getattr(value, key), rest, new)})
    return (*value[:key], _replaced(value[key], rest, new), *value[key + 1 :])
