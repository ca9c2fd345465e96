"""The assignment of a partition in KRaft: its replicas, and any reassignment in progress.

The functions here are those of the controller's `PartitionReassignmentReplicas` and `PartitionReassignmentRevert`
(KIP-455, KAFKA-12803). They do not depend on the state of brokers.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs


@attrs.frozen(cache_hash=True)
class Assignment:
    """The replicas of a partition.

    As text, a ``+`` marks a replica that is being added, and a ``-`` marks one that is being removed.

    Attributes:
        replicas: the replicas in order, including those that are being added or removed. The first one is the preferred
            leader.
        adding: the replicas that are being added. They become permanent replicas when the reassignment completes.
        removing: the replicas that are being removed. They are replicas until the reassignment completes.
        wanted: the replicas that an operator has requested, or None once the partition has these replicas. Only
            properties read this field.
        fewest: the smallest number of replicas that the partition has had, if it has had fewer than now, or None. Only
            properties read this field.
    """

    replicas: tuple[int, ...]
    adding: frozenset[int] = frozenset()
    removing: frozenset[int] = frozenset()
    wanted: frozenset[int] | None = None
    fewest: int | None = None

    def __str__(self) -> str:
        return " ".join(f"{'+' * (each in self.adding)}{'-' * (each in self.removing)}{each}" for each in self.replicas)

    @property
    def in_progress(self) -> bool:
        """Whether a reassignment is in progress."""
        return bool(self.adding or self.removing)

    @property
    def final(self) -> frozenset[int]:
        """The replicas after the reassignment in progress has completed."""
        return frozenset(self.replicas) - self.removing

    @property
    def fewest_replicas(self) -> int:
        """The smallest number of replicas that the partition has had so far."""
        return len(self.replicas) if self.fewest is None else self.fewest


Completes = Callable[[Assignment, frozenset[int]], bool]
"""A function that returns whether a reassignment completes. The arguments are the assignment, and the ISR without the
replicas that are being removed."""


def when_the_added_are_in_sync(assignment: Assignment, rest: frozenset[int]) -> bool:
    """3.0 to 3.7: return whether all replicas that are being added are in the ISR."""
    return assignment.adding <= rest


def when_all_are_in_sync(assignment: Assignment, rest: frozenset[int]) -> bool:
    """3.8 to 4.2: return whether all replicas that remain are in the ISR (KAFKA-15665)."""
    return assignment.final <= rest


def when_the_added_are_in_sync_or_all(assignment: Assignment, rest: frozenset[int]) -> bool:
    """4.3 and later: return whether all replicas that are being added are in the ISR. If fewer replicas are added than
    removed, all replicas that remain must also be in the ISR (KAFKA-19975).
    """
    if len(assignment.adding) < len(assignment.removing) and not assignment.final <= rest:
        return False
    return assignment.adding <= rest


def changed_to(
    assignment: Assignment, target: tuple[int, ...], *, replaces_added: bool, replaces_removed: bool
) -> Assignment:
    """Return the assignment after an operator has requested different replicas.

    If a reassignment is in progress, its replicas count as the current replicas. The controller writes the sets of
    added and removed brokers only if they are not empty (`changePartitionReassignment`). Therefore, in Kafka, an empty
    set does not replace the set of the reassignment in progress.

    Parameters:
        assignment: the assignment before the request.
        target: the requested replicas, in order.
        replaces_added: whether an empty set of added brokers also replaces that of the reassignment in progress.
        replaces_removed: whether an empty set of removed brokers also replaces that of the reassignment in progress.
    """
    adding = frozenset(target) - frozenset(assignment.replicas)
    removing = frozenset(assignment.replicas) - frozenset(target)
    return Assignment(
        replicas=(*target, *sorted(removing)),
        adding=adding if adding or replaces_added else assignment.adding,
        removing=removing if removing or replaces_removed else assignment.removing,
        wanted=frozenset(target),
        fewest=_fewer(assignment.fewest_replicas, len(target) + len(removing)),
    )


def completed(assignment: Assignment, isr: frozenset[int], completes: Completes) -> tuple[Assignment, frozenset[int]]:
    """Complete a reassignment if the release's rule allows this, and return the resulting assignment and ISR.

    No release takes `min.insync.replicas` into account.

    Parameters:
        assignment: the assignment before the reassignment completes.
        isr: the new ISR. It may still contain replicas that are being removed.
        completes: the rule of the release.
    """
    rest = isr - assignment.removing
    if not assignment.in_progress or not rest or not assignment.final or not completes(assignment, rest):
        return assignment, isr
    wanted = None if assignment.wanted == assignment.final else assignment.wanted
    left = _without(assignment.replicas, assignment.removing)
    return Assignment(left, wanted=wanted, fewest=_fewer(assignment.fewest_replicas, len(left))), rest


def reverted(assignment: Assignment) -> Assignment:
    """Return the assignment after a reassignment in progress has been cancelled. The replicas keep their order."""
    left = _without(assignment.replicas, assignment.adding)
    return Assignment(left, fewest=_fewer(assignment.fewest_replicas, len(left)))


def _fewer(before: int, now: int) -> int | None:
    return before if before < now else None


def _without(replicas: tuple[int, ...], others: frozenset[int]) -> tuple[int, ...]:
    return tuple(broker for broker in replicas if broker not in others)
