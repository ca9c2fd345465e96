"""Fairness conditions, which say which actions a fair behaviour must eventually take.

A condition belongs to an action as a whole, to one instance of it, to the instances that have the same values of
some parameters, or to all of these of a group of actions (``WF(A or B)`` in TLA+). In a behaviour, a condition is
*enabled* in a state if one of the instances to which it belongs has a step from the state that changes the state. It is
*taken* by such a step, and by any other step between the same two states, as in TLA+, where a step is a pair of states.
A weak condition is violated if, from some time on, it is enabled in every state but never taken. A strong condition is
violated if it is enabled infinitely often, but taken only finitely often.
"""

from __future__ import annotations

from typing import TypeVar

import attrs

from leadline.checker.action import ActionInstance, Identity, fair_parameters
from leadline.checker.parameters import with_values
from leadline.checker.spec import Spec

S = TypeVar("S")


@attrs.frozen
class Condition:
    """A fairness condition.

    Attributes:
        identity: the name of the action or of the group of actions, and the values of the parameters that the condition
            distinguishes, which can be drawn from the state; see `ActionInstance.identity_by`.
        strong: whether the condition is strong instead of weak.
        name: the name of the action or group, or the instance as text, for example ``fetch(follower=1)``. Two
            conditions can have the same name, and one condition can have several.
        is_group: whether the condition belongs to a group of actions.
    """

    identity: Identity
    strong: bool
    name: str = attrs.field(eq=False)
    is_group: bool = False

    @property
    def rule(self) -> str:
        """A phrase that says how often the condition is enabled in a behaviour that violates it."""
        return "is enabled again and again" if self.strong else "is enabled in every state"


def conditions_of(spec: Spec[S], instance: ActionInstance[S]) -> tuple[Condition, ...]:
    """Return the fairness conditions of an action instance: that of its action, and those of the groups of the action.
    There are none if neither is fair.
    """
    action, own = instance.action, spec.fair(instance.action)
    groups = [_condition(instance, names, fair) for names, fair in spec.fair_groups if action.name in names]
    return (*([_condition(instance, (action.name,), own)] if own else []), *groups)


def _condition(instance: ActionInstance[S], names: tuple[str, ...], fair: str) -> Condition:
    """Return the condition of an action or a group for an instance of one of its actions."""
    strength, _, each = fair.partition(" ")
    arguments, owner = instance.arguments, " or ".join(names)
    named = fair_parameters(fair) or (list(arguments) if each else [])
    _, values = instance.identity_by(named)
    name = with_values(owner, {name: arguments.get(name) for name in named}) if each else owner
    return Condition((owner, values), strength == "strong", name, len(names) > 1)


def disturbs(instance: ActionInstance[S]) -> bool:
    """Return whether an action instance perturbs the system; see `Action.effect`."""
    return instance.action.effect == "perturbing"


def heals(instance: ActionInstance[S]) -> bool:
    """Return whether an action instance repairs something; see `Action.effect`."""
    return instance.action.effect == "healing"
