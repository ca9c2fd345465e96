"""Rebuild the trace of a cause from its steps."""

from __future__ import annotations

from typing import Any

import attrs

from leadline.checker.errors import LeadlineError
from leadline.checker.trace import Trace
from leadline.checker.traces.replay import executed
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
    return executed(spec, cause.instances, cause.loop)
