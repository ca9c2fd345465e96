"""The rules that brokers and clients follow, as functions and values. `rules` contains the table of rules."""

from __future__ import annotations

from collections.abc import Callable

import attrs


@attrs.frozen(eq=False, kw_only=True)
class Protocol:
    """The rules in which releases of brokers and clients differ. The attributes are the values for one combination of
    broker and client releases.

    Attributes:
        name: the name of the combination, without the family.
        summary: a sentence that describes the combination.
        ends: returns whether the coordinator accepts the producer epoch of an `EndTxn` request. The arguments are the
            coordinator's producer epoch and the epoch of the request.
        bumps_expired: whether the coordinator raises the producer epoch when it aborts a transaction after a time-out.
        verifies: whether the leader of a partition asks the coordinator before it appends the first record of a
            transaction (KIP-890 part 1).
        guards: whether the leader refuses a record if a transaction has ended on the partition since the leader asked
            the coordinator (KAFKA-14884).
        compares_open_epoch: whether a transaction counts as open for a record only if both have the same producer epoch
            (KAFKA-18575).
        bumps: whether each `EndTxn` request raises the producer epoch, and whether a leader adds the partition to the
            transaction when it asks the coordinator (KIP-890 part 2).
        bumps_after_produce: whether a producer requests a higher epoch after a record has timed out and the transaction
            has been aborted (KIP-360).
        restarts_after_timeout: whether the application replaces its producer after a request has timed out and the
            transaction has ended.
        keeps_last_epoch: whether the coordinator still knows the last producer epoch after a failover.
        materialises_before_answer: whether a group coordinator answers that it has written a marker only once it has
            taken over the offsets of the transaction (KAFKA-17507).
        materialises_with_marker: whether it takes them over together with the marker.
        fences_records: returns whether a leader refuses a record. The arguments are the leader's producer epoch and the
            epoch of the record.
        fences_adding: returns whether the coordinator refuses an `AddPartitionsToTxn` request or a verification. The
            arguments are the coordinator's producer epoch and the epoch of the request.
        initialises_with_higher_epoch: whether `InitProducerId` raises the producer epoch.
        marker_epoch_bumped: whether markers have the new producer epoch if `EndTxn` raises the producer epoch.
        fences_coordinators: whether leaders refuse markers of an earlier coordinator epoch.
        resumes: whether a coordinator writes the remaining markers after a failover.
        checks_sequences: whether leaders compare the sequence number of a record with the expected one.
        waits_for_markers: whether a new transaction begins only after all markers of the previous one are written.
        compares_results: whether the coordinator refuses a repeated `EndTxn` request whose result differs from that of
            the first request.
        replicated_markers_only: whether a transaction is unstable until its marker is below the high watermark.
        forgets_lost_markers: whether a leader that has lost a marker considers the transaction open again.
    """

    name: str = ""
    summary: str = ""
    ends: Callable[[int, int], bool]
    bumps_expired: bool
    verifies: bool
    guards: bool
    compares_open_epoch: bool
    bumps: bool
    bumps_after_produce: bool
    restarts_after_timeout: bool
    keeps_last_epoch: bool
    materialises_before_answer: bool
    materialises_with_marker: bool
    fences_records: Callable[[int, int], bool]
    fences_adding: Callable[[int, int], bool]
    initialises_with_higher_epoch: bool = True
    marker_epoch_bumped: bool = True
    fences_coordinators: bool = True
    resumes: bool = True
    checks_sequences: bool = True
    waits_for_markers: bool = True
    compares_results: bool = True
    replicated_markers_only: bool = True
    forgets_lost_markers: bool = True


def equal(own: int, of_request: int) -> bool:
    """Return whether the request has the coordinator's producer epoch."""
    return own == of_request


def not_lower(own: int, of_request: int) -> bool:
    """Return whether the producer epoch of the request is not lower than the coordinator's."""
    return own <= of_request


def any_epoch(own: int, of_request: int) -> bool:
    """Return True: the coordinator does not compare producer epochs."""
    return True


def lower(own: int, of_request: int) -> bool:
    """Return whether a record has a lower producer epoch than the highest that the leader knows. The leader refuses
    such records.
    """
    return of_request < own


def different(own: int, of_request: int) -> bool:
    """Return whether a request has a producer epoch that differs from the coordinator's. Such requests are refused."""
    return of_request != own


def nothing(own: int, of_request: int) -> bool:
    """Return False: no request is refused because of its producer epoch."""
    return False
