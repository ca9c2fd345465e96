"""The columns of the tables of rules: releases of Kafka with the classic protocol.

Clients and brokers have the same release. Only releases in which a rule changed have a column; every other published
release is an alias.
"""

from __future__ import annotations

import attrs

from leadline.model.group.classic.bounds import Bounds
from leadline.model.group.classic.protocols import Protocol
from leadline.model.group.classic.rules import TABLE
from leadline.model.kafka.published import PUBLISHED, aliases, between, minor, span
from leadline.model.rules import RuleColumn

LAST = PUBLISHED[-1]
BEFORE_PUBLISHED = ("0.10.1.0", "0.10.1.1")
"""Releases that only this family describes, because KIP-62 separated the session from the rebalance time-out there."""


@attrs.frozen(eq=False, kw_only=True)
class Column(RuleColumn):
    """The value of each rule in a release, such as ``group/2.8``."""

    table = TABLE
    makes = Protocol
    bounds: Bounds = attrs.field(factory=Bounds)

    @property
    def span(self) -> str:
        """The range of releases with these rules."""
        return span(self.versions)

    @property
    def aliases(self) -> tuple[str, ...]:
        """The names of the other releases with these rules, and of minor versions that begin here."""
        return aliases(self.name, self.versions)

    def too_early(self, bounds: Bounds) -> str:
        """Return a remark about settings of consumers that the release does not have yet, or an empty string."""
        version = self.short_name.partition("+")[0]
        early = [name for name, since in SINCE.items() if getattr(bounds, name) and _order(version) < _order(since)]
        return "; ".join(f"Kafka has {name}=true since {SINCE[name]}" for name in early)


SINCE = {"cooperative": "2.4.0", "static": "2.3.0"}
"""The first releases that have a setting (KIP-429, KIP-345)."""

_ORDER = (*BEFORE_PUBLISHED, *PUBLISHED)


def _order(version: str) -> int:
    """Return the position of a release, or of the first release of a minor version."""
    return next(n for n, each in enumerate(_ORDER) if version in (each, minor(each)))


_CLASSIC: tuple[tuple[str, tuple[str, ...], dict[str, str]], ...] = (
    (
        "0.10.1",
        (*BEFORE_PUBLISHED, *between("0.10.2.0", "2.1.0")),
        {
            "member_id": "with-generation",
            "new_member_timer": "runs",
            "heartbeat_in_completing": "ignored",
            "sync_timer": "none",
            "fenced_while_joining": "keeps",
            "claims": "all",
            "illegal_generation": "forgets-id",
            "transactional_commit": "anyone",
        },
    ),
    ("2.1.1", ("2.1.1",), {"new_member_timer": "lost"}),
    ("2.2", between("2.2.0", "2.4.1"), {"member_id": "before-joining"}),
    ("2.5", between("2.5.0", "2.6.0"), {"new_member_timer": "runs", "transactional_commit": "member"}),
    ("2.6.1", between("2.6.1", "2.7.1"), {"heartbeat_in_completing": "renews"}),
    ("2.7.2", ("2.7.2",), {"fenced_while_joining": "gives-up"}),
    ("2.8", ("2.8.0",), {"fenced_while_joining": "keeps"}),
    ("2.8.1", between("2.8.1", "2.8.2"), {"fenced_while_joining": "gives-up", "sync_timer": "rebalance-timeout"}),
    ("3.0", between("3.0.0", "3.1.2"), {"claims": "highest-generation"}),
    ("3.2", between("3.2.0", "3.4.0"), {"illegal_generation": "keeps-id"}),
    ("3.4.1", between("3.4.1", LAST), {"claims": "newest"}),
)
"""The releases, oldest first: a name, the published versions, and the rules that changed."""


def _columns() -> tuple[Column, ...]:
    values: dict[str, str] = {}
    found: list[Column] = []
    for name, versions, changed in _CLASSIC:
        values = values | changed
        found.append(
            Column(
                name=f"group/{name}",
                summary=f"consumer groups with the classic protocol of Kafka {span(versions)}",
                values=values,
                changed=changed if found else {},
                versions=versions,
            )
        )
    return tuple(found)


COLUMNS = _columns()
