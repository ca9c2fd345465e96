"""Rebuild the trace of a cause from its steps."""

from __future__ import annotations

import itertools
from typing import Any

import attrs

from leadline.checker.errors import LeadlineError
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace
from leadline.checker.traces.replay import MOST_BEHAVIOURS, executed
from leadline.reports.hunt.cures import base_spec
from leadline.reports.hunt.report import Cause


def trace_of(cause: Cause) -> Trace[Any] | None:
    """Return the trace of a cause, or None if the spec no longer allows its steps."""
    try:
        spec = base_spec(cause.spec).with_bounds(cause.bounds)
        actions = [each for each in spec.actions if each.name not in cause.left_out]
        spec = attrs.evolve(spec, actions=actions).with_properties([cause.violates])
    except LeadlineError:  # a saved hunt of another version, or a file that has changed
        return None
    if spec.liveness:
        return _followed(spec, cause)
    return executed(spec, cause.instances)


def _followed(spec: Spec[Any], cause: Cause) -> Trace[Any] | None:
    """Return the trace of a cause that violates a property about the future, without deciding again whether it does."""
    known = {repr(instance): instance for instance in spec.instances}
    if not known.keys() >= {*cause.instances}:
        return None
    behaviours = [[state] for state in spec.initials()]
    for step in cause.instances:
        following = ([*states, after] for states in behaviours for after in spec.take(known[step], states[-1]))
        behaviours = list(itertools.islice(following, MOST_BEHAVIOURS))
    for states in behaviours:
        if cause.loop is None or states[cause.loop] == states[-1]:
            return Trace(spec, states, [known[step] for step in cause.instances], spec.checks[0], cause.loop)
    return None
