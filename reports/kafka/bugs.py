"""The archive of known bugs, and the searches that must confirm them.

For each bug, the archive gives the affected releases, the configuration and the violated property. It does not contain
search results. Every affected release must violate the property. The release with the fix and all later releases must
not violate it. If the old rule is restored in the release with the fix, that release must violate the property again.

Most bugs are about partition replication, and affect releases of the `kafka` family. Others are about transactions (the
`txn` family), about controllers that die (the `control` family), about consumer groups (the `group` family),
about KRaft's quorum (the `quorum` family), or about images of its metadata log (the `image` family).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import attrs

from leadline.checker.bounds import change_bounds
from leadline.checker.engines import ENGINES
from leadline.checker.engines.progress import Progress
from leadline.checker.errors import LeadlineError
from leadline.checker.result import Limits, Result, Verdict
from leadline.checker.settings import CompiledSettings
from leadline.checker.spec import Spec
from leadline.checker.support.messages import nearest
from leadline.model.kafka.bounds import NO_LIMIT
from leadline.model.rules import RuleColumn
from leadline.reports.kept_results import KeptResults
from leadline.reports.loading import load_spec, mixed_in, shipped_column
from leadline.reports.toml_files import Values, read_as

SHIPPED = Path(__file__).resolve().with_name("bugs.toml")

SETTINGS = {
    "acks": "acks",
    "min_insync_replicas": "min.insync.replicas",
    "unclean_leader_election": "unclean.leader.election.enable",
}
"""The bounds that users configure, with Kafka's names. A bug that needs one value of them does not occur with another.
"""

CONSUMERS = {"cooperative": "CooperativeStickyAssignor", "static": "group.instance.id"}
"""The bounds that say how the consumers of a group are configured. A bug whose bounds name none of them occurs with
each."""

MIXED = {"classic_members": "members with the classic protocol", "classic_cooperative": "CooperativeStickyAssignor"}
MIXED["migrates"] = "group.consumer.migration.policy=bidirectional"
"""The bounds about groups that change their protocol."""

CONFIGURED = CONSUMERS | MIXED | {"dynamic": "kraft.version=1"}
"""These, and the bound that says whether voters of the metadata log are in that log."""

REPLICATION = "kafka"
TRANSACTIONS = "txn"
CONTROL = "control"
GROUPS = "group"
QUORUM = "quorum"
IMAGES = "image"
"""The families of releases: the part of a spec's name before the slash."""

SIZES = (
    "brokers",
    "records",
    "max_epoch",
    "partitions",
    "transactions",
    "producers",
    "lag",
    "clients",
    "perturbations",
)
"""The bounds that limit the size of a system, and how many failures of all kinds happen."""

MOST_BROKERS = 3
"""The maximum number of brokers with which a bug is searched for again, unless its own search has more."""

NO_TICKET = "no ticket: "
"""Begins the name of a bug for which no ticket was found. Its own name follows."""

Expected = Literal["violated", "holds"]


@attrs.frozen(kw_only=True)
class Bug:
    """A known bug of Kafka's replication, transactions, controllers or consumer groups.

    Attributes:
        ticket: the ticket of the bug, or the KIP if the bug has no ticket.
        also: further tickets and KIPs about the same bug.
        sentence: a sentence that describes the bug.
        property: the name of the property that the bug violates.
        affected: the catalog names of the releases that have the bug. A name with a changed rule, such as
            ``txn/3.6+guard=none``, stands for a version that was not released.
        fixed: the first release with the fix. If ZooKeeper and KRaft were fixed separately, the first release of each.
            A name with a changed rule stands for a fix that no release has. Empty if the behaviour is by design.
        elsewhere: releases that have `rules` and violate the property within `bounds`, but that do not have this bug.
            The note says why. All other releases with `rules` are affected, or satisfy the property.
        bounds: the bounds of the search, if they differ from the release's defaults.
        bounds_in: further bounds of the searches in some of the affected releases, keyed by the name of the release.
        situation: the names of witnesses: the situation in which the bug does harm. A search that does not reach it
            says nothing about the bug.
        rules: the rules that the fix changed, and their values before the fix.
        defaults: the configuration defaults that the fix changed, and their values before the fix. Used only if the fix
            changed no rules.
        besides: other known bugs that a search would find first. They are fixed in every search for this bug.
        note: further facts, such as disputed versions.
        on_brokers: what happens on real brokers, if they cannot show both the bug in an affected release and its
            absence in the fixed release.
        by_design: why the behaviour is by design, with a source. Empty if it is not. For behaviour that is by design,
            `fixed` may name a release with a changed rule that prevents the behaviour.
        seen: what an operator sees of the bug.
        check: how to find out whether it has happened in a cluster, or can happen.
        until: what to do in a release that has it.
        avoided: for a bug of mixes, bounds that say the same as `until`: with them, no affected mix has the bug.
    """

    ticket: str
    also: list[str] = attrs.field(factory=list)
    sentence: str
    property: str
    affected: list[str]
    fixed: list[str]
    elsewhere: list[str] = attrs.field(factory=list)
    bounds: Values = attrs.field(factory=dict)
    bounds_in: dict[str, Values] = attrs.field(factory=dict)
    situation: list[str] = attrs.field(factory=list)
    rules: dict[str, str] = attrs.field(factory=dict)
    defaults: Values = attrs.field(factory=dict)
    besides: list[str] = attrs.field(factory=list)
    note: str = ""
    on_brokers: str = ""
    by_design: str = ""
    seen: str = ""
    check: str = ""
    until: str = ""
    avoided: Values = attrs.field(factory=dict)

    def bounds_for(self, name: str) -> Values:
        """Return the bounds with which a release is searched, also if a rule of it is changed."""
        return self.bounds | self.bounds_in.get(name.partition("+")[0], {})


@attrs.frozen(kw_only=True)
class UnmodelledBug:
    """A known bug that the model cannot show, with the reason.

    Attributes:
        ticket: the ticket of the bug.
        also: further tickets about the same bug.
        sentence: a sentence that describes the bug.
        reason: why no search shows the bug.
        family: the family whose releases have the bug: one of those above.
    """

    ticket: str
    also: list[str] = attrs.field(factory=list)
    sentence: str
    reason: str
    family: str = REPLICATION


@attrs.frozen
class BugSearch:
    """A search for a bug, and its expected verdict.

    Attributes:
        spec: the spec to search, with its bounds. Its only property is the property that the bug violates.
        part: the kind of release that is searched: ``affected``, ``as released``, ``fixed``, ``later``, ``avoided`` (a
            mix with `Bug.avoided`), or ``put back``. The last kind is the release that fixed the bug, with the old rule
            restored. If `Bug.besides` names other bugs, an affected release is searched both with and without fixes for
            them (``affected`` and ``as released``).
    """

    bug: Bug
    spec: Spec[object]
    expected: Expected
    part: str

    @property
    def searched_spec(self) -> Spec[object]:
        """The spec with the situation on which a *holds* rests."""
        is_told = self.part in ("fixed", "later")  # of other releases, the situation may be what they do not have
        return self.spec.resting_on(self.bug.situation) if is_told else self.spec

    def search(self, progress: Progress | None = None, workers: int | None = None) -> Result:
        """Search until a counterexample is found, or every reachable state was checked."""
        return ENGINES["compiled"](self.searched_spec, Limits(), progress, CompiledSettings(workers=workers))

    def searched(self, progress: Progress | None = None, kept: KeptResults | None = None) -> BugResult:
        """Run the search, unless its result is kept."""
        search = functools.partial(self.search, progress)
        return BugResult(self, search() if kept is None else kept.result(self.searched_spec, Limits(), search))


@attrs.frozen(eq=False)
class BugResult:
    """A search for a known bug, together with its result."""

    run: BugSearch
    result: Result

    @property
    def as_expected(self) -> bool:
        """True if the search has the expected verdict."""
        return self.result.verdict.value == self.run.expected

    @property
    def interrupted(self) -> bool:
        """True if the search was interrupted."""
        return self.result.interrupted

    @property
    def trace_length(self) -> int | None:
        """The number of states in the counterexample, or None if there is no counterexample."""
        traces = self.result.properties[0].traces
        return len(traces[0]) if traces and self.result.verdict is Verdict.VIOLATED else None


@attrs.frozen(kw_only=True)
class Archive:
    """The archive of known bugs: the bugs that the model shows, and the bugs that it cannot show.

    Attributes:
        mixes: the bugs of mixes of two releases, which neither release has alone. `Bug.affected` and `Bug.fixed` name
            mixes, such as ``kafka/2.7..2.8.1``.
    """

    bugs: list[Bug]
    unreached: list[UnmodelledBug] = attrs.field(factory=list)
    mixes: list[Bug] = attrs.field(factory=list)

    def of_family(self, family: str) -> Archive:
        """Return the part of the archive that is about one family of releases.

        Parameters:
            family: one of those above.
        """
        return Archive(
            bugs=[bug for bug in self.bugs if family_of(bug) == family],
            unreached=[bug for bug in self.unreached if family_of(bug) == family],
        )

    def about(self, ticket: str | None) -> tuple[list[Bug], list[UnmodelledBug]]:
        """Return the bugs to which a ticket or KIP refers. The bug with exactly this ticket comes first.

        Parameters:
            ticket: the ticket or KIP, in upper or lower case, or None for all bugs.

        Raises:
            LeadlineError: if no bug has this ticket or KIP. The message suggests similar names.
        """
        if ticket is None:
            return [*self.bugs, *self.mixes], self.unreached
        found = [bug for bug in (*self.bugs, *self.mixes) if _is_about(bug, ticket)]
        bugs = sorted(found, key=lambda bug: bug.ticket.upper() != ticket.upper())
        unreached = [bug for bug in self.unreached if _is_about(bug, ticket)]
        if not bugs and not unreached:
            every: list[Bug | UnmodelledBug] = [*self.bugs, *self.mixes, *self.unreached]
            known = {name for bug in every for name in (bug.ticket, *bug.also)}
            close = nearest(ticket.upper(), known)
            number = ticket.upper().removeprefix("KAFKA-")
            if number.isdecimal() and not get_close_matches(
                number, [name.removeprefix("KAFKA-") for name in known], 1, 0.8
            ):
                raise LeadlineError(
                    f"{ticket.upper()} is not in the archive, which says nothing about whether a release has this bug "
                    "(`leadline bugs --list` lists all bugs)"
                )
            raise LeadlineError(f"unknown bug {ticket!r}{close} (`leadline bugs --list` lists all bugs)")
        return bugs, unreached

    def possible(self, spec: Spec[Any]) -> list[Bug]:
        """Return a release's bugs that can occur with the given settings, in a cluster of any size.

        Parameters:
            spec: the spec of a release. Its bounds give the settings of the cluster and the kinds of failures that can
                happen. The numbers of brokers, records, epochs and failures are ignored.
        """
        return [bug for bug in self.affecting(spec) if _is_possible(bug, spec)]

    def allowed(self, spec: Spec[Any]) -> list[Bug]:
        """Return a release's bugs whose failures can happen, in a cluster of any size and with any settings.

        A bug that no rule decides needs its own settings: it cannot be told from other violations of its property.

        Parameters:
            spec: the spec of a release. Its bounds give the kinds of failures that can happen.
        """
        found = [bug for bug in self.affecting(spec) if _can_happen(bug, spec)]
        return [bug for bug in found if bug.rules or _is_possible(bug, spec)]

    def outside(self, spec: Spec[Any]) -> list[Bug]:
        """Return a release's bugs that a search of the release's spec cannot find.

        Parameters:
            spec: the spec that is searched. The search cannot find a bug that needs different settings, larger bounds,
                or a property that the spec does not check.

        Returns:
            The bugs. The result is empty if the spec is not a release.
        """
        names = {item.name for item in spec.checks}
        return [bug for bug in self.affecting(spec) if bug.property not in names or not _is_within(bug, spec)]

    def known(self, spec: Spec[Any], name: str) -> list[Bug]:
        """Return a release's bugs that can violate a property within the bounds of a search."""
        return [bug for bug in self.within(spec) if bug.property == name]

    def within(self, spec: Spec[Any]) -> list[Bug]:
        """Return a release's bugs that can occur within the bounds of a search, whichever property it checks."""
        return [bug for bug in self.affecting(spec) if _is_within(bug, spec)]

    def affecting(self, spec: Spec[Any]) -> list[Bug]:
        """Return the bugs that affect a release, or no bugs if the spec is not a release."""
        column = spec.column
        return [] if column is None else [bug for bug in self.bugs if self.affects(bug, column)]

    def affects(self, bug: Bug, column: RuleColumn) -> bool:
        """Return whether a bug affects a release, or a design with the rules of an affected release."""
        affected = [_column(name) for name in bug.affected]
        return any(each.values == column.values and each.line == column.line for each in affected)

    def runs(self, bug: Bug) -> list[BugSearch]:
        """Return the searches for a bug.

        Raises:
            LeadlineError: if the bug names an unknown release, rule, property or bound.
        """
        return [*self._runs(bug)]

    def _runs(self, bug: Bug) -> Iterator[BugSearch]:
        try:
            if mixed_in(bug.affected[0]):
                yield from (BugSearch(bug, _as_released(bug, name), "violated", "affected") for name in bug.affected)
                yield from (BugSearch(bug, _as_released(bug, name), "holds", "fixed") for name in bug.fixed)
                for name in bug.affected if bug.avoided else ():
                    yield BugSearch(bug, _as_released(bug, name).with_bounds(bug.avoided), "holds", "avoided")
                return
            for name in bug.affected:
                yield self._run(bug, name, {}, "violated", "affected")
            for name in bug.affected:
                released = _as_released(bug, name)
                if released.name != self.searched(bug, name).name:
                    yield BugSearch(bug, released, "violated", "as released")
            for name in bug.fixed:
                yield self._run(bug, name, {}, "holds", "fixed")
                yield self._run(bug, name, bug.rules, "violated", "put back")
            for column in _later(bug):
                yield self._run(bug, column.name, {}, "holds", "later")
        except LeadlineError as error:
            raise LeadlineError(f"{bug.ticket}: {error}") from error

    def _run(self, bug: Bug, name: str, rules: dict[str, str], expected: Expected, part: str) -> BugSearch:
        bounds = bug.defaults if part == "put back" else {}
        return BugSearch(bug, self.searched(bug, name, rules).with_bounds(bounds), expected, part)

    def searched(self, bug: Bug, name: str, rules: Mapping[str, str] | None = None) -> Spec[object]:
        """Return the spec with which the archive searches a release for a bug. Its only property is the bug's property.

        Parameters:
            rules: rules to change in the release, with their values.
        """
        column = _column(name)
        values = dict(column.values)
        for ticket in bug.besides:
            (other,) = (each for each in self.bugs if each.ticket == ticket)
            values |= fix_of(other, column)
        values |= rules or {}
        base = _column(name.partition("+")[0])
        reference = base.with_rules({rule: value for rule, value in values.items() if base.values[rule] != value}).name
        return load_spec(reference).with_bounds(bug.bounds_for(name)).with_properties([bug.property])


def _as_released(bug: Bug, name: str) -> Spec[object]:
    """Return the spec used to search a release or a mix for a bug, with its other bugs not fixed."""
    released: Spec[object] = load_spec(name).with_bounds(bug.bounds_for(name)).with_properties([bug.property])
    return released


def _bounds_of(bug: Bug, spec: Spec[Any]) -> Any:
    """Return the bounds with which the archive searches a release for a bug."""
    return change_bounds(_defaults(spec.name), bug.bounds_for(spec.name))


@functools.cache
def _defaults(name: str) -> Any:
    """Return the default bounds of a release."""
    return load_spec(name).bounds


def _is_possible(bug: Bug, spec: Spec[Any]) -> bool:
    return _same_settings(bug, spec) and _can_happen(bug, spec)


def _can_happen(bug: Bug, spec: Spec[Any]) -> bool:
    needed = _bounds_of(bug, spec)
    return all(getattr(spec.bounds, name) for name in spec.family.perturbations if getattr(needed, name))


def _is_within(bug: Bug, spec: Spec[Any]) -> bool:
    needed, given = _bounds_of(bug, spec), spec.bounds
    return _same_settings(bug, spec) and all(
        getattr(given, name) == NO_LIMIT or NO_LIMIT != getattr(needed, name) <= getattr(given, name)
        for name in (*_names(needed, SIZES), *spec.family.perturbations)
    )


def _same_settings(bug: Bug, spec: Spec[Any]) -> bool:
    needed, given = _bounds_of(bug, spec), spec.bounds
    compared = [*_names(needed, SETTINGS), *(name for name in CONFIGURED if name in bug.bounds_for(spec.name))]
    return all(getattr(needed, name) == getattr(given, name) for name in compared)


def _names(bounds: Any, names: Iterable[str]) -> list[str]:
    """Return only those of the given names that are bounds of the family."""
    return [name for name in names if hasattr(bounds, name)]


def sizes(needed: Any, least: int, most: int | None = None) -> list[int]:
    """Return the numbers of brokers to use when searching for a bug with another ``min.insync.replicas``, fewest first.

    A larger ``min.insync.replicas`` needs more replicas, because otherwise no broker can fail.

    Parameters:
        needed: the bounds of the bug's own search.
        least: the value of ``min.insync.replicas``.
        most: the number of replicas, or None if it is unknown.
    """
    enough = max(needed.brokers, MOST_BROKERS)
    first = min(needed.brokers, most or enough)
    larger = first if least == needed.min_insync_replicas else min(least + 1, most or enough, enough)
    return [first, larger] if larger > first else [first]


def family_of(bug: Bug | UnmodelledBug) -> str:
    """Return the family of the affected releases: one of those above."""
    return bug.family if isinstance(bug, UnmodelledBug) else bug.affected[0].partition("/")[0]


def command_for(ticket: str) -> str:
    """Return the command that searches for a bug and shows it."""
    name = ticket.removeprefix(NO_TICKET)
    return f'leadline bugs "{name}"' if " " in name else f"leadline bugs {name}"


def _is_about(bug: Bug | UnmodelledBug, ticket: str) -> bool:
    names = (bug.ticket, bug.ticket.removeprefix(NO_TICKET), *bug.also)
    return ticket.upper() in (name.upper() for name in names)


def _column(name: str) -> RuleColumn:
    column = shipped_column(name)
    if column is None:
        raise LeadlineError(f"the archive of bugs names {name}, which is not a release")
    return column


def fix_of(bug: Bug, column: RuleColumn) -> dict[str, str]:
    """Return the rules that fix a bug in an affected release, with their values in the release that fixed the bug."""
    fixed = _column(bug.fixed[0])
    return {rule: fixed.values[rule] for rule, value in bug.rules.items() if column.values[rule] == value}


def _later(bug: Bug) -> Iterator[RuleColumn]:
    """Yield the releases after the fix, except those in which a rule has its old value again. This can happen with
    KRaft.
    """
    releases: Sequence[RuleColumn] = load_spec(bug.affected[0]).family.like(_column(bug.affected[0]))
    every = [column.name for column in releases]
    fixed = [_column(name.partition("+")[0]).name for name in bug.fixed]
    first = min((every.index(name) for name in fixed if name in every), default=len(every))
    known = {_column(name).name for name in (*bug.affected, *bug.fixed)}
    for column in releases[first:]:
        if column.name not in known and all(column.values[rule] != value for rule, value in bug.rules.items()):
            yield column


@functools.cache
def read_archive(path: Path = SHIPPED) -> Archive:
    """Read an archive of bugs from a TOML file. Raise LeadlineError if the file cannot be read or is invalid."""
    return read_as(Archive, path, "an archive of bugs")
