"""Advice on a consumer group: the known bugs by which it gets stuck, or by which records are read twice.

What the brokers do and what the consumers do are taken to be of one release. The archive decides which bugs a release
has; if the group is configured differently from that of the archive's own search, a search decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from leadline.checker.bounds import change_bounds, describe_bounds
from leadline.checker.errors import LeadlineError
from leadline.checker.result import Verdict
from leadline.invariants import consumer_groups, group_offsets, groups
from leadline.invariants.families.group import GROUP
from leadline.model.group.releases import COLUMNS, CONSUMER_COLUMNS, Column, GroupColumn
from leadline.model.kafka.published import minor
from leadline.reports.document import Block, Document, Heading, Items, Paragraph, Span, table, words
from leadline.reports.kafka.advice.advice import group_of
from leadline.reports.kafka.advice.decisions import ABSENT, Decider, Decision, InterruptedSearchError, Status
from leadline.reports.kafka.advice.json_advice import decision_object
from leadline.reports.kafka.advice.properties import Entry, read_properties
from leadline.reports.kafka.advice.settings import wrong
from leadline.reports.kafka.bugs import CONSUMERS, GROUPS, MIXED, Archive, Bug, command_for, fix_of
from leadline.reports.loading import explore_command, load_spec
from leadline.reports.origin import Origin

ASSIGNORS = {"RangeAssignor": False, "RoundRobinAssignor": False, "StickyAssignor": False}
ASSIGNORS["CooperativeStickyAssignor"] = True
"""Whether the assignors that come with Kafka are cooperative, by the names of their classes."""

CLASSIC, CONSUMER = "classic", "consumer"
"""The values of ``group.protocol`` (KIP-848)."""

STUCK = "the group gets stuck, or waits for a time-out"
TWICE = "records are read twice without a crash of a consumer"
FORGOTTEN = "committed offsets are forgotten, so that records are read again, or skipped"

HARMS = {
    groups.stable_at_rest.name: STUCK,
    groups.member_id_kept.name: STUCK,
    groups.assignment_disjoint.name: TWICE,
    groups.one_owner_among_members.name: TWICE,
    consumer_groups.revocation_seen.name: STUCK,
    consumer_groups.own_instance_accepted.name: STUCK,
    consumer_groups.survives_downgrade.name: STUCK,
    consumer_groups.one_protocol.name: STUCK,
    consumer_groups.assigned_to_one_member.name: TWICE,
    consumer_groups.owned_by_one_member.name: TWICE,
    consumer_groups.commit_by_holder.name: TWICE,
    group_offsets.acknowledged_offsets_kept.name: FORGOTTEN,
}
"""What the violation of a bug's property means to a user."""

OF_GROUPS = CONSUMERS | MIXED | {"any_target": "assignor other than UniformAssignor"}
"""How a group is configured: the bounds, with what they stand for."""

UNIFORM = "UniformAssignor"

IN_JAVA = {"lost_commit": "acknowledged"}
"""The rules that differ where classic groups of 3.7 to 3.9 have the coordinator in Java. They have that in Scala by
default."""

OF_COORDINATOR = ("group.coordinator.new.enable", "group.coordinator.rebalance.protocols")
"""The settings that decide which coordinator brokers of 3.7 to 3.9 have."""

OF_CONSUMERS = ("claims", "fenced_while_joining", "illegal_generation", "interruption", "instance_id")
"""The rules that consumers follow. The others are those of brokers."""


@attrs.frozen
class ConsumerGroup:
    """How a group is configured, by its consumers and by the brokers.

    Attributes:
        protocol: the value of ``group.protocol``, in lower case.
        cooperative, static: settings of consumers, as in the bounds of specs. The first one is of the classic protocol
            only.
        any_target: with the consumer protocol, whether the brokers' assignor is another one than UniformAssignor.
        in_java: whether brokers before 4.0 have the coordinator in Java, also for classic groups. None if nothing is
            known of the brokers.
        origins: where the values come from, keyed by the name of the attribute.
    """

    protocol: str
    cooperative: bool
    static: bool
    any_target: bool
    in_java: bool | None
    origins: dict[str, str]

    @property
    def bounds(self) -> dict[str, int]:
        """The settings as bounds of a spec. An assignor that is not named could assign anything, as in some searches of
        the archive: the others, which have UniformAssignor, find bugs of it, too.
        """
        uniform = {"classic_members": 0} if self.any_target else {"any_target": False, "classic_members": 0}
        return {"static": self.static} | ({"cooperative": self.cooperative} if self.is_classic else uniform)

    @property
    def is_classic(self) -> bool:
        """Whether the group has the classic protocol."""
        return self.protocol == CLASSIC

    @property
    def columns(self) -> Sequence[GroupColumn]:
        """The releases with its protocol."""
        return COLUMNS if self.is_classic else CONSUMER_COLUMNS


@attrs.frozen
class GroupFinding:
    """A known bug of one of the two releases.

    Attributes:
        before, after: whether it can occur before and after the upgrade.
    """

    bug: Bug
    before: Decision
    after: Decision

    @property
    def harm(self) -> str:
        """What the bug means to a user: `STUCK`, `TWICE` or `FORGOTTEN`."""
        return HARMS[self.bug.property]

    @property
    def side(self) -> str:
        """Who has to be upgraded to fix it."""
        rules = list(self.bug.rules)
        return "consumers" if rules and all(rule in OF_CONSUMERS for rule in rules) else "brokers"


@attrs.frozen(eq=False)
class GroupAdvice:
    """What is known of a group with some settings in one release, or before and after an upgrade.

    Attributes:
        before, after: the releases as the user wrote them. They are the same if there is no upgrade.
        findings: the known bugs that one of them has.
        interrupted: true if a search was interrupted.
    """

    before: str
    after: str
    columns: tuple[GroupColumn, GroupColumn]
    group: ConsumerGroup
    findings: Sequence[GroupFinding]
    interrupted: bool

    @property
    def is_upgrade(self) -> bool:
        """Whether there are two releases."""
        return self.before != self.after

    @property
    def is_undecided(self) -> bool:
        """Whether no search decided about a bug."""
        return any(Status.UNDECIDED in (each.before.status, each.after.status) for each in self.findings)


def read_group(path: Path, brokers: Path | None = None) -> ConsumerGroup:
    """Read the settings of the consumers of a group.

    Parameters:
        brokers: the file of a broker's settings, some of which are about groups.

    Raises:
        LeadlineError: if a file cannot be read, if an assignor is not one of Kafka's, if the protocol is unknown or
            does not have a setting, or if a value is a placeholder.
    """
    entries = read_properties(path)
    protocol = entries.get("group.protocol")
    if protocol is not None and protocol.value.lower() not in (CLASSIC, CONSUMER):
        raise LeadlineError(f"{protocol.place}: group.protocol={protocol.value}: expected {CLASSIC} or {CONSUMER}")
    kind = protocol.value.lower() if protocol is not None else CLASSIC
    assignors, instance = entries.get("partition.assignment.strategy"), entries.get("group.instance.id")
    if kind == CONSUMER and assignors is not None:  # ConsumerConfig.CLASSIC_PROTOCOL_UNSUPPORTED_CONFIGS
        raise LeadlineError(f"{assignors.place}: {assignors.name} cannot be set with group.protocol={CONSUMER}")
    # ConsumerCoordinator uses the most advanced protocol that all assignors support
    kinds = [] if assignors is None else [_is_cooperative(name, assignors) for name in assignors.value.split(",")]
    own = {} if brokers is None else read_properties(brokers)
    remote = entries.get("group.remote.assignor", own.get("group.consumer.assignors"))
    for entry in (remote, *(own.get(name) for name in OF_COORDINATOR)):
        if entry is not None and entry.is_placeholder:
            raise wrong(entry, "a value")
    java = _in_java(own)
    origins = {
        "protocol": protocol.place if protocol is not None else "the default",
        "cooperative": assignors.place if assignors is not None else "the default: RangeAssignor decides",
        "static": instance.place if instance is not None else "the default",
        "any_target": remote.place if remote is not None else f"the default: {UNIFORM}",
        "in_java": java.place if java is not None else "the default",
        "classic_members": "assumed of all consumers of the group",
    }
    in_java = None if brokers is None else java is not None
    any_target = remote is not None and not _is_uniform(remote.value)
    return ConsumerGroup(
        kind, bool(kinds) and all(kinds), bool(instance and instance.value), any_target, in_java, origins
    )


def _in_java(brokers: Mapping[str, Entry]) -> Entry | None:
    """Return the setting that gives brokers of 3.7 to 3.9 the coordinator in Java, or None if they have none.

    With ZooKeeper, they have the one in Scala (BrokerServer and KafkaServer; KafkaConfig.isNewGroupCoordinatorEnabled).
    """
    enabled, protocols = map(brokers.get, OF_COORDINATOR)
    if "zookeeper.connect" in brokers and "process.roles" not in brokers:
        return None
    if enabled is not None and enabled.value.lower() == "true":
        return enabled
    return protocols if protocols is not None and CONSUMER in re.split(r"\s*,\s*", protocols.value.lower()) else None


def _is_uniform(assignors: str) -> bool:
    """Return whether the first of some assignors on brokers is UniformAssignor, by its name or its class."""
    return assignors.split(",")[0].strip().rpartition(".")[2] in ("uniform", UNIFORM)


def _is_cooperative(name: str, entry: Entry) -> bool:
    short = name.strip().rpartition(".")[2]
    if short not in ASSIGNORS:
        known = ", ".join(ASSIGNORS)
        raise LeadlineError(f"{entry.place}: {entry.name} has the unknown assignor {name.strip()!r}: expected {known}")
    return ASSIGNORS[short]


def advise_group(before: str, after: str, group: ConsumerGroup, archive: Archive, decider: Decider) -> GroupAdvice:
    """Return the advice on a group.

    Parameters:
        before, after: the releases, such as ``2.8.0``. They are the same if there is no upgrade.
        group: how the consumers are configured.
        decider: the object that searches.

    Raises:
        LeadlineError: if a release is unknown, if it does not have a setting of the consumers, or if the second
            release is older than the first.
    """
    columns = (_column("--from", before, group), _column("--to", after, group))
    if _place(columns[1], group) < _place(columns[0], group):
        raise LeadlineError(f"--to {after} is older than --from {before}: choose a newer release")
    found = []
    for bug in archive.of_family(GROUPS).bugs:
        one, other = (_decided(bug, column, group, archive, decider) for column in columns)
        if (one, other) != (ABSENT, ABSENT):
            found.append(GroupFinding(bug, one, other))
    return GroupAdvice(before, after, columns, group, found, decider.interrupted)


def _column(option: str, text: str, group: ConsumerGroup) -> GroupColumn:
    name = re.sub(r"^kafka/|-zk$|-kraft$", "", text) + group.columns[0].suffix
    column = None if "+" in name else GROUP.column_of(f"group/{name}")
    if column is None or isinstance(column, Column) != group.is_classic:
        since = f"{group.columns[0].versions[0]} on, such as {group.columns[-1].versions[0]}"
        raise LeadlineError(f"{option} {text}: expected a release from {since}, for group.protocol={group.protocol}")
    if isinstance(column, Column) and (early := column.too_early(change_bounds(column.bounds, group.bounds))):
        raise LeadlineError(f"{option} {text} does not have a setting of the consumers: {early}")
    return column.with_rules(IN_JAVA) if group.in_java and _may_be_in_java(column) else column


def _may_be_in_java(column: GroupColumn) -> bool:
    """Return whether a column is a release with two coordinators, and has that in Scala."""
    return isinstance(column, Column) and minor(column.short_name) in ("3.7", "3.8", "3.9")


def _place(column: GroupColumn, group: ConsumerGroup) -> int:
    """Return the position of a release. Two releases may have the same rules, with another one between them."""
    name = column.name.partition("+")[0]
    return next(place for place, each in enumerate(group.columns) if name in (each.name, *each.aliases))


def _decided(bug: Bug, column: GroupColumn, group: ConsumerGroup, archive: Archive, decider: Decider) -> Decision:
    """Decide whether a bug can occur in a group with the given settings."""
    if not archive.affects(bug, column):
        return ABSENT
    usual = archive.searched(bug, column.name)
    changed = {name: value for name, value in group.bounds.items() if getattr(usual.bounds, name) != value}
    condition = f"if the {OF_GROUPS['any_target']} assigns so ({group.origins['any_target']})"
    condition *= getattr(usual.bounds, "any_target", False)
    if not changed:
        return Decision(Status.POSSIBLE, condition, explore_command(usual))
    spec = usual.with_bounds(changed)
    mended = archive.searched(bug, column.name, fix_of(bug, column)).with_bounds(changed) if bug.rules else None
    try:
        verdict = decider.result(spec).verdict
        fixed = decider.result(mended).verdict if verdict is Verdict.VIOLATED and mended else Verdict.HOLDS
    except InterruptedSearchError:
        return Decision(Status.UNDECIDED, "the search with these settings was interrupted", explore_command(spec))
    if fixed is Verdict.VIOLATED:
        reason = "the property is violated with these settings, but with the fix, too: there is another cause"
        if others := [other.ticket for other in archive.within(spec) if other is not bug]:
            reason += f", and what fails in this search is enough for {' and '.join(others)}"
        return Decision(Status.UNDECIDED, reason, explore_command(spec))
    if verdict is Verdict.VIOLATED and fixed is Verdict.HOLDS:
        reason = ", ".join(filter(None, ("found by a search with these settings", condition)))
        return Decision(Status.POSSIBLE, reason, explore_command(spec))
    if Verdict.INCOMPLETE in (verdict, fixed):
        what = "the search with these settings" if verdict is Verdict.INCOMPLETE else "the search with the fix"
        reason = f"{what} was not complete after {decider.max_seconds:g} s (--max-seconds)"
        return Decision(Status.UNDECIDED, reason, explore_command(spec))
    said = [f"{'' if value else 'no '}{OF_GROUPS[name]} ({group.origins[name]})" for name, value in changed.items()]
    return Decision(Status.AVOIDED, f"avoided by the settings: {' and '.join(said)}", explore_command(spec))


# --- the document -----------------------------------------------------------------------------------------------


def group_document(advice: GroupAdvice) -> Document:
    """Return the document of advice on a group."""
    names = f"Kafka {advice.before} to {advice.after}" if advice.is_upgrade else f"Kafka {advice.after}"
    title = f"Known bugs of a consumer group with the {advice.group.protocol} protocol, {names}"
    return Document(title, (*_summary(advice), *_settings(advice), *_details(advice), *_by_design(advice)))


def _summary(advice: GroupAdvice) -> Iterator[Block]:
    said = []
    for harm in dict.fromkeys(HARMS.values()):
        own = [each for each in advice.findings if each.harm == harm]
        told = [f"{each.bug.ticket}: {_when(each, advice)}" for each in own]
        said.append(words(f"{harm}: {'; '.join(told) or 'no known bug'}"))
    yield Items((*said, words("A bug that is not in the archive may be there: this proves nothing.")))


def _when(finding: GroupFinding, advice: GroupAdvice) -> str:
    """Return whether a bug can occur in each release, and whether more than one failure is needed."""
    found = group_of(finding.before, finding.after) if advice.is_upgrade else finding.after.status
    number = len(_coinciding(finding.bug))
    is_possible = Status.POSSIBLE in (finding.before.status, finding.after.status)
    return f"{found.value} (if {number} things coincide)" if is_possible and number > 1 else found.value


def _settings(advice: GroupAdvice) -> Iterator[Block]:
    group = advice.group
    assignor = "cooperative" if group.cooperative else "eager"
    members = "static" if group.static else "dynamic"
    rows = [
        ("group.protocol", f"{group.protocol} ({group.origins['protocol']})"),
        ("partition.assignment.strategy", f"{assignor} ({group.origins['cooperative']})"),
        ("group.instance.id", f"{members} members ({group.origins['static']})"),
    ]
    assigns = f"{OF_GROUPS['any_target'] if group.any_target else UNIFORM} ({group.origins['any_target']})"
    rows = rows if group.is_classic else [rows[0], ("group.remote.assignor", assigns), rows[2]]
    if group.in_java is not None and any(_may_be_in_java(column) for column in advice.columns):
        rows.append(("coordinator", f"in {'Java' if group.in_java else 'Scala'} ({group.origins['in_java']})"))
    yield table("settings in effect", ("setting in effect", "value"), rows)
    yield from (Paragraph((Span(f"note: {note}"),), "note") for note in _notes(advice))


def _notes(advice: GroupAdvice) -> Iterator[str]:
    yield (
        "brokers and consumers are taken to have the same release. A bug in the consumers comes with their library: if "
        "it has another release, ask for that, too"
    )
    if advice.group.in_java is None and any(_may_be_in_java(column) for column in advice.columns):
        yield (
            "with group.coordinator.new.enable=true, or consumer in group.coordinator.rebalance.protocols, brokers of "
            "3.7 to 3.9 have the coordinator in Java, by which a classic group can lose a commit, too (KAFKA-20634): "
            "pass the file of a broker with --config"
        )
    for version in dict.fromkeys((advice.before, advice.after)):
        if len([each for each in advice.group.columns if version in map(minor, each.versions)]) > 1:
            yield f"{version} stands for its first release. Later ones have other rules: write the one that runs"


def _details(advice: GroupAdvice) -> Iterator[Block]:
    for harm in dict.fromkeys(HARMS.values()):
        own = [each for each in advice.findings if each.harm == harm]
        if own:
            yield Heading(harm)
        for each in own:
            yield Paragraph((Span(each.bug.ticket, "violated"), Span(f"  {_when(each, advice)}, in the {each.side}")))
            reasons = [each.before.reason, each.after.reason]
            last = [f"meanwhile: {each.bug.until}"] if each.after.status is Status.POSSIBLE else []
            needed = _coinciding(each.bug)
            told = (each.bug.sentence, f"must coincide: {', and '.join(needed)}" * (len(needed) > 1), *reasons, *last)
            yield Items(tuple(map(words, dict.fromkeys(filter(None, told)))))
            commands = [each.before.command, each.after.command, command_for(each.bug.ticket)]
            yield from (Paragraph((Span(name, "code"),), "command") for name in dict.fromkeys(filter(None, commands)))


def _coinciding(bug: Bug) -> list[str]:
    """Return what must happen for a bug to occur: the kinds of failures that the archive's search allows, if it allows
    one of each. Otherwise, not all of them are needed.
    """
    bounds = load_spec(bug.affected[0]).with_bounds(bug.bounds).bounds
    kinds = [text for name, number, text, _ in describe_bounds(bounds) if number and name in GROUP.perturbations]
    return kinds if len(kinds) <= bounds.perturbations else []


def _by_design(advice: GroupAdvice) -> Iterator[Block]:
    """Yield what every release does, so that records are read twice."""
    item = groups.one_reader
    spec = load_spec(advice.columns[1].name).with_bounds(advice.group.bounds).with_properties([item.name])
    yield Heading("by design, in every release")
    text = (
        "A consumer that pauses for longer than session.timeout.ms or max.poll.interval.ms goes on with what it has "
        "polled, while another one reads the same records. Its commits are refused. An application has to bear that"
    )
    yield Items((words(text),))
    yield Paragraph((Span(explore_command(spec), "code"),), "command")


def group_object(advice: GroupAdvice, origin: Origin) -> dict[str, object]:
    """Return advice on a group as an object for `json.dumps`."""
    return {
        "format": "leadline advise group",
        "format_version": 1,
        "leadline": attrs.asdict(origin),
        "from": {"version": advice.before, "spec": advice.columns[0].name},
        "to": {"version": advice.after, "spec": advice.columns[1].name},
        "settings": attrs.asdict(advice.group),
        "bugs": [
            {
                "ticket": each.bug.ticket,
                "sentence": each.bug.sentence,
                "harm": each.harm,
                "side": each.side,
                "before": decision_object(each.before),
                "after": decision_object(each.after),
            }
            for each in advice.findings
        ],
        "interrupted": advice.interrupted,
    }
