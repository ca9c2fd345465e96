"""The audit: actions and states that only look like pure functions and values are found early."""

from __future__ import annotations

import copy
from typing import TypeVar

from checker.errors import SpecError
from checker.spec import Spec
from checker.state import check_state, identity_leaf

S = TypeVar("S")

AUDITED = 100
"""The first states of a search are audited: that catches nearly all, and costs nothing in a long one."""


def audit(spec: Spec[S], state: S) -> None:
    """Expand a state twice and refuse actions that change it or that do not repeat themselves.

    Raises:
        SpecError: naming the action.
    """
    check_state(state, spec.initials()[0])
    before = copy.deepcopy(state)
    if leaf := identity_leaf(state, before):
        raise SpecError(f"a state must equal a copy of itself, but {leaf} holds an object that only equals itself")
    for instance in spec.instances:
        once, again = spec.take(instance, state), spec.take(instance, state)
        if before != state:
            raise SpecError(f"action {instance} changed the state it was given: it must yield a new one")
        if once != again:
            raise SpecError(f"action {instance} is not deterministic: the same state gave different next states")
