"""Fairness conditions, which say which actions a fair behaviour must eventually take.

A condition belongs to an action as a whole, to one instance of it, or to the instances that have the same values of
some parameters. In a behaviour, a condition is *enabled* in a state if the action, or one of these instances, has a
step from the state that changes the state. It is *taken* by such a step, and by any other step between the same two
states, as in TLA+, where a step is a pair of states. A weak condition is violated if, from some time on, it is enabled
in every state but never taken. A strong condition is violated if it is enabled infinitely often, but taken only
finitely often.
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
        identity: the action, and the values of the parameters that the condition distinguishes, which can be drawn from
            the state; see `ActionInstance.identity_by`.
        strong: whether the condition is strong instead of weak.
        name: the name of the action, or the instance as text, for example ``fetch(follower=1)``. Two conditions can
            have the same name, and one condition can have several.
    """

    identity: Identity
    strong: bool
    name: str = attrs.field(eq=False)

    @property
    def rule(self) -> str:
        """A phrase that says how often the condition is enabled in a behaviour that violates it."""
        return "is enabled again and again" if self.strong else "is enabled in every state"


def condition_of(spec: Spec[S], instance: ActionInstance[S]) -> Condition | None:
    """Return the fairness condition of an action instance, or None if its action is not fair."""
    fair = spec.fair(instance.action)
    if not fair:
        return None
    strength, _, each = fair.partition(" ")
    arguments = instance.arguments
    named = fair_parameters(fair) or (list(arguments) if each else [])
    name = (
        with_values(instance.action.name, {name: arguments.get(name) for name in named})
        if each
        else instance.action.name
    )
    return Condition(instance.identity_by(named), strength == "strong", name)


def disturbs(instance: ActionInstance[S]) -> bool:
    """Return whether an action instance perturbs the system; see `Action.effect`."""
    return instance.action.effect == "perturbing"


def heals(instance: ActionInstance[S]) -> bool:
    """Return whether an action instance repairs something; see `Action.effect`."""
    return instance.action.effect == "healing"
