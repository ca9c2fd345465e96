"""Predicates that return whether an action is enabled, for properties and for `Spec.final`."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import attrs

from leadline.checker.action import Action, ActionInstance
from leadline.checker.errors import SpecError
from leadline.checker.parameters import domain_values, with_values


@attrs.frozen(eq=False)
class Enabled:
    """A predicate that takes a state and returns whether an action is enabled in it. `enabled` creates it.

    Attributes:
        instances: the action instances to test. The predicate is true if one of them is enabled.
        name: the name of the predicate in reports.
    """

    instances: tuple[ActionInstance[Any], ...]
    name: str

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, state: Any) -> bool:
        for instance in self.instances:
            for _ in instance.successors(state):
                return True
        return False


def enabled(action: Action[Any, ...], /, **arguments: object) -> Enabled:
    """Return a predicate that takes a state and returns whether an action is enabled in it.

    Call the result with a state, or use it wherever a predicate is expected, for example as a premise.

    Parameters:
        arguments: the values of some or all parameters of the action. The predicate is true if the action is enabled
            with these values and with any values of the other parameters.

    Raises:
        SpecError: if `action` is not an action, if it has no such parameter, or if a parameter without a value has a
            domain that depends on the bounds.

    Example:
        >>> from leadline.checker import action
        >>> @action(index=range(2))
        ... def increment(state, index):
        ...     if state[index] < 9:
        ...         yield (*state[:index], state[index] + 1, *state[index + 1 :])
        >>> enabled(increment, index=1)((0, 9)), enabled(increment)((0, 9))
        (False, True)
    """
    if not isinstance(action, Action):
        raise SpecError(f"enabled takes an action, which is decorated with @action(...), not {action!r}")
    for name in arguments:
        if name in action.drawn:
            raise SpecError(f"enabled: {name!r} of action {action.name} is drawn from the state: leave it out")
        if name not in action.domains:
            known = ", ".join(action.domains) or "no parameters"
            raise SpecError(f"enabled: action {action.name} has no parameter {name!r}: it has {known}")
    values: list[Iterable[object]] = []
    for name, domain in action.domains.items():
        if name in arguments:
            values.append((arguments[name],))
        elif isinstance(domain, Iterable):
            values.append(domain_values(f"enabled({action.name})", name, domain, None))
        else:
            raise SpecError(
                f"enabled: give a value of {name!r}, because its domain depends on the bounds: for any value, write "
                f"any(enabled({action.name}, {name}=each)(state) for each in ...)"
            )
    instances = tuple(ActionInstance(action, combination) for combination in itertools.product(*values))
    return Enabled(instances, f"enabled {with_values(action.name, arguments)}")
