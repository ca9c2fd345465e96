"""The columns of the tables of rules: releases of Kafka with the classic protocol, such as ``group/2.8``, and with the
consumer protocol, such as ``group/3.8-consumer``.

Clients and brokers have the same release. Only releases in which a rule changed have a column; every other published
release is an alias.
"""

from __future__ import annotations

import attrs

from leadline.model.columns import Releases, columns_of
from leadline.model.group.bounds import Bounds
from leadline.model.group.classic import bounds as classic_bounds
from leadline.model.group.classic import protocols as classic
from leadline.model.group.classic import rules as classic_rules
from leadline.model.group.consumer import bounds as consumer_bounds
from leadline.model.group.consumer import protocols as consumer
from leadline.model.group.consumer import rules as consumer_rules
from leadline.model.kafka.published import PUBLISHED, aliases, between, minor, span
from leadline.model.rules import RuleColumn

LAST = PUBLISHED[-1]
BEFORE_PUBLISHED = ("0.10.1.0", "0.10.1.1")
"""Releases that only this family describes, because KIP-62 separated the session from the rebalance time-out there."""


@attrs.frozen(eq=False, kw_only=True)
class GroupColumn(RuleColumn):
    """The value of each rule in a release.

    Attributes:
        suffix: what follows the release in names.
    """

    suffix: str = ""

    @property
    def kind(self) -> str:
        """The protocol, as in names. An empty string is the classic one."""
        return self.suffix

    @property
    def span(self) -> str:
        """The range of releases with these rules."""
        return span(self.versions)

    @property
    def aliases(self) -> tuple[str, ...]:
        """The names of the other releases with these rules, and of minor versions that begin here."""
        return aliases(self.name, self.versions, self.suffix)

    def too_early(self, bounds: Bounds) -> str:
        """Return a remark about settings of consumers that the release does not have yet, or an empty string."""
        version = self.short_name.partition("+")[0].removesuffix(self.suffix)
        early = [name for name, since in SINCE.items() if getattr(bounds, name, 0) and _order(version) < _order(since)]
        said = [f"{name}={str(getattr(bounds, name)).lower()} since {SINCE[name]}" for name in early]
        return "; ".join(f"Kafka has {each}" for each in said)


@attrs.frozen(eq=False, kw_only=True)
class Column(GroupColumn):
    """A release with the classic protocol, such as ``group/2.8``."""

    table = classic_rules.TABLE
    makes = classic.Protocol
    bounds: classic_bounds.Bounds = attrs.field(factory=classic_bounds.Bounds)


@attrs.frozen(eq=False, kw_only=True)
class ConsumerColumn(GroupColumn):
    """A release with the consumer protocol, such as ``group/3.8-consumer``."""

    table = consumer_rules.TABLE
    makes = consumer.Protocol
    suffix: str = "-consumer"
    bounds: consumer_bounds.Bounds = attrs.field(factory=consumer_bounds.Bounds)


SINCE = {"cooperative": "2.4.0", "static": "2.3.0", "classic_members": "3.8.0"}
"""The first releases that have a setting (KIP-429, KIP-345, and KIP-848's change of protocols)."""

_ORDER = (*BEFORE_PUBLISHED, *PUBLISHED)


def _order(version: str) -> int:
    """Return the position of a release, or of the first release of a minor version."""
    return next(n for n, each in enumerate(_ORDER) if version in (each, minor(each)))


_CLASSIC: Releases = (
    (
        "0.10.1",
        (*BEFORE_PUBLISHED, *between("0.10.2.0", "2.0.1")),
        {
            "member_id": "with-generation",
            "new_member_timer": "runs",
            "heartbeat_in_completing": "ignored",
            "sync_timer": "none",
            "fenced_while_joining": "keeps",
            "claims": "all",
            "illegal_generation": "forgets-id",
            "transactional_commit": "anyone",
            "offset_expiry": "each-commit",
            "lost_commit": "error",
        },
    ),
    ("2.1", ("2.1.0",), {"offset_expiry": "empty-group"}),
    ("2.1.1", ("2.1.1",), {"new_member_timer": "lost"}),
    ("2.2", between("2.2.0", "2.4.1"), {"member_id": "before-joining"}),
    ("2.5", between("2.5.0", "2.6.0"), {"new_member_timer": "runs", "transactional_commit": "member"}),
    ("2.6.1", between("2.6.1", "2.7.1"), {"heartbeat_in_completing": "renews"}),
    ("2.7.2", ("2.7.2",), {"fenced_while_joining": "gives-up"}),
    ("2.8", ("2.8.0",), {"fenced_while_joining": "keeps"}),
    ("2.8.1", between("2.8.1", "2.8.2"), {"fenced_while_joining": "gives-up", "sync_timer": "rebalance-timeout"}),
    ("3.0", between("3.0.0", "3.1.2"), {"claims": "highest-generation"}),
    ("3.2", between("3.2.0", "3.4.0"), {"illegal_generation": "keeps-id"}),
    ("3.4.1", between("3.4.1", "3.9.2"), {"claims": "newest"}),
    ("4.0", between("4.0.0", "4.2.1"), {"lost_commit": "acknowledged"}),
    ("4.2.2", ("4.2.2",), {"lost_commit": "error"}),
    ("4.3", ("4.3.0",), {"lost_commit": "acknowledged"}),
    ("4.3.1", between("4.3.1", LAST), {"lost_commit": "error"}),
)
"""The releases, oldest first: a name, the published versions, and the rules that changed."""

_CONSUMER: Releases = (
    (
        "3.7-consumer",
        between("3.7.0", "3.7.2"),
        {
            "reconciliation": "restarts",
            "partition_epochs": "lost",
            "report": "changed",
            "interruption": "new-epoch",
            "member_id": "coordinator",
            "revoked_epoch": "next",
            "own_revoked": "unreleased",
            "rejoin": "refused",
            "instance_id": "first",
            "own_instance": "unreleased",
            "replaced_target": "computed",
            "commit_epoch": "current",
            "empty_group": "behind",
            "classic_join": "never",
            "lost_commit": "acknowledged",
        },
    ),
    (
        "3.8-consumer",
        between("3.8.0", "3.8.1"),
        {
            "reconciliation": "awaits",
            "partition_epochs": "kept",
            "report": "reconciled",
            "interruption": "rejoining",
            "instance_id": "all",
            "classic_join": "accepted",
        },
    ),
    ("3.9-consumer", between("3.9.0", "3.9.2"), {"replaced_target": "taken-over"}),
    ("4.0-consumer", between("4.0.0", "4.1.2"), {"member_id": "consumer"}),
    ("4.2-consumer", between("4.2.0", "4.2.1"), {"revoked_epoch": "same", "own_revoked": "free"}),
    ("4.2.2-consumer", ("4.2.2",), {"classic_join": "by-policy", "lost_commit": "error"}),
    (
        "4.3-consumer",
        ("4.3.0",),
        {
            "rejoin": "accepted",
            "commit_epoch": "since-assignment",
            "classic_join": "accepted",
            "lost_commit": "acknowledged",
        },
    ),
    ("4.3.1-consumer", ("4.3.1",), {"classic_join": "by-policy", "lost_commit": "error"}),
    ("4.4-consumer", between("4.4.0", LAST), {"empty_group": "follows"}),
)
"""The same for the consumer protocol."""


_SUMMARY = "consumer groups with the {} protocol of Kafka"

COLUMNS = columns_of(Column, "group", _SUMMARY.format("classic"), _CLASSIC)
CONSUMER_COLUMNS = columns_of(ConsumerColumn, "group", _SUMMARY.format("consumer"), _CONSUMER)
