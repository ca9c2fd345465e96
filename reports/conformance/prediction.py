"""Predict, without starting brokers, which rules a behaviour of the model would confirm if brokers executed it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from leadline.checker.conformance import Answer, follow
from leadline.checker.trace import Trace
from leadline.model.kafka.conformance.following import followed_release, forget
from leadline.model.kafka.conformance.observations import Window
from leadline.model.kafka.conformance.projection import Taken, seen
from leadline.model.kafka.releases import Column
from leadline.model.kafka.rules import RULES
from leadline.model.kafka.state import Partition
from leadline.reports.conformance.report import other_values


def would_confirm(trace: Trace[Partition], column: Column, known: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return the rules that a behaviour would confirm if brokers executed it and every step were observed immediately.

    Parameters:
        trace: the behaviour.
        column: the release.
        known: rules to leave out.
    """
    steps = _steps(trace)
    if not _explains(column, steps):  # a step is not seen as it is
        return frozenset()
    return frozenset(
        rule.name
        for rule in RULES
        if rule.name not in known
        and not any(
            _explains(column.with_rules({rule.name: other}), steps) for other in other_values(column, rule.name)
        )
    )


def _explains(column: Column, steps: Sequence[Taken]) -> bool:
    first = steps[0][2]
    bounds = first.bounds
    followed = followed_release(
        column,
        bounds.brokers,
        acks=bounds.acks,
        min_insync_replicas=bounds.min_insync_replicas,
        unclean_leader_election=bounds.unclean_leader_election,
    )
    with attrs.validators.disabled():  # see `followed_release`
        beginning = attrs.evolve(forget(first), bounds=followed.bounds, protocol=followed.protocol)
    observations = (see(Window(time, time)) for time, see in seen(followed, steps))
    return follow([beginning], observations, followed.hidden, forget=forget).answer is not Answer.REJECTED


def undecided_values(traces: Iterable[Trace[Partition]], column: Column) -> dict[str, tuple[str, ...]]:
    """Return the rule values that none of the given behaviours contradicts, keyed by the name of the rule. Rules
    without such values are omitted.

    Parameters:
        traces: the behaviours.
        column: the release.
    """
    left = {rule.name: other_values(column, rule.name) for rule in RULES}
    for trace in traces:
        steps = _steps(trace)
        for rule, values in left.items():
            left[rule] = [value for value in values if _explains(column.with_rules({rule: value}), steps)]
    return {rule: tuple(values) for rule, values in left.items() if values}


def _steps(trace: Trace[Partition]) -> list[Taken]:
    return [(step.instance.action.name, step.instance.values, step.before, step.after) for step in trace.steps]
