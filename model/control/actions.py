"""The actions of the `control` family. The rules of a protocol determine which of them are possible."""

from __future__ import annotations

from typing import Any

from leadline.checker.action import Action
from leadline.model.control import metadata_log as log
from leadline.model.control.alter_partition import handle_alter_partition, hear_answer
from leadline.model.control.controller import (
    act_on_brokers,
    adopt_epoch,
    become_controller,
    elect_preferred,
    hear_of_isr,
    lose_election,
    read_brokers,
    resign,
    start,
)
from leadline.model.control.delivery import deliver, deliver_unanswered
from leadline.model.control.failures import (
    broker_dies,
    broker_loses_tail,
    broker_session_expires,
    controller_dies,
    controller_session_expires,
    handle_fetch_response,
    readmit,
    register,
    restart,
    shrink_isr,
)
from leadline.model.control.protocols import Protocol
from leadline.model.control.reassignment import (
    add_replicas,
    cancel,
    complete,
    override,
    reassign,
    remove_replicas,
    write_replicas,
)
from leadline.model.control.rollback import halt, metadata_rolls_back
from leadline.model.control.shutdown import ask_to_stop, begin_shutdown, handle_shutdown, stop
from leadline.model.kafka import fetch, isr, truncation
from leadline.model.kafka.produce import produce
from leadline.model.kafka.protocols import nothing

handle_fetch, park_fetch = fetch.handle_fetch, fetch.park_fetch
handle_epoch_request, handle_epoch_response = truncation.handle_epoch_request, truncation.handle_epoch_response
hear_old_answer, learn_before_truncating = isr.hear_old_answer, fetch.learn_before_truncating

ACTIONS: tuple[Action[Any, ...], ...] = (
    produce,
    handle_fetch,
    park_fetch,
    readmit,
    handle_fetch_response,
    learn_before_truncating,
    handle_epoch_request,
    handle_epoch_response,
    deliver,
    log.apply_record,
    shrink_isr,
    handle_alter_partition,
    hear_answer,
    hear_old_answer,
    log.commit,
    log.admit,
    log.fence,
    hear_of_isr,
    read_brokers,
    act_on_brokers,
    become_controller,
    start,
    adopt_epoch,
    resign,
    ask_to_stop,
    handle_shutdown,
    stop,
    add_replicas,
    complete,
    remove_replicas,
    write_replicas,
    halt,
    restart,
    register,
    reassign,
    cancel,
    override,
    begin_shutdown,
    elect_preferred,
    deliver_unanswered,
    lose_election,
    controller_session_expires,
    controller_dies,
    metadata_rolls_back,
    broker_session_expires,
    broker_dies,
    broker_loses_tail,
)


ZOOKEEPER = frozenset(
    {
        deliver,
        hear_of_isr,
        read_brokers,
        act_on_brokers,
        start,
        adopt_epoch,
        add_replicas,
        complete,
        remove_replicas,
        write_replicas,
        register,
        reassign,
        cancel,
        override,
        begin_shutdown,
        ask_to_stop,
        handle_shutdown,
        stop,
        deliver_unanswered,
        lose_election,
    }
)
"""The actions that are possible with ZooKeeper only."""


def actions_of(protocol: Protocol) -> tuple[Action[Any, ...], ...]:
    """Return the actions that are possible under the rules of a protocol."""
    asks = protocol.asks_about is not nothing
    by_log = protocol.keeps_log
    possible = {
        handle_epoch_request: asks,
        handle_epoch_response: asks,
        learn_before_truncating: protocol.learns_before_truncating,
        handle_alter_partition: protocol.in_flight,
        hear_answer: protocol.in_flight and not by_log,
        hear_old_answer: protocol.drops_newer_proposals,
        hear_of_isr: not protocol.in_flight,
        start: not protocol.elects_at_once_with_epoch,
        adopt_epoch: protocol.adopts,
        cancel: protocol.reassigns_by == "assignment",
        override: protocol.reassigns_by == "assignment",
        log.apply_record: by_log,
        log.commit: by_log,
        log.admit: by_log,
        log.fence: by_log,
        metadata_rolls_back: by_log,
        halt: by_log,
    }
    found = [action for action in ACTIONS if possible.get(action, True)]
    return tuple(action for action in found if not by_log or action not in ZOOKEEPER)
