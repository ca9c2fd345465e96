"""Decide whether the settings of a cluster allow a known bug.

For each bug, the archive has one configuration in which a search finds the bug. For other settings, a new search with
the same limits on failures looks for the bug. The bug is *possible* if the search finds it, and *avoided* if the search
is complete and does not find it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from enum import Enum
from typing import Any

import attrs

from leadline.checker.bounds import bounds_text
from leadline.checker.engines import ENGINES
from leadline.checker.engines.progress import Progress
from leadline.checker.errors import SpecError
from leadline.checker.result import Limits, Result, Verdict
from leadline.checker.spec import Spec
from leadline.checker.support.messages import counted
from leadline.checker.traces.divergence import follow
from leadline.invariants.followers import follower_reads
from leadline.invariants.promises import why_not_promised
from leadline.reports.differences import complaint
from leadline.reports.kafka.advice.cluster import Cluster
from leadline.reports.kafka.bugs import SETTINGS, Archive, Bug, fix_of, sizes
from leadline.reports.loading import explore_command

Values = dict[str, int | bool | str]
ShowProgress = Callable[[str], AbstractContextManager[Progress]]
"""A function that returns a context, in which the progress of the search with the given title is shown."""


NOTHING_PROMISED = "these settings promise nothing here: the property applies to no behaviour of the search"


SAME_STEPS = "the steps of the archive's own search are possible with these settings, too"


class Status(Enum):
    """Whether a known bug can occur in a cluster."""

    ABSENT = "absent"
    """The release does not have the bug."""
    POSSIBLE = "possible"
    """The release has the bug, and a search with the settings finds it."""
    AVOIDED = "avoided"
    """The release has the bug, but a complete search with the settings does not find it."""
    NOT_PROMISED = "not promised"
    """The settings do not promise the property: it is violated by design, or nothing could violate it."""
    UNDECIDED = "undecided"
    """No search decides it."""


@attrs.frozen
class Decision:
    """A decision on whether a known bug can occur in a cluster.

    Attributes:
        reason: why the bug has this status. Empty if the archive's own search shows the bug, or if the release is not
            affected.
        command: the command that shows the bug or its absence, or an empty string.
    """

    status: Status
    reason: str = ""
    command: str = ""


class InterruptedSearchError(Exception):
    """Raised when a search is interrupted."""


ABSENT = Decision(Status.ABSENT)


@attrs.define
class Decider:
    """Decides whether known bugs can occur in a cluster.

    Attributes:
        max_seconds: the time limit of each search, in seconds.
        show: a function that shows the progress of a search.
        interrupted: true if the user has interrupted a search. No further searches are then run.
    """

    archive: Archive
    max_seconds: float
    show: ShowProgress
    interrupted: bool = False
    _found: dict[tuple[str, str, str], Result] = attrs.field(factory=dict)

    def decide(self, bug: Bug, cluster: Cluster) -> Decision:
        """Decide whether a known bug can occur in a cluster.

        Parameters:
            cluster: a cluster whose release is or may be affected by the bug. It may be affected if the user has
                changed its rules, or has set the defaults that the fix changed. A search then decides.
        """
        decision = self._decided(bug, cluster)
        others = [other for other in self.archive.bugs if other.ticket in bug.besides and fix_of(other, cluster.column)]
        if not others:
            return decision
        said = f"searched with the fix of {' and '.join(other.ticket for other in others)}, which would be found first"
        return attrs.evolve(decision, reason="; ".join(filter(None, (decision.reason, said))))

    def searches(self, bug: Bug, cluster: Cluster) -> list[Spec[object]]:
        """Return the specs that are searched to decide about a bug, in this order until one is violated.

        Returns:
            The specs, or an empty list if the archive's own search decides, because the settings are its settings.
        """
        needed = self.archive.searched(bug, cluster.column.name).bounds
        changed, rules = _changed(needed, cluster), _rules(bug, cluster)
        least = needed.min_insync_replicas if rules else int(cluster.bounds["min_insync_replicas"])
        tried = sizes(needed, least, cluster.replicas)
        is_known = self.archive.affects(bug, cluster.column) and not _is_chosen(bug, cluster)
        if is_known and not changed and not rules and tried == [needed.brokers]:
            return []
        return [self._spec(bug, cluster, rules, changed | {"brokers": size}) for size in tried]

    def _decided(self, bug: Bug, cluster: Cluster) -> Decision:
        usual = self.archive.searched(bug, cluster.column.name)
        searched = self.searches(bug, cluster)
        if not searched:
            return Decision(Status.POSSIBLE, "", explore_command(usual))
        try:
            return self._searched(bug, cluster, searched, usual.bounds)
        except InterruptedSearchError:
            return Decision(Status.UNDECIDED, "the search with these settings was interrupted", explore_command(usual))

    def _searched(self, bug: Bug, cluster: Cluster, searched: Sequence[Spec[object]], needed: Any) -> Decision:
        """Search with the settings of the cluster, and decide based on the results. Raise InterruptedSearchError if a
        search is interrupted.
        """
        rules = _rules(bug, cluster)
        for each in searched:
            result = self.result(each)
            if result.verdict is Verdict.VIOLATED:
                return self._of_violation(bug, cluster, each, result)
            if result.verdict is Verdict.INCOMPLETE and not result.unreached(bug.situation):
                return Decision(Status.UNDECIDED, self._why_incomplete(), explore_command(each))
        if result.properties[0].premise is False and not rules:
            return Decision(Status.NOT_PROMISED, NOTHING_PROMISED, explore_command(searched[-1]))
        if result.verdict is Verdict.INCOMPLETE:
            return Decision(Status.UNDECIDED, f"with these settings, {result.reason}", explore_command(searched[-1]))
        reason = self._what_avoids(bug, cluster, rules, _changed(needed, cluster), needed.brokers)
        return Decision(Status.AVOIDED, reason, explore_command(searched[-1]))

    def _spec(
        self, bug: Bug, cluster: Cluster, rules: Mapping[str, str], changed: Mapping[str, object]
    ) -> Spec[object]:
        """Return the spec for searching for a bug with changed settings.

        In the archive, an operator requests unclean elections where KRaft ignores ``unclean.leader.election.enable``
        (KAFKA-12670). If the setting is false, and not only ignored, no operator requests one.
        """
        asks = changed.get("unclean_leader_election", True) or cluster.ignores_unclean_election
        refused = {} if asks else {"unclean_elections": 0}
        spec = self.archive.searched(bug, cluster.column.name, rules).with_bounds(dict(changed) | refused)
        return spec.resting_on(bug.situation)

    def result(self, spec: Spec[object]) -> Result:
        """Search a spec, and return the result. If the same spec was searched before, return the earlier result.

        Raises:
            InterruptedSearchError: if the user interrupts the search, or has interrupted an earlier one.
        """
        item = spec.checks[0]
        key = (spec.name, bounds_text(attrs.asdict(spec.bounds)), item.name)
        if key not in self._found:
            if self.interrupted:
                raise InterruptedSearchError
            with self.show(f"{spec.name} {item.name}") as progress:
                result = ENGINES["compiled"](spec, Limits(max_seconds=self.max_seconds), progress)
            if result.interrupted:
                self.interrupted = True
                raise InterruptedSearchError
            self._found[key] = result
        return self._found[key]

    def _why_incomplete(self) -> str:
        return f"the search with these settings was not complete after {self.max_seconds:g} s (--max-seconds)"

    def _of_violation(self, bug: Bug, cluster: Cluster, spec: Spec[object], result: Result) -> Decision:
        """Decide whether the bug causes a violation that was found with the settings, or whether the violation is by
        design.
        """
        found = f"found by a search with these settings and {counted(spec.bounds.brokers, 'broker')}"
        if cluster.ignores_unclean_election and attrs.asdict(spec.bounds).get("unclean_elections"):
            found += ", in which an operator requests an unclean election"
        shown = explore_command(spec.with_properties([bug.property]))
        by_design = why_not_promised(bug.property, result.properties[0].traces[0])
        if not by_design or self._is_mended(bug, cluster, spec):
            return Decision(Status.POSSIBLE, found, shown)
        usual = self.archive.searched(bug, cluster.column.name, _rules(bug, cluster))
        if not _is_chosen(bug, cluster) and self._takes_the_same_steps(bug, usual, spec):
            return Decision(Status.POSSIBLE, SAME_STEPS, explore_command(usual))
        return Decision(Status.NOT_PROMISED, by_design, shown)

    def _takes_the_same_steps(self, bug: Bug, usual: Spec[object], spec: Spec[object]) -> bool:
        """Return whether the trace from the archive's own search also violates the property with these settings, but
        not by design.

        With more permissive settings, a shortest trace may show a violation that is by design, which would hide the
        bug.
        """
        traces = self.result(usual).properties[0].traces
        if not traces:
            return False
        try:
            parting = follow(traces[0], spec)
        except SpecError:
            return False
        is_violated = parting.refused is None and complaint(parting) is not None
        return is_violated and not why_not_promised(bug.property, parting.second)

    def _is_mended(self, bug: Bug, cluster: Cluster, spec: Spec[object]) -> bool:
        """Return whether the rules of the release that fixed a bug also avoid it with the settings of a cluster."""
        if not bug.rules:
            return False
        rules = _rules(bug, cluster) | fix_of(bug, cluster.column)
        return self.result(self._spec(bug, cluster, rules, attrs.asdict(spec.bounds))).verdict is Verdict.HOLDS

    def _what_avoids(self, bug: Bug, cluster: Cluster, rules: Mapping[str, str], changed: Values, brokers: int) -> str:
        """Return the setting that avoids the bug by itself, or all settings if only their combination avoids it."""
        if rules:
            return "replica.selector.class is not set, so consumers do not read from followers"
        if not changed and (cluster.replicas is None or cluster.replicas >= brokers):
            return f"the rules of {cluster.column.name}"
        alone = [name for name in changed if len(changed) == 1 or self._avoids(bug, cluster, name)]
        single = {name: changed[name] for name in alone}
        said = [f"{SETTINGS[name]}={_text(value)} ({cluster.settings[name].origin})" for name, value in single.items()]
        if cluster.replicas is not None and cluster.replicas < brokers and not single:
            said = [f"the replication factor of {cluster.replicas}, while its search has {brokers} brokers"]
        every = [f"{SETTINGS[name]}={_text(value)}" for name, value in changed.items()]
        return " or ".join(said) if said else f"{' and '.join(every)} together"

    def _avoids(self, bug: Bug, cluster: Cluster, name: str) -> bool:
        """Return whether a single setting avoids a bug."""
        spec = self._spec(bug, cluster, {}, {name: cluster.bounds[name]})
        return self.result(spec).verdict is Verdict.HOLDS


def _is_chosen(bug: Bug, cluster: Cluster) -> bool:
    """Return whether the files set the old default values that allow a bug. A release that only changes the defaults
    does not fix the bug then.
    """
    return bool(bug.defaults) and cluster.chooses(bug.defaults)


def _rules(bug: Bug, cluster: Cluster) -> dict[str, str]:
    """Return the rules that the settings change and that matter for the bug's property."""
    return cluster.rules if bug.property == follower_reads.name else {}


def _changed(needed: Any, cluster: Cluster) -> Values:
    """Return the settings of a cluster that differ from the bounds of a search."""
    bounds = cluster.bounds
    return {name: bounds[name] for name in SETTINGS if getattr(needed, name) != bounds[name]}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
