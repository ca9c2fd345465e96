"""The columns of the table of rules: Kafka releases with ZooKeeper, with the rules of their controller.

A column has the rules of replication of the `kafka` column of the same release.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from leadline.model.control.bounds import Bounds
from leadline.model.control.protocols import Protocol
from leadline.model.control.rules import protocol_of, rule_of
from leadline.model.kafka import releases as kafka
from leadline.model.kafka.published import between, known_like, minor, span
from leadline.model.rules import Rule, RuleColumn


@attrs.frozen(eq=False, kw_only=True)
class Column(RuleColumn):
    """The rules of a release whose controller can die. Its name in the catalog is, for example, ``control/2.0.1``.

    Attributes:
        bounds: the default bounds. With them, a search takes seconds.
    """

    bounds: Bounds = attrs.field(factory=Bounds)

    @property
    def aliases(self) -> tuple[str, ...]:
        """The other names of the column, such as ``control/2.5`` for ``control/2.4``."""
        minors = [minor(version) for version in self.versions if version == known_like(version)[0]]
        names = dict.fromkeys(f"control/{version}" for version in (*minors, *self.versions))
        return tuple(name for name in names if name != self.name)

    @property
    def span(self) -> str:
        """The range of releases with these rules, such as ``2.4.0 to 2.6.3``."""
        return span(self.versions)

    @property
    def note(self) -> str:
        """A remark that gives the column's canonical name, or an empty string if the column was not looked up by an
        alias.
        """
        return f"stands for {self.same_as}: no rule of the model differs in Kafka {self.span}" if self.same_as else ""

    def protocol(self) -> Protocol:
        """Return the rules of the column as functions."""
        return protocol_of(self.name.partition("/")[2], self.summary, self.values)

    def _rule(self, name: str) -> Rule:
        return rule_of(name)


_FIRST = {
    "controller_election": "later",
    "controller_writes": "unless-written-since",
    "controller_epoch": "keeps",
    "controller_requests": "fenced",
    "broker_change": "ids",
    "broker_epoch": "none",
    "dead_at_start": "stay",
    "reassigning": "admin",
    "stop_replica": "any",
}

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
    "2.4": (("2.4.0", "2.5.1"), "reassignments can be cancelled (KIP-455)", {"reassigning": "assignment"}),
    "2.6": (("2.6.0", "2.6.3"), "StopReplica requests contain a leader epoch (KIP-570)", {"stop_replica": "newer"}),
}
"""For each column: its releases, a phrase for the summary, and the rules of the controller that changed."""


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
                summary=f"controllers of Kafka {span(between(*versions))} that can die: {phrase}",
                values={**replication.values, **values},
                changed={**new, **changed},
                versions=between(*versions),
            )
        )
    return tuple(found)


RELEASES = COLUMNS = _columns()

_NAMES = {name: column for column in COLUMNS for name in (column.name, *column.aliases)}


def column_of(reference: str) -> Column | None:
    """Return the column with the given name or alias. The name may also change rules, as in
    ``control/2.1+controller_writes=unless-written-since``.

    Returns:
        The column, or None if no column has the name before the first ``+``.

    Raises:
        SpecError: if a change is not of the form ``rule=value``, is repeated, or names a rule or value that does not
            exist.
    """
    column = _NAMES.get(reference.partition("+")[0])
    return None if column is None else column.changed_as(reference, "broker_change=ids")
