"""Predict, without starting brokers, which rules a behaviour of the model would confirm if brokers executed it."""

from __future__ import annotations

import attrs

from leadline.checker.conformance import Answer, follow
from leadline.checker.trace import Trace
from leadline.model.kafka.conformance.following import FollowedRelease, followed_release, forget
from leadline.model.kafka.conformance.observer import Window
from leadline.model.kafka.conformance.projection import Taken, seen
from leadline.model.kafka.releases import Column
from leadline.model.kafka.rules import RULES
from leadline.model.kafka.state import Partition
from leadline.reports.kafka.conformance.report import other_values

NOT_BY_WALKS = ("election_order", "follower_leos")
"""Rules that no run of a behaviour confirms. The driver orders the replicas so that those that the behaviour elects
come first, and all recordings are followed with `follower_leos=kept`.
"""


def would_confirm(trace: Trace[Partition], column: Column, known: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return the rules that a behaviour would confirm if brokers executed it and a recorder observed every step.

    Parameters:
        trace: the behaviour.
        column: the release.
        known: rules to leave out.
    """
    behaviour = Behaviour(trace)
    if not behaviour.is_explained_by(column):  # a step is not seen as it is
        return frozenset()
    return frozenset(
        rule.name
        for rule in RULES
        if rule.name not in known
        and rule.name not in NOT_BY_WALKS
        and not any(
            behaviour.is_explained_by(column.with_rules({rule.name: other}))
            for other in other_values(column, rule.name)
        )
    )


class Behaviour:
    """A behaviour of the model, as if a recorder had seen each of its steps when it happened. With acks=all, a recorder
    sees that a record is appended when it is acknowledged, which may be at any later time.
    """

    def __init__(self, trace: Trace[Partition]) -> None:
        self._steps: list[Taken] = [
            (step.instance.action.name, step.instance.values, step.before, step.after) for step in trace.steps
        ]
        self._known: list[tuple[FollowedRelease, bool]] = []

    def is_explained_by(self, column: Column) -> bool:
        """Return whether the behaviour is not rejected by the spec of a release."""
        first = self._steps[0][2]
        bounds = first.bounds
        followed = followed_release(
            column,
            bounds.brokers,
            acks=bounds.acks,
            min_insync_replicas=bounds.min_insync_replicas,
            unclean_leader_election=bounds.unclean_leader_election,
        )
        for other, explains in self._known:
            if other.does_the_same(followed):
                return explains
        with attrs.validators.disabled():  # see `followed_release`
            beginning = attrs.evolve(forget(first), bounds=followed.bounds, protocol=followed.rules[0])
        late = ("produce",) if bounds.acks == "all" else ()
        observations = (
            see(Window(time, len(self._steps) if self._steps[time][0] in late else time))
            for time, see in seen(followed, self._steps)
        )
        answer = follow([beginning], observations, followed.hidden, forget=forget).answer
        self._known.append((followed, answer is not Answer.REJECTED))
        return self._known[-1][1]
