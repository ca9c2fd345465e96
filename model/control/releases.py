"""The Kafka releases of the `control` family, as columns of the table of rules.

For replication, a column has the same rules as the `kafka` column of the same release.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from leadline.model.control.bounds import Bounds
from leadline.model.control.protocols import Protocol
from leadline.model.control.rules import REPLACED, TABLE
from leadline.model.kafka import releases as kafka
from leadline.model.kafka.published import aliases, between, span
from leadline.model.rules import RuleColumn


@attrs.frozen(eq=False, kw_only=True)
class Column(RuleColumn):
    """The rules of a release whose controller can die. Its name in the catalog is, for example, ``control/2.0.1``.

    Attributes:
        bounds: the default bounds, with which a search takes seconds.
        suffix: the text that follows the version in the name and the aliases; see
            `leadline.model.kafka.releases.Column`.
    """

    table = TABLE
    makes = Protocol
    bounds: Bounds = attrs.field(factory=Bounds)
    suffix: str = ""

    @property
    def aliases(self) -> tuple[str, ...]:
        """The other names of the column, such as ``control/2.5`` for ``control/2.4``."""
        return aliases(self.name, self.versions, self.suffix)

    @property
    def kind(self) -> str:
        """The kind of metadata. Controllers with other metadata have other actions."""
        return self.values["metadata"]

    @property
    def line(self) -> str:
        """The kind of metadata."""
        return self.kind

    @property
    def span(self) -> str:
        """The range of releases with these rules, such as ``2.4.0 to 2.6.3``."""
        return span(self.versions)


_FIRST = {
    "metadata": "zookeeper",
    "controller_election": "later",
    "controller_writes": "unless-written-since",
    "own_node": "waits",
    "controller_epoch": "keeps",
    "controller_requests": "fenced",
    "broker_change": "ids",
    "broker_epoch": "none",
    "dead_at_start": "stay",
    "reassigning": "admin",
    "shrinks_unassigned": "yes",
    "stop_replica": "any",
    "newer_leader": "not-controller",
}

_ASKS = "leaders ask the controller to change the ISR (KIP-497)"
_LOG = "the controller's records are applied by brokers in order, and late"

_CHANGED: Mapping[str, tuple[tuple[str, str], str, dict[str, str]]] = {
    "0.10.2": (("0.10.2.0", "0.10.2.2"), "a former controller goes on until it hears of the new one", {}),
    "0.11": (("0.11.0.0", "1.1.1"), "a former controller goes on until its queue of events is empty", {}),
    "2.0.0": (("2.0.0", "2.0.0"), "a former controller goes on until its queue of events is empty", {}),
    "2.0.1": (("2.0.1", "2.0.1"), "a former controller goes on until its queue of events is empty", {}),
    "2.1": (
        ("2.1.0", "2.1.1"),
        "ZooKeeper refuses the writes of former controllers",
        {"controller_election": "at-once", "controller_writes": "fenced"},
    ),
    "2.2": (
        ("2.2.0", "2.2.2"),
        "broker epochs (KIP-380) show that a broker has restarted",
        {"broker_change": "epochs", "broker_epoch": "named"},
    ),
    "2.3": (
        ("2.3.0", "2.3.1"),
        "a new controller removes brokers that are down from the ISR",
        {"dead_at_start": "leave"},
    ),
    "2.4": (
        ("2.4.0", "2.5.1"),
        "reassignments can be cancelled (KIP-455)",
        {"reassigning": "assignment", "shrinks_unassigned": "no"},
    ),
    "2.6": (("2.6.0", "2.6.3"), "StopReplica requests contain a leader epoch (KIP-570)", {"stop_replica": "newer"}),
    "2.7": (("2.7.0", "2.7.1"), _ASKS, {}),
    "2.7.2": (("2.7.2", "2.7.2"), _ASKS, {}),
    "2.8": (("2.8.0", "2.8.0"), _ASKS, {}),
    "2.8.1": (("2.8.1", "2.8.2"), _ASKS, {}),
    "3.0": (
        ("3.0.0", "3.2.3"),
        "leaders can always shrink the ISR (KAFKA-9672)",
        {"shrinks_unassigned": "yes"},
    ),
    "3.3-zk": (("3.3.0", "3.4.0"), _ASKS, {}),
    "3.4.1-zk": (
        ("3.4.1", "3.5.0"),
        "StopReplica requests of the same leader epoch are obeyed",
        {"stop_replica": "not-older"},
    ),
    "3.6-zk": (("3.5.1", "3.6.2"), _ASKS, {}),
    "3.9-zk": (("3.7.0", "3.9.2"), _ASKS, {}),
    "3.2-kraft": (
        ("3.0.0", "3.2.3"),
        "the metadata log; a leader can wait for ever for the answer of a former controller",
        {"metadata": "log", "broker_change": "ids", "newer_leader": "refused"},
    ),
    "3.3": (
        ("3.3.0", "3.4.0"),
        "a controller that is behind says that it may not be the controller",
        {"newer_leader": "not-controller"},
    ),
    "3.4.1": (("3.4.1", "3.4.1"), _LOG, {}),
    "3.5": (("3.5.0", "3.5.0"), _LOG, {}),
    "3.5.1": (("3.5.1", "3.5.2"), _LOG, {}),
    "3.6": (("3.6.0", "3.6.2"), _LOG, {}),
    "3.7": (("3.7.0", "3.7.2"), _LOG, {}),
    "3.8": (("3.8.0", "3.8.1"), _LOG, {}),
    "3.9": (("3.9.0", "3.9.2"), _LOG, {}),
    "4.0": (
        ("4.0.0", "4.0.2"),
        "a broker that registers again loses its leaderships (KAFKA-18106)",
        {"broker_change": "epochs"},
    ),
    "4.1": (("4.1.0", "4.2.2"), "eligible leader replicas (KIP-966)", {}),
    "4.3": (("4.3.0", "4.4.0"), _LOG, {}),
}
"""For each column: its releases, a phrase for the summary, and the rules of the controller that changed."""


def _own(values: Mapping[str, str]) -> dict[str, str]:
    """Return the values of the rules that this family does not replace."""
    return {rule: value for rule, value in values.items() if rule not in REPLACED}


def _mode(column: kafka.Column) -> str:
    return f" with {column.controller}" if column.controller == kafka.KRAFT or column.suffix else ""


def _columns() -> tuple[Column, ...]:
    values, found = dict(_FIRST), []
    for name, (versions, phrase, changed) in _CHANGED.items():
        replication = kafka.column_of(f"kafka/{name}")
        assert replication is not None
        new = {} if replication.same_as else replication.changed
        values |= changed
        found.append(
            Column(
                name=f"control/{name}",
                summary=f"controllers of Kafka {span(between(*versions))}{_mode(replication)} that can die: {phrase}",
                values=_own({**replication.values, **values}),
                changed=_own({**new, **changed}),
                versions=between(*versions),
                suffix=replication.suffix,
            )
        )
    return tuple(found)


RELEASES = COLUMNS = _columns()

_NAMES = {name: column for column in COLUMNS for name in (column.name, *column.aliases)}


def column_of(reference: str) -> Column | None:
    """Return the column with the given name or alias. The name may be followed by changes of rules, as in
    ``control/2.1+controller_writes=unless-written-since``.

    Returns:
        The column, or None if no column has the name before the first ``+``.

    Raises:
        SpecError: if a change is invalid; see `RuleColumn.changed_as`.
    """
    column = _NAMES.get(reference.partition("+")[0])
    return None if column is None else column.changed_as(reference)
