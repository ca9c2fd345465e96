"""The rules in which releases differ when they read records of the metadata log and write snapshots."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from leadline.model.columns import Releases
from leadline.model.kafka.published import PUBLISHED, between
from leadline.model.rules import Rule, RuleTable, Value

MIGRATING, UNASSIGNED = "migrating", "unassigned"
"""The log directory of a replica that is older than 3.7-IV2, and of one that has not been put into a directory yet."""

OLD, DIRECTORIES, ELR, LOWERED = LEVELS = ("below 3.7-IV2", "3.7-IV2", "ELR", "ELR lowered")
"""The levels, in the order in which an operator can reach them: of `metadata.version`, and then of
`eligible.leader.replicas.version`."""


@attrs.frozen(cache_hash=True)
class Registration:
    """The partition in an image.

    Attributes:
        replicas: the brokers of its replicas.
        directories: the log directory of each replica, or None in a release that does not know of them.
        elr: the eligible leader replicas.
    """

    replicas: tuple[int, ...]
    directories: tuple[str, ...] | None
    elr: frozenset[int] = frozenset()


@attrs.frozen(eq=False, kw_only=True)
class Protocol:
    """The rules of a release.

    Attributes:
        has_directories: whether it knows of log directories, and of 3.7-IV2.
        moved: returns the directories after a change of the replicas that names none.
        elr_levels: the levels at which snapshots have the ELR. None if the release has no ELR.
    """

    name: str = ""
    summary: str = ""
    has_directories: bool
    moved: Callable[[Registration, tuple[int, ...]], tuple[str, ...] | None]
    elr_levels: tuple[str, ...]


def _unknown(before: Registration, replicas: tuple[int, ...]) -> None:
    """The release does not know of directories."""


def unassigned(before: Registration, replicas: tuple[int, ...]) -> tuple[str, ...]:
    """Return `UNASSIGNED` for each replica that is new."""
    known = dict(zip(before.replicas, before.directories or (), strict=True))
    return tuple(known.get(replica, UNASSIGNED) for replica in replicas)


def _migrating(before: Registration, replicas: tuple[int, ...]) -> tuple[str, ...] | None:
    """Return `MIGRATING` for each replica if no directory is known."""
    return before.directories if {*(before.directories or ())} - {MIGRATING} else (MIGRATING,) * len(replicas)


_DIRECTORIES = Rule(
    "directories",
    "which log directories replicas have after a change of replicas that names none",
    (
        Value("none", "the release knows of none", "3.6.2: merge", {"has_directories": False, "moved": _unknown}),
        Value(
            "unassigned", "new replicas have none yet", "KIP-858; 3.7.0", {"has_directories": True, "moved": unassigned}
        ),
        Value(
            "migrating",
            "new replicas are older than directories, if the others are",
            "KAFKA-16583; 3.7.1: PartitionRegistration.merge",
            {"has_directories": True, "moved": _migrating},
        ),
    ),
)
_ELR = Rule(
    "elr",
    "when snapshots have eligible leader replicas",
    (
        Value("none", "the release has none", "3.9.0", {"elr_levels": ()}),
        Value(
            "in-force",
            "while eligible.leader.replicas.version is 1",
            "KIP-966; 4.0.0: PartitionRegistration.toRecord, ImageWriterOptions",
            {"elr_levels": (ELR,)},
        ),
        Value("kept", "while a partition has some", "no release", {"elr_levels": (ELR, LOWERED)}),
    ),
)
TABLE = RuleTable((_DIRECTORIES, _ELR))

CHANGES: Releases = (
    ("3.3", between("3.3.0", "3.6.2"), {"directories": "none", "elr": "none"}),
    ("3.7", ("3.7.0",), {"directories": "unassigned"}),
    ("3.7.1", between("3.7.1", "3.9.2"), {"directories": "migrating"}),
    ("4.0", between("4.0.0", PUBLISHED[-1]), {"elr": "in-force"}),
)
"""The releases, oldest first: a name, the published versions, and the rules that changed."""

RELEASES = tuple(name for name, _, _ in CHANGES)
