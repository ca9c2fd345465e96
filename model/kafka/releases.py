"""The columns of the table of rules: Kafka releases and the designs of KIPs.

The column of a release lists the rules that have changed since an earlier release. It describes a cluster in which
every broker runs this release, with the `inter.broker.protocol.version` or `metadata.version` of the release and with
its default configuration.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import attrs

from leadline.checker.bounds import change_bounds
from leadline.model.kafka.bounds import Bounds
from leadline.model.kafka.parties import who_decides
from leadline.model.kafka.protocols import Protocol
from leadline.model.kafka.published import aliases, between, known_like, span
from leadline.model.kafka.rules import TABLE
from leadline.model.rules import Rule, RuleColumn

CAVEATS = {
    "3.7.0": "3.7.0 can create a log again in another directory after one has failed (KAFKA-16234), so that nothing is "
    "claimed of its log directories",
}
"""What a published release does that the model does not have, and other releases with the same rules do not do."""

RULES_OF_STARTS: Mapping[str, Mapping[str, str]] = {
    "0.11.0.1": {"retention": "high-watermark"},
    "1.0.0": {"response_start": "after-records"},
    "1.0.2": {"response_start": "with-records", "low_hw": "start-of-leader"},
    "1.1.0": {"response_start": "after-records"},
    "1.1.1": {"response_start": "with-records"},
    "2.3.0": {"fetch_failure": "partition"},
    "2.4.1": {"low_hw": "start"},
}
"""The rules that changed between two releases of one column, by the release since which they have the new value.

A column has the rules of its first release. These rules have an effect only if the start of a log can move
(`Bounds.starts`): otherwise, all releases of a column behave alike."""

ZOOKEEPER = "ZooKeeper"
KRAFT = "KRaft"


@attrs.frozen(eq=False, kw_only=True)
class Column(RuleColumn):
    """A release or a design, with a value for each rule. Its name in the catalog is, for example, ``kafka/2.8``.

    Attributes:
        controller: the kind of controller, `ZOOKEEPER` or `KRAFT`, or an empty string for a design.
        bounds: the default bounds and the default configuration. With the default bounds, a search takes seconds.
        suffix: the text that follows the version in the name and the aliases, such as ``-zk``. Empty if names without a
            suffix stand for this kind of controller.
    """

    table = TABLE
    makes = Protocol
    controller: str = ""
    bounds: Bounds
    suffix: str = ""

    @property
    def aliases(self) -> tuple[str, ...]:
        """The other names of the column: the names of its releases, and names such as ``kafka/3.7`` for
        ``kafka/3.7.0``.
        """
        return aliases(self.name, self.versions, self.suffix)

    @property
    def line(self) -> str:
        """The kind of controller."""
        return self.controller

    @property
    def span(self) -> str:
        """The range of releases with these rules, such as ``3.7.0 to 3.8.1``, or an empty string for a design."""
        return span(self.versions)

    def decided_by(self, rule: Rule) -> str:
        """Return who decides a rule while releases are mixed, and at which levels."""
        levels = [f"{value.name} at {value.opens} ({value.gate})" for value in rule.values if value.opens]
        opens = f". Levels: {', '.join(levels)}" if levels else ""
        return who_decides(Protocol, rule.values[0].sets) + opens

    def changed_within(self, version: str) -> dict[str, str]:
        """Return the rules that a release of this column has with a different value, if the start of a log can move.

        Parameters:
            version: the release. If it is not one of this column, no rule differs.
        """
        changed: dict[str, str] = {}
        for each in self.versions[: self.versions.index(version) + 1] if version in self.versions else ():
            changed |= RULES_OF_STARTS.get(each, {})
        return {rule: value for rule, value in changed.items() if self.values[rule] != value}

    @property
    def note(self) -> str:
        """A remark that gives the column's canonical name, or an empty string if the column was not looked up by an
        alias.
        """
        if not self.same_as or len(self.versions) < 2:
            return f"stands for {self.same_as}" if self.same_as else ""
        caveat = "".join(
            f"; {said}"
            for version, said in CAVEATS.items()
            if self.name == f"kafka/{version}" and self.controller == KRAFT
        )
        return super().note + (f" with {self.controller}" if self.suffix else "") + caveat


def _after(before: Column, name: str, summary: str, versions: tuple[str, ...] = (), **changed: str) -> Column:
    """Return a column that has the same rules as the preceding column, except for the given changes."""
    return attrs.evolve(
        before, name=name, summary=summary, versions=versions, values={**before.values, **changed}, changed=changed
    )


def _defaults(column: Column, **bounds: object) -> Column:
    """Return the column with different default bounds."""
    return attrs.evolve(column, bounds=change_bounds(column.bounds, bounds))


# --- designs: each KIP as it is written, by itself -------------------------------------------------------

HW_TRUNCATION = Column(
    name="rpc/hw-truncation",
    summary="the design before KIP-101: a new follower truncates to its own high watermark",
    bounds=Bounds(),
    values={
        "truncation": "high-watermark",
        "epoch_cache": "election",
        "empty_epoch": "dropped",
        "same_leader": "truncates",
        "fencing": "none",
        "fetch_session": "epoch-kept",
        "isr_join": "high-watermark",
        "isr_leave": "behind",
        "isr_write": "compare-and-set",
        "isr_eligibility": "any",
        "incarnation_read": "once",
        "shrink_epoch": "by-controller",
        "diverging_fetch": "ignored",
        "diverging_hw": "ignored",
        "late_diverging": "ignored",
        "last_fetched_epoch": "kept",
        "out_of_range": "truncate",
        "response_hw": "read-with-records",
        "hw_gate": "none",
        "hw_waits": "isr",
        "follower_leos": "forgotten",
        "hw_checkpoint": "exact",
        "acknowledgement": "own-epoch",
        "isr_answer": "tried",
        "isr_pending": "kept",
        "elr": "off",
        "bounce": "followers-missed",
        "late_requests": "refused",
        "elections": "later",
        "election_order": "any",
        "reassignment": "none",
        "override": "replaced",
        "override_added": "replaced",
        "elr_members": "replicas",
        "same_record": "skipped",
        "directories": "one",
        "last_known_leader": "kept",
        "directory_elr": "kept",
        "elr_update": "kept",
        "min_isr_setting": "at-once",
        "elr_min_isr": "own",
        "late_fetch": "counted",
        "unclean_election": "configured",
        "list_offsets": "at-any-time",
        "follower_reads": "no",
        "log_start": "carried",
        "retention": "high-watermark",
        "low_hw": "start",
        "start_test": "first",
        "response_start": "with-records",
        "fetch_failure": "partition",
    },
)
KIP_101 = _after(
    HW_TRUNCATION,
    "rpc/kip-101",
    "the design of KIP-101: a new follower asks the leader where its last leader epoch ends",
    truncation="epoch-end",
)
KIP_279 = _after(
    KIP_101,
    "rpc/kip-279",
    "the design of KIP-279: the response names the epoch that it is about, and the follower may ask again",
    truncation="epoch-and-end",
)
KIP_320 = _after(
    KIP_279,
    "rpc/kip-320",
    "the design of KIP-320, with KAFKA-7128: requests carry the leader epoch, and leaders fence every other one",
    fencing="leader-epoch",
    isr_join="epoch-start",
)

DESIGNS = (HW_TRUNCATION, KIP_101, KIP_279, KIP_320)

# --- releases -------------------------------------------------------------------------------------------------

_0_10_2 = Column(
    name="kafka/0.10.2",
    summary="Kafka 0.10.2: followers truncate to their high watermark",
    controller=ZOOKEEPER,
    versions=between("0.10.2.0", "0.10.2.2"),
    bounds=Bounds(max_epoch=2, crashes=1, missed_bounces=1, unclean_leader_election=True),
    values={
        **HW_TRUNCATION.values,
        "epoch_cache": "first-append",
        "same_leader": "goes-on",
        "isr_leave": "behind-or-silent",
        "out_of_range": "exit",
        "hw_waits": "caught-up",
        "follower_leos": "kept",
        "hw_checkpoint": "older-or-newer",
        "acknowledgement": "since-it-leads",
        "bounce": "missed",
        "late_requests": "obeyed",
        "elections": "at-once",
        "log_start": "own",
        "retention": "log-end",
        "low_hw": "unknown",
        "fetch_failure": "thread",
    },
)
_0_11 = _defaults(
    _after(
        _0_10_2,
        "kafka/0.11",
        "Kafka 0.11, 1.0 and 1.1: leader epochs (KIP-101)",
        between("0.11.0.0", "1.1.1"),
        truncation="epoch-end",
        log_start="carried",
    ),
    unclean_leader_election=False,
)
_2_0_0 = _after(
    _0_11,
    "kafka/2.0.0",
    "Kafka 2.0.0: logs that differ after fast leader changes are truncated (KIP-279)",
    between("2.0.0", "2.0.0"),
    truncation="epoch-and-end",
    retention="high-watermark",
    low_hw="start-of-leader",
)
_2_0_1 = _after(
    _2_0_0,
    "kafka/2.0.1",
    "Kafka 2.0.1: leaders know their epoch from their election on",
    between("2.0.1", "2.0.1"),
    epoch_cache="election",
    empty_epoch="kept",
    same_leader="goes-on-unless-one-was-missed",
    isr_join="epoch-start",
    out_of_range="truncate",
)
_2_1 = _after(
    _2_0_1,
    "kafka/2.1",
    "Kafka 2.1: requests from other leader epochs are fenced (KIP-320)",
    between("2.1.0", "2.1.1"),
    same_leader="truncates",
    fencing="leader-epoch",
    fetch_session="epoch-dropped",
    isr_leave="behind",
)
_2_2 = _defaults(
    _after(
        _2_1,
        "kafka/2.2",
        "Kafka 2.2 and 2.3: broker epochs (KIP-380), and ListOffsets results that do not decrease (KIP-207)",
        between("2.2.0", "2.3.1"),
        bounce="noticed",
        late_requests="refused",
        list_offsets="caught-up",
    ),
    missed_bounces=0,
)
_2_4 = _after(
    _2_2,
    "kafka/2.4",
    "Kafka 2.4: consumers read from followers (KIP-392)",
    between("2.4.0", "2.4.1"),
    follower_reads="yes",
    low_hw="kept",
    fetch_failure="partition",
)
_2_5 = _after(
    _2_4,
    "kafka/2.5",
    "Kafka 2.5.0 to 2.6.0: fetch sessions keep the leader epochs of requests",
    between("2.5.0", "2.6.0"),
    fetch_session="epoch-kept",
    low_hw="start",
)
_2_6_1 = _after(
    _2_5,
    "kafka/2.6.1",
    "Kafka 2.6.1 to 2.6.3: a follower forgets a leader epoch without records when it truncates",
    between("2.6.1", "2.6.3"),
    empty_epoch="dropped",
)
_2_7 = _after(
    _2_6_1,
    "kafka/2.7",
    "Kafka 2.7.0 and 2.7.1: leaders ask the controller to change the ISR (KIP-497)",
    between("2.7.0", "2.7.1"),
    isr_write="alter-partition",
    isr_answer="ignored",
    isr_pending="dropped",
    diverging_fetch="counted",
    start_test="after-divergence",
)
_2_7_2 = _after(
    _2_7,
    "kafka/2.7.2",
    "Kafka 2.7.2: offsets of diverging fetches are not counted, but its own followers send none",
    between("2.7.2", "2.7.2"),
    diverging_fetch="ignored",
    start_test="first",
)
_2_8 = _after(
    _2_7,
    "kafka/2.8",
    "Kafka 2.8.0: fetch responses tell followers where to truncate (KIP-595)",
    between("2.8.0", "2.8.0"),
    truncation="fetch",
    diverging_hw="before-truncation",
    late_diverging="truncates",
)
_2_8_1 = _after(
    _2_8,
    "kafka/2.8.1",
    "Kafka 2.8.1 and 2.8.2: offsets of diverging fetches are not counted",
    between("2.8.1", "2.8.2"),
    diverging_fetch="ignored",
    late_diverging="ignored",
    start_test="first",
)
_3_0 = _defaults(
    _after(
        _2_8_1,
        "kafka/3.0",
        "Kafka 3.0 with ZooKeeper: a leader no longer drops a request for a new ISR; acks=all by default",
        between("3.0.0", "3.0.2"),
        isr_pending="kept",
    ),
    acks="all",
)
_3_1 = _after(
    _3_0,
    "kafka/3.1",
    "Kafka 3.1 and 3.2 with ZooKeeper: a leader tries to advance its high watermark when its ISR has changed",
    between("3.1.0", "3.2.3"),
    isr_answer="tried",
)
_3_3_ZK = attrs.evolve(
    _after(
        _3_1,
        "kafka/3.3-zk",
        "Kafka 3.3 and 3.4.0 with ZooKeeper: the controller keeps brokers that shut down out of the ISR",
        between("3.3.0", "3.4.0"),
        isr_eligibility="active",
    ),
    suffix="-zk",
)
_3_4_1_ZK = _after(
    _3_3_ZK,
    "kafka/3.4.1-zk",
    "Kafka 3.4.1 and 3.5.0 with ZooKeeper: followers truncate before they learn the high watermark",
    between("3.4.1", "3.5.0"),
    diverging_hw="ignored",
)
_3_6_ZK = _after(
    _3_4_1_ZK,
    "kafka/3.6-zk",
    "Kafka 3.5.1, 3.5.2 and 3.6 with ZooKeeper: after an empty response, fetch requests have no epoch",
    between("3.5.1", "3.6.2"),
    last_fetched_epoch="lost-if-empty",
)
_3_9_ZK = _after(
    _3_6_ZK,
    "kafka/3.9-zk",
    "Kafka 3.7 to 3.9 with ZooKeeper: the high watermark waits for min.insync.replicas",
    between("3.7.0", "3.9.2"),
    hw_gate="min-isr",
    last_fetched_epoch="kept",
)
_3_2_KRAFT = attrs.evolve(
    _defaults(
        _after(
            _3_1,
            "kafka/3.2-kraft",
            "Kafka 3.0 to 3.2 with KRaft, which was not ready for production yet",
            between("3.0.0", "3.2.3"),
            shrink_epoch="always",
            bounce="missed",
            unclean_election="on-request",
            reassignment="added",
            override="empty-kept",
            override_added="empty-kept",
        ),
        missed_bounces=1,
    ),
    controller=KRAFT,
    suffix="-kraft",
)
_3_3 = attrs.evolve(
    _after(
        _3_2_KRAFT,
        "kafka/3.3",
        "Kafka 3.3 and 3.4.0 with KRaft: fenced brokers stay out of the ISR (KIP-841)",
        between("3.3.0", "3.4.0"),
        isr_eligibility="active",
        same_record="applied",
    ),
    suffix="",
)
_3_4_1 = _after(
    _3_3,
    "kafka/3.4.1",
    "Kafka 3.4.1 with KRaft: followers truncate before they learn the high watermark",
    between("3.4.1", "3.4.1"),
    diverging_hw="ignored",
)
_3_5 = _after(
    _3_4_1,
    "kafka/3.5",
    "Kafka 3.5.0 with KRaft: AlterPartition names broker epochs (KIP-903)",
    between("3.5.0", "3.5.0"),
    isr_eligibility="active-incarnation",
    incarnation_read="twice",
)
_3_5_1 = _after(
    _3_5,
    "kafka/3.5.1",
    "Kafka 3.5.1 and 3.5.2 with KRaft: after an empty response, fetch requests have no epoch",
    between("3.5.1", "3.5.2"),
    last_fetched_epoch="lost-if-empty",
)
_3_6 = _after(
    _3_5_1,
    "kafka/3.6",
    "Kafka 3.6 with KRaft: a smaller ISR does not begin a leader epoch",
    between("3.6.0", "3.6.2"),
    shrink_epoch="never",
    hw_waits="eligible",
)
_3_7 = _after(
    _3_6,
    "kafka/3.7",
    "Kafka 3.7 with KRaft: the high watermark waits for min.insync.replicas",
    between("3.7.0", "3.7.2"),
    hw_gate="min-isr",
    incarnation_read="once",
    last_fetched_epoch="kept",
    elr_members="all",
    directories="configured",
    directory_elr="cleared",
    min_isr_setting="later",
    elr_min_isr="first-partition",
    late_fetch="refused",
)
_3_8 = _after(
    _3_7,
    "kafka/3.8",
    "Kafka 3.8 with KRaft: a reassignment completes when all replicas are in the ISR",
    between("3.8.0", "3.8.1"),
    reassignment="all",
)
_3_9 = _after(
    _3_8,
    "kafka/3.9",
    "Kafka 3.9 with KRaft: unclean.leader.election.enable has an effect",
    between("3.9.0", "3.9.2"),
    unclean_election="configured",
)
_4_0 = _defaults(
    _after(
        _3_9,
        "kafka/4.0",
        "Kafka 4.0: a broker that registers again loses its leaderships",
        between("4.0.0", "4.0.2"),
        bounce="noticed",
        elr_update="cleared",
    ),
    missed_bounces=0,
)
_4_1 = _after(
    _4_0,
    "kafka/4.1",
    "Kafka 4.1 and 4.2: eligible leader replicas (KIP-966), the default of new clusters",
    between("4.1.0", "4.2.2"),
    elr="on",
)
_4_3 = _after(
    _4_1,
    "kafka/4.3",
    "Kafka 4.3 and 4.4: a reassignment completes without replicas that it does not add",
    between("4.3.0", "4.4.0"),
    reassignment="added-or-all",
    directory_elr="kept",
)

RELEASES = (
    _0_10_2,
    _0_11,
    _2_0_0,
    _2_0_1,
    _2_1,
    _2_2,
    _2_4,
    _2_5,
    _2_6_1,
    _2_7,
    _2_7_2,
    _2_8,
    _2_8_1,
    _3_0,
    _3_1,
    _3_3_ZK,
    _3_4_1_ZK,
    _3_6_ZK,
    _3_9_ZK,
    _3_2_KRAFT,
    _3_3,
    _3_4_1,
    _3_5,
    _3_5_1,
    _3_6,
    _3_7,
    _3_8,
    _3_9,
    _4_0,
    _4_1,
    _4_3,
)

COLUMNS = (*DESIGNS, *RELEASES)

_NAMES = {name: column for column in COLUMNS for name in (column.name, *column.aliases)}


def column_of(reference: str) -> Column | None:
    """Return the column with the given name or alias. The name may also change rules, as in ``kafka/3.7+elr=on``.

    Returns:
        The column, or None if no column has the name before the first ``+``.

    Raises:
        SpecError: if a change is invalid; see `RuleColumn.changed_as`.
    """
    column = _NAMES.get(reference.partition("+")[0])
    return None if column is None else column.changed_as(reference)


def releases_like(name: str) -> tuple[str, ...]:
    """Return the names of the published releases with the same minor version as an unknown release.

    Parameters:
        name: the name of the unknown release, such as ``kafka/3.6.9`` or ``kafka/3.6.9-zk``.

    Returns:
        The names, oldest first. There are none if no release with this minor version is known.
    """
    found = re.fullmatch(r"kafka/([\d.]+)(-\w+)?", name)
    if found is None:
        return ()
    names = [f"kafka/{version}{found[2] or ''}" for version in known_like(found[1])]
    return tuple(name for name in names if name in _NAMES)
