"""Each action of the `atomic` family on hand-written states: when it is enabled, and the exact next state."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from leadline.checker import Action
from leadline.model.atomic.actions import (
    ACTIONS,
    advance_high_watermark,
    become_follower,
    become_leader,
    caught_up,
    controller_elects,
    controller_shrinks_isr,
    leader_expands_isr,
    leader_shrinks_isr,
    leader_writes,
    replicate,
    truncate,
)
from leadline.model.atomic.drawing import DRAWING
from leadline.model.atomic.protocols import (
    HW_TRUNCATION,
    KIP_101,
    KIP_279,
    KIP_320,
    KIP_320_FIRST_TRY,
    PROTOCOLS,
    Protocol,
)
from leadline.model.atomic.replica import Replica
from leadline.model.atomic.state import Bounds, Partition, initial_states
from leadline.model.quorum import NO_EPOCH, Quorum, Request, epochs
from tests.model.atomic_states import ROOMY, log, partition, replica, sent

ALL = {0, 1, 2}
BLANK = replica("┃")
OLDER = (HW_TRUNCATION, KIP_101, KIP_279)

protocols = pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
older = pytest.mark.parametrize("protocol", OLDER, ids=lambda protocol: protocol.name)


def after(state: Partition, action: Action[Partition, Any], *values: int | None) -> Partition:
    """The one next state."""
    (successor,) = action(state, *values)
    return successor


def enabled(state: Partition, action: Action[Partition, Any], *values: int | None) -> bool:
    return bool(list(action(state, *values)))


def leads(broker: int, drawn: str, epoch: int = 0, isr: set[int] = ALL) -> Replica:
    return replica(drawn, epoch=epoch, leader=broker, isr=isr)


def follows(leader: int, drawn: str, epoch: int = 0, isr: set[int] = ALL) -> Replica:
    return replica(drawn, epoch=epoch, leader=leader, isr=isr)


# --- the initial state --------------------------------------------------------------------------------------


@protocols
def test_at_first_nobody_leads_and_nothing_was_sent(protocol: Protocol) -> None:
    (state,) = initial_states(Bounds(brokers=3, max_epoch=1), protocol)
    assert state == Partition(
        next_value=0,
        quorum=Quorum(None, NO_EPOCH, frozenset(ALL)),
        requests=(frozenset(),) * 3,  # of epochs 0 and 1, and before the first election
        replicas=(Replica(log=log(""), high_watermark=0, epoch=NO_EPOCH, leader=None, isr=frozenset()),) * 3,
        protocol=protocol,
        bounds=state.bounds,
    )


# --- the controller -----------------------------------------------------------------------------------------


def test_controller_elects_a_member_of_the_isr_in_the_next_epoch_and_sends_a_request() -> None:
    state = partition(BLANK, BLANK, BLANK, leader=0, epoch=0, isr={0, 2}, requests={0: (0, ALL)})
    elected = after(state, controller_elects, 2)
    assert elected == attrs.evolve(
        state,
        quorum=Quorum(2, 1, frozenset({0, 2})),
        requests=sent({0: (0, ALL), 1: (2, {0, 2})}),
    )


def test_controller_elects_the_first_leader_in_epoch_0() -> None:
    state = partition(BLANK, BLANK, BLANK, isr=ALL)
    assert after(state, controller_elects, 1).quorum == Quorum(1, 0, frozenset(ALL))


@pytest.mark.parametrize(
    "state",
    [
        partition(BLANK, BLANK, BLANK, leader=1, epoch=0, isr=ALL),
        partition(BLANK, BLANK, BLANK, leader=0, epoch=0, isr={0, 2}),
        partition(BLANK, BLANK, BLANK, epoch=0, isr=set()),
        partition(BLANK, BLANK, BLANK, leader=0, epoch=3, isr=ALL),
    ],
    ids=["leads already", "not in the ISR", "the ISR is empty", "no epoch is left"],
)
def test_controller_does_not_elect(state: Partition) -> None:
    assert not enabled(state, controller_elects, 1)


@pytest.mark.parametrize(
    ("leader", "isr", "failed", "new_leader", "new_isr"),
    [
        (0, ALL, 0, None, {1, 2}),
        (0, {0}, 0, None, {0}),
        (0, ALL, 1, 0, {0, 2}),
        (None, ALL, 1, None, {0, 2}),
        (None, {1}, 1, None, set()),
    ],
    ids=[
        "the leader leaves",
        "the leader stays as the last member, but leads no more",
        "a follower leaves",
        "a member leaves while there is no leader",
        "the last member leaves while there is no leader",
    ],
)
def test_controller_shrinks_the_isr(
    leader: int | None, isr: set[int], failed: int, new_leader: int | None, new_isr: set[int]
) -> None:
    state = partition(BLANK, BLANK, BLANK, leader=leader, epoch=1, isr=isr, requests={1: (leader, isr)})
    assert after(state, controller_shrinks_isr, failed) == attrs.evolve(
        state,
        quorum=Quorum(new_leader, 2, frozenset(new_isr)),
        requests=sent({1: (leader, isr), 2: (new_leader, new_isr)}),
    )


@pytest.mark.parametrize(
    "state",
    [
        partition(BLANK, BLANK, BLANK, leader=0, epoch=0, isr={0, 2}),
        partition(BLANK, BLANK, BLANK, leader=0, epoch=3, isr=ALL),
        partition(BLANK, BLANK, BLANK, leader=1, epoch=3, isr=ALL),
    ],
    ids=["not in the ISR", "no epoch is left for a follower", "no epoch is left for the leader"],
)
def test_controller_does_not_shrink_the_isr(state: Partition) -> None:
    assert not enabled(state, controller_shrinks_isr, 1)


# --- becoming leader or follower ----------------------------------------------------------------------------


def test_broker_obeys_the_request_that_names_it_and_keeps_log_and_high_watermark() -> None:
    state = partition(
        BLANK, follows(0, "m0@0 ┃ m1@0"), BLANK, leader=1, epoch=1, isr=ALL, requests={0: (0, ALL), 1: (1, {1, 2})}
    )
    expected = state.with_replica(1, leads(1, "m0@0 ┃ m1@0", epoch=1, isr={1, 2}))
    assert after(state, become_leader, 1, 1) == expected


@pytest.mark.parametrize("request_of_another", [(0, ALL), (2, ALL)])
def test_request_of_a_leader_changes_the_named_broker_only(request_of_another: tuple[int, set[int]]) -> None:
    state = partition(BLANK, BLANK, BLANK, requests={0: request_of_another})
    named, _ = request_of_another
    replicas = after(state, become_leader, named, 0).replicas
    assert [index for index, each in enumerate(replicas) if each != BLANK] == [named]
    assert [broker for broker in range(3) if enabled(state, become_leader, broker, 0)] == [named]


@pytest.mark.parametrize(
    "state",
    [
        partition(BLANK, BLANK, BLANK),
        partition(BLANK, BLANK, BLANK, requests={1: (None, ALL)}),
        partition(BLANK, leads(1, "┃", epoch=1), BLANK, requests={1: (1, ALL)}),
        partition(BLANK, follows(2, "┃", epoch=2), BLANK, requests={1: (1, ALL)}),
    ],
    ids=["not sent", "names nobody", "obeyed already", "knows a later epoch"],
)
def test_request_makes_no_leader(state: Partition) -> None:
    assert not any(enabled(state, become_leader, broker, 1) for broker in range(3))


@protocols
def test_requests_are_never_used_up(protocol: Protocol) -> None:
    """A broker can still obey a request that another broker obeyed, even after later ones."""
    state = partition(BLANK, BLANK, BLANK, requests={0: (0, ALL)}, protocol=protocol)
    led = after(state, become_leader, 0, 0)
    followed = after(led, become_follower, 1, 0)
    both = after(followed, become_follower, 2, 0)
    assert state.requests == led.requests == followed.requests == both.requests
    assert both.replicas == (leads(0, "┃"), follows(0, "┃"), follows(0, "┃"))


@protocols
def test_old_request_is_obeyed_after_a_newer_one_was_sent(protocol: Protocol) -> None:
    state = partition(
        leads(0, "┃"), BLANK, BLANK, leader=1, epoch=1, isr=ALL, requests={0: (0, ALL), 1: (1, ALL)}, protocol=protocol
    )
    assert after(state, become_follower, 2, 0).replicas[2] == follows(0, "┃")


@protocols
@pytest.mark.parametrize(
    "state",
    [
        partition(leads(0, "┃"), BLANK, BLANK),
        partition(BLANK, BLANK, BLANK, requests={0: (None, ALL)}),
        partition(BLANK, BLANK, BLANK, requests={0: (1, ALL)}),
        partition(leads(0, "┃"), follows(0, "┃"), BLANK, requests={0: (0, ALL)}),
        partition(leads(0, "┃"), follows(2, "┃", epoch=1), BLANK, requests={0: (0, ALL)}),
    ],
    ids=["not sent", "names nobody", "names the broker itself", "obeyed already", "knows a later epoch"],
)
def test_request_makes_no_follower(state: Partition, protocol: Protocol) -> None:
    assert not enabled(attrs.evolve(state, protocol=protocol), become_follower, 1, 0)


def test_requests_of_one_epoch_are_obeyed_in_any_order() -> None:
    """No shipped action sends several; one of another spec may change the ISR without a new leader epoch."""
    first = partition(BLANK, BLANK, BLANK, leader=0, epoch=1, isr=ALL, requests={1: (0, ALL)})
    state = first.announcing(Quorum(0, 1, frozenset({0, 1})))
    assert (state.quorum.isr, state.announcing(state.quorum)) == ({0, 1}, state)
    leaders = list(become_leader(state, 0, 1))
    assert [each.replicas[0] for each in leaders] == [leads(0, "┃", epoch=1, isr=isr) for isr in (ALL, {0, 1})]
    assert not enabled(leaders[0], become_leader, 0, 1), "it is in this epoch already"
    followers = list(become_follower(leaders[0], 1, 1))
    assert [each.replicas[1] for each in followers] == [follows(0, "┃", epoch=1, isr=isr) for isr in (ALL, {0, 1})]
    sent = {message.detail for message in DRAWING.messages(leaders[0]) if message.text == "LeaderAndIsr, epoch 1"}
    assert sent == {"leader 0, ISR 0 1 2", "leader 0, ISR 0 1"}


def test_requests_of_one_epoch_have_an_order_that_does_not_depend_on_the_process() -> None:
    quorums = [Quorum(leader, 1, frozenset(isr)) for isr in (ALL, {0, 8}, {0, 1}, {0}) for leader in (None, 0, 2)]
    state = partition(BLANK)
    for quorum in reversed(quorums):
        state = state.announcing(quorum)
    ordered = [(request.leader, sorted(request.isr)) for request in state.sent_in(1)]
    assert ordered == [(leader, isr) for isr in ([0, 1, 2], [0, 1], [0, 8], [0]) for leader in (None, 0, 2)]


def test_requests_before_the_first_election_are_kept_apart_from_those_of_every_epoch() -> None:
    state = partition(BLANK, BLANK, BLANK, isr=ALL).announcing(Quorum(None, NO_EPOCH, frozenset({0, 1})))
    assert state.sent_in(NO_EPOCH) == [Request(None, frozenset({0, 1}))]
    assert [state.sent_in(epoch) for epoch in epochs(ROOMY)] == [[]] * 4


def test_which_protocols_ask_the_leader_where_to_truncate() -> None:
    assert [protocol for protocol in PROTOCOLS if protocol.asks_the_leader] == [KIP_101, KIP_279, KIP_320]


def new_follower(protocol: Protocol, own: str, leader: str) -> Partition:
    """Broker 0 leads in epoch 2 and knows it; broker 1 is about to hear of it."""
    return partition(
        leads(0, leader, epoch=2), follows(2, own, isr={1, 2}), BLANK, requests={2: (0, {0, 1})}, protocol=protocol
    )


@pytest.mark.parametrize(
    ("protocol", "own", "leader", "truncated"),
    [
        (HW_TRUNCATION, "m0@0 ┃ m1@0", "m0@0 m1@0 ┃", "m0@0 ┃"),
        (HW_TRUNCATION, "m0@0 m1@0 ┃", "m0@0 ┃", "m0@0 m1@0 ┃"),
        (KIP_101, "┃", "m0@0 ┃", "┃"),
        (KIP_101, "m0@0 ┃ m1@0", "m0@0 m1@0 ┃", "m0@0 ┃ m1@0"),
        (KIP_101, "m0@0 m1@0 ┃ m3@0", "m0@0 ┃", "m0@0 ┃"),
        (KIP_101, "m0@0 ┃ m1@0", "m0@0 ┃ m2@1 m3@2", "m0@0 ┃"),
        (KIP_101, "m0@0 ┃ m1@1 m2@1", "m0@0 ┃", "m0@0 ┃"),
        (KIP_101, "m0@0 ┃ m1@0", "┃", "m0@0 ┃"),
        (KIP_279, "m0@0 m1@0 ┃ m3@1", "m0@0 m1@0 m2@0 ┃", "m0@0 m1@0 ┃"),
        (KIP_279, "m0@0 m1@0 ┃ m3@1", "m0@0 ┃ m2@2", "m0@0 ┃"),
        (KIP_279, "m0@0 ┃ m1@0", "┃", "┃"),
        (KIP_279, "m0@0 ┃", "m1@1 m2@1 ┃", "┃"),
        (KIP_320_FIRST_TRY, "m0@0 ┃ m1@0", "m2@2 ┃", "m0@0 ┃ m1@0"),
        (KIP_320, "m0@0 m1@0 ┃ m3@1", "m0@0 ┃ m2@2", "m0@0 ┃"),
        (KIP_320, "m0@0 ┃ m1@0", "m0@0 m1@0 ┃ m2@2", "m0@0 ┃ m1@0"),
    ],
    ids=[
        "hw-truncation: to its own high watermark",
        "hw-truncation: which may be the end, whatever the leader has",
        "kip-101: nothing to truncate",
        "kip-101: the leader's end, same last epoch",
        "kip-101: the leader's end, before the own high watermark",
        "kip-101: the start of the leader's next epoch",
        "kip-101: own high watermark, the leader knows no such epoch and no larger one",
        "kip-101: own high watermark, the leader's log is empty",
        "kip-279: where both logs hold the same record",
        "kip-279: before the own high watermark",
        "kip-279: the leader's log is empty",
        "kip-279: no record in common",
        "kip-320-first-try: keeps all",
        "kip-320: where both logs hold the same record",
        "kip-320: which may be the end",
    ],
)
def test_new_follower_truncates_by_its_protocol(protocol: Protocol, own: str, leader: str, truncated: str) -> None:
    state = new_follower(protocol, own, leader)
    expected = state.with_replica(1, follows(0, truncated, epoch=2, isr={0, 1}))
    assert after(state, become_follower, 1, 2) == expected


def test_answer_beyond_the_own_log_end_is_not_obeyed() -> None:
    assert not enabled(new_follower(KIP_101, "m0@0 ┃", "m0@0 m1@0 ┃"), become_follower, 1, 2)
    assert not enabled(new_follower(KIP_101, "m0@0 ┃", "m0@0 m1@0 ┃ m2@2"), become_follower, 1, 2)
    assert enabled(new_follower(KIP_279, "m0@0 ┃", "m0@0 m1@0 ┃"), become_follower, 1, 2)


@pytest.mark.parametrize(
    "named",
    [BLANK, follows(2, "m0@0 ┃", epoch=2), leads(0, "m0@0 ┃", epoch=0), leads(0, "m0@0 ┃", epoch=3)],
    ids=["knows nothing", "follows another one in that epoch", "leads in an earlier epoch", "leads in a later epoch"],
)
@protocols
def test_only_kip_320_asks_that_the_named_broker_leads_in_the_requests_epoch(
    named: Replica, protocol: Protocol
) -> None:
    state = partition(named, BLANK, BLANK, requests={2: (0, ALL)}, protocol=protocol)
    assert enabled(state, become_follower, 1, 2) is (protocol is not KIP_320)


def test_zombie_leader_becomes_a_follower() -> None:
    state = partition(leads(0, "┃", epoch=1), leads(1, "┃"), BLANK, requests={1: (0, ALL)})
    assert after(state, become_follower, 1, 1).replicas[1] == follows(0, "┃", epoch=1)


# --- truncation as a step of its own ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "leader", "truncated"),
    [
        ("m0@0 m1@0 ┃", "m0@0 ┃", "m0@0 ┃"),
        ("m0@0 ┃ m1@0", "m0@0 ┃ m2@1", "m0@0 ┃"),
        ("m0@0 ┃", "m1@1 m2@1 ┃", "┃"),
        ("┃ m0@0", "┃", "┃"),
    ],
    ids=["longer", "its last record has another epoch", "shorter, and another epoch", "the leader's log is empty"],
)
def test_diverging_follower_truncates(own: str, leader: str, truncated: str) -> None:
    state = partition(leads(0, leader, epoch=1), follows(0, own), BLANK, protocol=KIP_320_FIRST_TRY)
    assert after(state, truncate, 0, 1) == state.with_replica(1, follows(0, truncated))


@pytest.mark.parametrize(
    "replicas",
    [
        (leads(0, "m0@0 m1@1 ┃", epoch=1), follows(0, "m0@0 ┃"), BLANK),
        (leads(0, "m0@0 ┃"), follows(0, "┃"), BLANK),
        (leads(0, "┃"), follows(2, "m0@0 ┃"), BLANK),
        (follows(2, "┃"), follows(0, "m0@0 ┃"), BLANK),
    ],
    ids=["agrees with the leader", "is empty", "follows another broker", "follows a broker that does not lead"],
)
def test_follower_that_does_not_diverge_from_a_leader_does_not_truncate(replicas: tuple[Replica, ...]) -> None:
    assert not enabled(partition(*replicas, protocol=KIP_320_FIRST_TRY), truncate, 0, 1)


@pytest.mark.parametrize("protocol", [*OLDER, KIP_320], ids=lambda protocol: protocol.name)
def test_only_the_first_try_truncates_while_fetching(protocol: Protocol) -> None:
    assert not enabled(partition(leads(0, "┃"), follows(0, "m0@0 ┃"), BLANK, protocol=protocol), truncate, 0, 1)


# --- writing and fetching -----------------------------------------------------------------------------------


@protocols
def test_whoever_takes_itself_for_the_leader_writes_a_zombie_too(protocol: Protocol) -> None:
    state = partition(leads(0, "m0@0 ┃"), leads(1, "┃ m1@1", epoch=1), BLANK, leader=1, epoch=1, protocol=protocol)
    written = after(state, leader_writes, 0)
    assert written == attrs.evolve(state.with_replica(0, leads(0, "m0@0 ┃ m2@0")), next_value=3)


@pytest.mark.parametrize(
    ("first", "bounds"),
    [
        (leads(0, "m0@0 ┃"), attrs.evolve(ROOMY, log_size=1)),
        (leads(0, "m0@0 ┃"), attrs.evolve(ROOMY, records=1)),
        (follows(1, "m0@0 ┃"), ROOMY),
        (BLANK, ROOMY),
    ],
    ids=["no room in the log", "no record is left", "follows", "knows of no leader"],
)
def test_broker_does_not_write(first: Replica, bounds: Bounds) -> None:
    assert not enabled(partition(first, BLANK, BLANK, bounds=bounds), leader_writes, 0)


@pytest.mark.parametrize(
    ("own", "leader", "fetched"),
    [
        ("┃", "┃ m0@0", "┃ m0@0"),
        ("┃", "m0@0 ┃", "m0@0 ┃"),
        ("┃", "m0@0 m1@0 ┃", "m0@0 ┃"),
        ("┃ m0@0", "m0@0 m1@0 ┃", "m0@0 m1@0 ┃"),
        ("m0@0 ┃", "┃ m0@0 m1@1 m2@1", "┃ m0@0 m1@1"),
    ],
    ids=[
        "uncommitted",
        "committed",
        "more is committed than fetched",
        "two at once become committed",
        "the leader's high watermark is behind",
    ],
)
@protocols
def test_follower_fetches_one_record_and_the_high_watermark(
    own: str, leader: str, fetched: str, protocol: Protocol
) -> None:
    state = partition(leads(0, leader), follows(0, own), BLANK, protocol=protocol)
    assert after(state, replicate, 0, 1) == state.with_replica(1, follows(0, fetched))


@protocols
@pytest.mark.parametrize(
    "replicas",
    [
        (leads(0, "m0@0 ┃"), follows(0, "m0@0 ┃"), BLANK),
        (leads(0, "m0@0 ┃"), follows(2, "┃"), BLANK),
        (leads(0, "m0@0 ┃"), leads(1, "┃"), BLANK),
        (follows(2, "m0@0 ┃"), follows(0, "┃"), BLANK),
    ],
    ids=["has all", "follows another broker", "leads itself", "follows a broker that does not lead"],
)
def test_broker_does_not_fetch(replicas: tuple[Replica, ...], protocol: Protocol) -> None:
    assert not enabled(partition(*replicas, protocol=protocol), replicate, 0, 1)


@protocols
def test_only_kip_320_refuses_a_fetch_from_another_epoch(protocol: Protocol) -> None:
    for epoch in (0, 2):
        state = partition(leads(0, "m0@0 ┃", epoch=1), follows(0, "┃", epoch=epoch), BLANK, protocol=protocol)
        assert enabled(state, replicate, 0, 1) is (protocol is not KIP_320)


@protocols
def test_only_the_first_try_refuses_a_fetch_after_a_record_of_another_epoch(protocol: Protocol) -> None:
    leader = leads(0, "m1@1 m2@1 ┃", epoch=1)
    state = partition(leader, follows(0, "┃ m0@0", epoch=1), BLANK, protocol=protocol)
    assert enabled(state, replicate, 0, 1) is (protocol is not KIP_320_FIRST_TRY)
    state = partition(leader, follows(0, "┃ m0@1", epoch=1), BLANK, protocol=protocol)
    assert enabled(state, replicate, 0, 1)


# --- the leader's high watermark ----------------------------------------------------------------------------


@protocols
def test_leader_raises_its_high_watermark_by_one_when_its_isr_has_the_record(protocol: Protocol) -> None:
    state = partition(leads(0, "┃ m0@0 m1@0", isr={0, 1}), follows(0, "┃ m0@0 m1@0"), BLANK, isr=ALL, protocol=protocol)
    assert after(state, advance_high_watermark, 0) == state.with_replica(0, leads(0, "m0@0 ┃ m1@0", isr={0, 1}))


@protocols
@pytest.mark.parametrize(
    "replicas",
    [
        (leads(0, "m0@0 ┃", isr={0}), BLANK, BLANK),
        (leads(0, "┃ m0@0", isr={0, 1}), follows(0, "┃"), BLANK),
        (leads(0, "┃ m0@0", isr={0, 1}), follows(2, "┃ m0@0"), BLANK),
        (follows(2, "┃ m0@0", isr={0}), BLANK, BLANK),
    ],
    ids=["nothing above it", "a member lacks the record", "a member follows another broker", "it does not lead"],
)
def test_leader_does_not_raise_its_high_watermark(replicas: tuple[Replica, ...], protocol: Protocol) -> None:
    assert not enabled(partition(*replicas, isr={0}, protocol=protocol), advance_high_watermark, 0)


@protocols
def test_a_member_that_is_longer_than_the_leader_is_caught_up_to_the_leaders_end_only(protocol: Protocol) -> None:
    state = partition(follows(2, "┃ m0@0 m1@0"), BLANK, leads(2, "┃ m0@0", isr={0, 2}), protocol=protocol)
    assert [offset for offset in range(4) if caught_up(state, 2, 0, offset)] == [0, 1]


@protocols
def test_only_kip_320_does_not_count_a_member_of_another_epoch(protocol: Protocol) -> None:
    state = partition(leads(0, "┃ m0@0", epoch=1, isr={0, 1}), follows(0, "┃ m0@0"), BLANK, protocol=protocol)
    assert enabled(state, advance_high_watermark, 0) is (protocol is not KIP_320)


@protocols
def test_only_the_first_try_does_not_count_a_record_of_another_epoch(protocol: Protocol) -> None:
    state = partition(leads(0, "┃ m0@1", isr={0, 1}), follows(0, "┃ m1@0"), BLANK, protocol=protocol)
    assert enabled(state, advance_high_watermark, 0) is (protocol is not KIP_320_FIRST_TRY)


# --- the leader's ISR ---------------------------------------------------------------------------------------


def true_leader(first: Replica, second: Replica, isr: set[int], protocol: Protocol) -> Partition:
    """Broker 0 leads in epoch 1, by the quorum's word too."""
    return partition(first, second, BLANK, leader=0, epoch=1, isr=isr, requests={1: (0, ALL)}, protocol=protocol)


@protocols
@pytest.mark.parametrize(
    "lagging",
    [follows(0, "m0@0 ┃", epoch=1), follows(2, "m0@0 m1@1 ┃", epoch=1), BLANK],
    ids=["shorter", "follows another broker", "knows of no leader"],
)
def test_true_leader_removes_a_lagging_member(lagging: Replica, protocol: Protocol) -> None:
    state = true_leader(leads(0, "m0@0 ┃ m1@1", epoch=1, isr={0, 1}), lagging, {0, 1}, protocol)
    assert after(state, leader_shrinks_isr, 0, 1) == attrs.evolve(
        state.with_replica(0, leads(0, "m0@0 ┃ m1@1", epoch=1, isr={0})), quorum=Quorum(0, 1, frozenset({0}))
    )


@protocols
@pytest.mark.parametrize(
    ("second", "isr", "member"),
    [
        (follows(0, "m0@0 ┃", epoch=1), {0, 1}, 1),
        (follows(0, "m0@0 ┃ m1@1", epoch=1), {0, 1}, 1),
        (BLANK, {0}, 1),
        (BLANK, {0, 1}, 0),
    ],
    ids=["caught up", "longer", "not a member", "the leader itself"],
)
def test_true_leader_does_not_remove(second: Replica, isr: set[int], member: int, protocol: Protocol) -> None:
    state = true_leader(leads(0, "m0@0 ┃", epoch=1, isr=isr), second, isr, protocol)
    assert not enabled(state, leader_shrinks_isr, 0, member)


@protocols
def test_leader_with_an_empty_log_removes_who_does_not_follow_it(protocol: Protocol) -> None:
    leader = leads(0, "┃", epoch=1, isr={0, 1})
    assert enabled(true_leader(leader, BLANK, {0, 1}, protocol), leader_shrinks_isr, 0, 1)
    assert not enabled(true_leader(leader, follows(0, "┃", epoch=1), {0, 1}, protocol), leader_shrinks_isr, 0, 1)


@protocols
def test_only_kip_320_removes_a_member_of_another_epoch(protocol: Protocol) -> None:
    state = true_leader(leads(0, "m0@0 ┃", epoch=1, isr={0, 1}), follows(0, "m0@0 ┃"), {0, 1}, protocol)
    assert enabled(state, leader_shrinks_isr, 0, 1) is (protocol is KIP_320)


@protocols
def test_only_the_first_try_removes_a_member_with_a_record_of_another_epoch(protocol: Protocol) -> None:
    state = true_leader(leads(0, "┃ m0@1", epoch=1, isr={0, 1}), follows(0, "┃ m1@0", epoch=1), {0, 1}, protocol)
    assert enabled(state, leader_shrinks_isr, 0, 1) is (protocol is KIP_320_FIRST_TRY)


@protocols
def test_true_leader_adds_a_broker_that_reached_its_high_watermark(protocol: Protocol) -> None:
    state = true_leader(leads(0, "m0@0 ┃ m1@1", epoch=1, isr={0}), follows(0, "┃ m0@0", epoch=1), {0}, protocol)
    assert after(state, leader_expands_isr, 0, 1) == attrs.evolve(
        state.with_replica(0, leads(0, "m0@0 ┃ m1@1", epoch=1, isr={0, 1})), quorum=Quorum(0, 1, frozenset({0, 1}))
    )


@protocols
@pytest.mark.parametrize(
    ("second", "isr"),
    [
        (follows(0, "┃", epoch=1), {0}),
        (follows(2, "m0@0 ┃", epoch=1), {0}),
        (BLANK, {0}),
        (follows(0, "m0@0 ┃", epoch=1), {0, 1}),
    ],
    ids=["lacks a committed record", "follows another broker", "knows of no leader", "is a member"],
)
def test_true_leader_does_not_add(second: Replica, isr: set[int], protocol: Protocol) -> None:
    state = true_leader(leads(0, "m0@0 ┃", epoch=1, isr=isr), second, isr, protocol)
    assert not enabled(state, leader_expands_isr, 0, 1)


@protocols
def test_only_kip_320_does_not_add_a_broker_of_another_epoch(protocol: Protocol) -> None:
    state = true_leader(leads(0, "m0@0 ┃", epoch=1, isr={0}), follows(0, "m0@0 ┃"), {0}, protocol)
    assert enabled(state, leader_expands_isr, 0, 1) is (protocol is not KIP_320)


@protocols
def test_only_the_first_try_does_not_add_a_broker_with_a_record_of_another_epoch(protocol: Protocol) -> None:
    state = true_leader(leads(0, "m0@1 ┃", epoch=1, isr={0}), follows(0, "m1@0 ┃", epoch=1), {0}, protocol)
    assert enabled(state, leader_expands_isr, 0, 1) is (protocol is not KIP_320_FIRST_TRY)


@pytest.mark.parametrize(
    ("drawn", "reached"),
    [("m0@0 ┃", True), ("m0@0 ┃ m1@1", True), ("m0@0 ┃ m1@0 m2@1", False), ("┃", True)],
    ids=["at the log end", "at a record of the own epoch", "at a record of an earlier epoch", "empty log"],
)
@protocols
def test_since_kip_320_the_high_watermark_must_have_reached_the_leaders_epoch(
    drawn: str, reached: bool, protocol: Protocol
) -> None:
    joining = follows(0, "m0@0 ┃" if "m0" in drawn else "┃", epoch=1)
    state = true_leader(leads(0, drawn, epoch=1, isr={0}), joining, {0}, protocol)
    assert enabled(state, leader_expands_isr, 0, 1) is (reached or protocol in OLDER)


@protocols
@pytest.mark.parametrize(
    ("leader", "quorum"),
    [
        (leads(0, "m0@0 ┃", epoch=1, isr={0, 2}), (2, 2)),
        (leads(0, "m0@0 ┃", epoch=1, isr={0, 2}), (2, 1)),
        (leads(0, "m0@0 ┃", epoch=1, isr={0, 2}), (None, 2)),
        (leads(0, "m0@0 ┃", epoch=1, isr={0, 2}), (0, 2)),
        (follows(2, "m0@0 ┃", epoch=1, isr={0, 2}), (0, 1)),
    ],
    ids=["another one leads", "in the same epoch", "nobody leads", "it leads in a later epoch", "it has not heard"],
)
def test_only_the_true_leader_writes_the_isr(
    leader: Replica, quorum: tuple[int | None, int], protocol: Protocol
) -> None:
    state = true_leader(leader, follows(0, "m0@0 ┃", epoch=1), {0, 2}, protocol)
    state = attrs.evolve(state, quorum=Quorum(*quorum, state.quorum.isr))
    assert not enabled(state, leader_shrinks_isr, 0, 2)
    assert not enabled(state, leader_expands_isr, 0, 1)


@protocols
def test_true_leader_of_the_same_state_does_write_the_isr(protocol: Protocol) -> None:
    state = true_leader(leads(0, "m0@0 ┃", epoch=1, isr={0, 2}), follows(0, "m0@0 ┃", epoch=1), {0, 2}, protocol)
    assert enabled(state, leader_shrinks_isr, 0, 2)
    assert enabled(state, leader_expands_isr, 0, 1)


# --- all of them --------------------------------------------------------------------------------------------


def test_in_the_initial_state_only_the_controller_acts() -> None:
    state = partition(BLANK, BLANK, BLANK, isr=ALL)
    assert state.quorum.epoch == NO_EPOCH
    names = {
        instance.action.name
        for action in ACTIONS
        for instance in action.instances(ROOMY)
        if list(instance.successors(state))
    }
    assert names == {"controller_elects", "controller_shrinks_isr"}


@protocols
def test_brokers_do_nothing_to_themselves(protocol: Protocol) -> None:
    """A leader does not fetch from itself, does not truncate, and does not leave or join its own ISR."""
    state = true_leader(leads(0, "m0@0 ┃ m1@1", epoch=1, isr=ALL), BLANK, ALL, protocol)
    for action in (replicate, truncate, leader_shrinks_isr, leader_expands_isr):
        assert not enabled(state, action, 0, 0)


def test_hand_made_logs_are_what_they_are_drawn_as() -> None:
    made = replica("m0@0 ┃ m12@3", epoch=3, leader=1, isr={1})
    assert made == Replica(log("m0@0 m12@3"), high_watermark=1, epoch=3, leader=1, isr=frozenset({1}))
    assert made.log.drawn(made.high_watermark) == "m0@0 ┃ m12@3"
    assert partition(made).next_value == 13


def test_only_a_follower_has_to_truncate() -> None:
    state = partition(leads(0, "┃"), follows(0, "┃ m0@0"), replica("┃ m0@0"), protocol=KIP_320_FIRST_TRY)
    assert [broker for broker in range(3) if state.has_to_truncate(broker)] == [1]


# --- how a state is drawn -----------------------------------------------------------------------------------


def test_a_drawing_has_the_controller_the_brokers_and_the_requests_that_somebody_has_to_hear() -> None:
    state = partition(
        leads(0, "m0@0 ┃ m1@0", isr={0, 1}),
        follows(0, "┃ m0@0", isr={0, 1}),
        BLANK,
        leader=0,
        epoch=1,
        isr={0},
        requests={0: (0, {0, 1}), 1: (0, {0}), 2: (None, {0})},
    )
    assert {name: row.columns for name, row in DRAWING.rows(state).items()} == {
        "controller": {"role": "leader: 0", "epoch": "1", "ISR": "0"},
        "producers": {},
        "broker 0": {"role": "leads", "epoch": "0", "ISR": "0 1", "log": "m0@0 ┃ m1@0", "HW": "1", "LEO": "2"},
        "broker 1": {"role": "follows 0", "epoch": "0", "ISR": "0 1", "log": "┃ m0@0", "HW": "0", "LEO": "1"},
        "broker 2": {"role": "-", "epoch": "-", "ISR": "-", "log": "┃", "HW": "0", "LEO": "0"},
    }
    assert [(message.target, message.whole) for message in DRAWING.messages(state)] == [
        ("broker 2", "LeaderAndIsr, epoch 0 (leader 0, ISR 0 1)"),
        *((f"broker {broker}", "LeaderAndIsr, epoch 1 (leader 0, ISR 0)") for broker in range(3)),
    ]
    assert [state.still_to_hear(epoch) for epoch in epochs(ROOMY)] == [{2}, ALL, set(), set()]
    assert DRAWING.rows(partition(BLANK))["controller"].columns == {"role": "no leader", "epoch": "-", "ISR": "-"}
