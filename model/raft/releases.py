"""The columns of the table of rules: the releases of Kafka with KRaft, such as ``quorum/3.9``.

Only releases in which a rule changed have a column; every other published release is an alias.
"""

from __future__ import annotations

import attrs

from leadline.model.columns import Releases, columns_of
from leadline.model.kafka.published import PUBLISHED, aliases, between, span
from leadline.model.raft.bounds import Bounds
from leadline.model.raft.protocols import Protocol
from leadline.model.raft.rules import TABLE
from leadline.model.rules import RuleColumn


@attrs.frozen(eq=False, kw_only=True)
class Column(RuleColumn):
    """The value of each rule in a release."""

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


_RELEASES: Releases = (
    (
        "2.8",
        between("2.8.0", "2.8.2"),
        {
            "election": "candidate",
            "resigned": "candidate",
            "followers_vote": "forgotten",
            "isolated_leader": "stays",
            "unattached": "waits",
            "earlier_offset": "refused",
            "exception": "thread",
            "unreadable_file": "deleted",
            "configured_voters": "compared",
            "voters": "static",
            "truncated_log": "end",
            "answer_of_leader": "heard",
            "former_leader": "unknown",
            "snapshots": "none",
            "empty_log": "records",
            "older_snapshot": "stops",
            "controller_told": "epoch-start",
        },
    ),
    ("3.0", between("3.0.0", "3.2.3"), {"earlier_offset": "accepted", "snapshots": "overtaken"}),
    ("3.3", between("3.3.0", "3.4.0"), {"snapshots": "unflushed"}),
    ("3.4.1", between("3.4.1", "3.5.1"), {"exception": "process"}),
    ("3.5.2", ("3.5.2",), {"snapshots": "flushed"}),
    ("3.6", between("3.6.0", "3.6.2"), {"empty_log": "snapshot", "controller_told": "own-record"}),
    ("3.7", ("3.7.0",), {"isolated_leader": "resigns"}),
    ("3.7.1", between("3.7.1", "3.7.2"), {"controller_told": "resigned-too"}),
    ("3.8", between("3.8.0", "3.8.1"), {"unreadable_file": "fatal", "configured_voters": "leader"}),
    (
        "3.9",
        ("3.9.0",),
        {
            "configured_voters": "trusted",
            "voters": "dynamic",
            "truncated_log": "former-end",
            "answer_of_leader": "follower",
            "former_leader": "endpoint",
            "controller_told": "own-record",
        },
    ),
    ("3.9.1", between("3.9.1", "3.9.2"), {"unattached": "asks"}),
    (
        "4.0",
        between("4.0.0", PUBLISHED[-1]),
        {"election": "pre-vote", "resigned": "unattached", "followers_vote": "kept"},
    ),
)
"""The releases, oldest first: a name, the published versions, and the rules that changed."""


COLUMNS = columns_of(Column, "quorum", "KRaft's quorum of controllers in Kafka", _RELEASES)
