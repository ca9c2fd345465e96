"""The crash, shutdown and restart of a broker. A broker that stops loses its memory and keeps its disk."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.model.kafka.bounds import Bounds
from leadline.model.kafka.broker import ACTIVE, SHUTTING_DOWN, Replica
from leadline.model.kafka.controller import leaving, led_again
from leadline.model.kafka.log_start import loaded_after_kill
from leadline.model.kafka.messages import FetchResponse
from leadline.model.kafka.state import P, Partition
from leadline.model.log import Log
from leadline.model.quorum import brokers


def followers_first(bounds: Bounds) -> range:
    """Return the brokers in descending order, so that the preferred leader is last.

    In the articles about replication, followers fail first.
    """
    return range(bounds.brokers - 1, -1, -1)


def offsets(bounds: Bounds) -> range:
    """Return the offsets at which a log can have a record."""
    return range(bounds.records)


@action("broker {broker} crashes", broker=followers_first, effect="perturbing")
def crash(state: Partition, broker: int) -> Iterator[Partition]:
    """A broker crashes. Its log stays on disk, with its current high watermark or an earlier one."""
    if state.may("crashes") and state.replicas[broker].up:
        yield from _crashed(state.having("crashes"), broker, state.replicas[broker].log)


@action("broker {broker} crashes after writing fetched records", broker=followers_first, effect="perturbing")
def crash_after_append(state: Partition, broker: int) -> Iterator[Partition]:
    """A follower crashes while it handles a fetch response: it has written its log, but not its high watermark."""
    replica = state.replicas[broker]
    if state.may("crashes") and isinstance(replica.in_flight, FetchResponse) and replica.in_flight.records:
        log = replica.log
        for record in replica.in_flight.records:
            log = log.append(record)
        yield from _crashed(state.having("crashes"), broker, log)


@action(
    "broker {broker} crashes and loses its log from offset {offset} onward",
    broker=followers_first,
    offset=offsets,
    effect="perturbing",
)
def crash_losing_tail(state: Partition, broker: int, offset: int) -> Iterator[Partition]:
    """A broker crashes and loses the end of its log, which was only in the page cache or on a disk that is replaced."""
    if state.may("lossy_crashes") and state.replicas[broker].up and state.replicas[broker].log.has(offset):
        yield from _crashed(state.having("lossy_crashes"), broker, state.replicas[broker].log.truncate_to(offset))


def _crashed(state: P, broker: int, log: Log) -> Iterator[P]:
    replica, end, protocol = state.replicas[broker], log.end_offset, state.rules_of(broker)
    newest = max(replica.high_watermark, replica.newest_checkpoint)
    if not protocol.keeps_newer_checkpoints:
        newest = min(newest, end)
    for on_disk in protocol.checkpoints(newest):
        newer = on_disk if on_disk > end else 0
        down = replica.renewed(log=log, high_watermark=min(on_disk, end), up=False, newest_checkpoint=newer)
        for loaded in loaded_after_kill(protocol, down) if state.bounds.starts else (down,):
            yield _down(state, broker, loaded)


def _down(state: P, broker: int, replica: Replica) -> P:
    """Return the state after a broker has stopped.

    The registration status of a stopped broker has no meaning, so it is set to `ACTIVE`.
    """
    return state.with_replica(broker, replica).with_registration(broker, ACTIVE)


def brokers_that_may_lose_directories(bounds: Bounds) -> range:
    """Return the brokers whose log directory can be lost. By default, there are none."""
    return brokers(bounds) if bounds.lost_directories else range(0)


@action("the log directory of broker {broker} fails", broker=brokers_that_may_lose_directories, effect="perturbing")
def directory_fails(state: Partition, broker: int) -> Iterator[Partition]:
    """The log directory that holds a running broker's replica fails (KIP-112, KIP-858). The broker has other
    directories.

    The broker continues to run without the replica, and tells the controller (`controller_notices_failure`).
    """
    replica = state.replicas[broker]
    if not state.rules_of(broker).has_directories:
        return
    if state.may("lost_directories") and replica.up and replica.leader is not None and not replica.offline:
        failed = replica.renewed(offline=True, old_min_isr=replica.old_min_isr)
        yield _moved(state.having("lost_directories").with_replica(broker, failed), broker)


@action(
    "the log directory of stopped broker {broker} is removed from log.dirs",
    broker=brokers_that_may_lose_directories,
    effect="perturbing",
)
def directory_removed(state: Partition, broker: int) -> Iterator[Partition]:
    """The log directory that holds a stopped broker's replica is removed from `log.dirs`.

    When the broker starts, it creates an empty log in another directory, and reports this directory to the controller
    (AssignReplicasToDirs). A broker counts as stopped cleanly if every directory in its configuration contains a clean
    shutdown file with the same broker epoch (`LogManager.readBrokerEpochFromCleanShutdownFiles`). A directory that is
    no longer in the configuration is not considered.
    """
    clean = state.replicas[broker].stopped_cleanly and state.rules_of(broker).loses_directory_cleanly
    yield from _without_directory(state, broker, clean=clean)


@action(
    "the disk with the log directory of stopped broker {broker} is replaced",
    broker=brokers_that_may_lose_directories,
    effect="perturbing",
)
def directory_replaced(state: Partition, broker: int) -> Iterator[Partition]:
    """The disk with the log directory that holds a stopped broker's replica is replaced.

    The new directory has no clean shutdown file, so the broker counts as stopped uncleanly. Otherwise, the effects are
    those of `directory_removed`.
    """
    yield from _without_directory(state, broker, clean=False)


def _without_directory(state: P, broker: int, *, clean: bool) -> Iterator[P]:
    """Yield the state after a stopped broker has lost its log.

    Parameters:
        state: the state before the loss.
        clean: whether the broker counts as stopped cleanly when it starts.
    """
    replica = state.replicas[broker]
    if not state.rules_of(broker).has_directories:
        return
    if state.may("lost_directories") and not replica.up and replica.log.end_offset:
        without = state.having("lost_directories")
        yield _moved(without.with_replica(broker, replica.renewed(up=False, stopped_cleanly=clean)), broker)


def _moved(state: P, broker: int) -> P:
    """Return the state after a broker has lost its log directory and uses another one that the controller does not know
    yet.
    """
    return state.with_moved(broker, True) if state.protocol.clears_elr_on_assignment else state


@action(
    "broker {broker} tells the controller in which log directory its replica is",
    broker=brokers_that_may_lose_directories,
    fair="weak each",
    effect="healing",
)
def assign_directory(state: Partition, broker: int) -> Iterator[Partition]:
    """A broker has created its log in another directory, and tells the controller (AssignReplicasToDirs, KIP-858).

    From 3.7 to 4.2, the controller builds this change as if there were no ELR, and therefore clears the ELR
    (`ReplicationControlManager.handleAssignReplicasToDirs`, `PartitionChangeBuilder.maybeUpdateRecordElr`).
    """
    replica = state.replicas[broker]
    if state.registrations[broker].moved and replica.up and not replica.offline:
        cleared = attrs.evolve(state.quorum, elr=frozenset())
        yield attrs.evolve(state.with_moved(broker, False), quorum=cleared)


@action("broker {broker} begins to shut down", broker=brokers, effect="perturbing")
def begin_shutdown(state: Partition, broker: int) -> Iterator[Partition]:
    """A controlled shutdown begins: the controller removes the broker from leadership and from the ISR.

    The broker is still running.
    """
    if state.may("shutdowns") and state.considers_alive(broker):
        yield from leaving(state.having("shutdowns").with_registration(broker, SHUTTING_DOWN), broker)


@action("broker {broker} stops", broker=brokers, fair="weak each", effect="healing")
def stop(state: Partition, broker: int) -> Iterator[Partition]:
    """A controlled shutdown ends: the log, the high watermark and a clean shutdown file are on disk (KIP-966)."""
    replica = state.replicas[broker]
    if state.registrations[broker].status == SHUTTING_DOWN:
        clean = state.notes_clean_stops and (not replica.offline or state.rules_of(broker).loses_directory_cleanly)
        down = replica.renewed(log=replica.log, high_watermark=replica.high_watermark, up=False, stopped_cleanly=clean)
        if state.bounds.starts:
            down = attrs.evolve(down, log=down.log.as_loaded_from(down.log.start_offset))
        yield from leaving(_down(state, broker, down), broker)


@action("broker {broker} restarts", broker=brokers, effect="healing")
def restart(state: Partition, broker: int) -> Iterator[Partition]:
    """A broker starts again and registers.

    If the controller has not noticed that the broker was down, the broker is still in the ISR and may still lead,
    although it may have lost records. The rule `bounce` defines in which releases this is possible (KAFKA-1120,
    KAFKA-18106). In the articles, this is possible only for followers. In releases in which this is not possible, a
    broker restarts only after the controller has noticed that the broker was down.
    """
    replica, quorum = state.replicas[broker], state.quorum
    if replica.up:
        return
    if not was_noticed(state, broker):
        notices = state.protocol.notices_bounces
        if notices == "all":
            return
        if notices == "leaders" and quorum.leader == broker:
            state = attrs.evolve(state, quorum=attrs.evolve(quorum, leader=None))
        elif not state.may("missed_bounces"):
            return
        else:
            state = state.having("missed_bounces")
    yield from led_again(registered(started(state, broker), broker))


def started(state: P, broker: int) -> P:
    """Return the state after a broker has started again. It has not registered yet."""
    return state.with_replica(broker, attrs.evolve(state.replicas[broker], up=True, old_min_isr=state.sets_old_min_isr))


def registered(state: P, broker: int) -> P:
    """Return the state after a broker that has started again has registered, before the controller elects a leader."""
    replica = state.replicas[broker]
    back = state.with_replica(broker, attrs.evolve(replica, stopped_cleanly=False))
    if state.protocol.has_elr and not replica.stopped_cleanly:
        back = without_eligibility(back, broker)
    return with_another_incarnation(back, broker)


def was_noticed(state: Partition, broker: int) -> bool:
    """Return whether the controller may have noticed that a broker is down.

    This is the case if the broker is not in the ISR, or if it is the last member of the ISR and there is no leader.
    """
    quorum = state.quorum
    if broker not in quorum.isr:
        return True
    return quorum.leader is None and len(quorum.isr) == 1 and not state.protocol.has_elr


def without_eligibility(state: P, broker: int) -> P:
    """Remove a broker from the ELR because its shutdown was unclean (KIP-966). Return the new state."""
    quorum = state.quorum
    if broker not in quorum.elr:
        return state
    return attrs.evolve(state, quorum=attrs.evolve(quorum, elr=quorum.elr - {broker}))


def with_another_incarnation(state: P, broker: int) -> P:
    """Mark the in-flight requests that contain a restarted broker's old broker epoch, and return the new state."""
    if not state.rules_of(broker).sends_incarnation:
        return state
    for leader in brokers(state.bounds):
        replica = state.replicas[leader]
        proposal = replica.proposal
        if proposal is None or not proposal.sent or broker not in proposal.isr - replica.isr:
            continue
        if state.rules_of(leader).names_incarnations:
            state = state.with_replica(leader, attrs.evolve(replica, proposal=attrs.evolve(proposal, outdated=True)))
    late = state.late[broker]
    return state if late is None else state.with_late(broker, attrs.evolve(late, restarted=True))
