"""The actions of the `control` family, selected by the rules of a protocol. Failures are last."""

from __future__ import annotations

from typing import Any

import attrs

from leadline.checker.action import Action
from leadline.model.control.controller import (
    act_on_brokers,
    adopt_epoch,
    become_controller,
    hear_of_isr,
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
)
from leadline.model.control.protocols import Protocol
from leadline.model.control.reassignment import (
    add_replicas,
    cancel,
    complete,
    reassign,
    remove_replicas,
    write_replicas,
)
from leadline.model.kafka import fetch, isr, truncation
from leadline.model.kafka.produce import produce
from leadline.model.kafka.protocols import nothing


def _healing(action: Action[Any, ...]) -> Action[Any, ...]:
    return attrs.evolve(action, effect="healing")


handle_fetch, park_fetch = _healing(fetch.handle_fetch), _healing(fetch.park_fetch)
handle_epoch_request = _healing(truncation.handle_epoch_request)
handle_epoch_response = _healing(truncation.handle_epoch_response)
shrink_isr = _healing(isr.shrink_isr)

ACTIONS: tuple[Action[Any, ...], ...] = (
    produce,
    handle_fetch,
    park_fetch,
    readmit,
    handle_fetch_response,
    handle_epoch_request,
    handle_epoch_response,
    deliver,
    shrink_isr,
    hear_of_isr,
    read_brokers,
    act_on_brokers,
    become_controller,
    start,
    adopt_epoch,
    resign,
    add_replicas,
    complete,
    remove_replicas,
    write_replicas,
    restart,
    register,
    reassign,
    cancel,
    deliver_unanswered,
    controller_session_expires,
    controller_dies,
    broker_session_expires,
    broker_dies,
    broker_loses_tail,
)


def actions_of(protocol: Protocol) -> tuple[Action[Any, ...], ...]:
    """Return the actions that are possible under the rules of a protocol."""
    asks = protocol.asks_about is not nothing
    possible = {
        handle_epoch_request: asks,
        handle_epoch_response: asks,
        start: not protocol.elects_at_once_with_epoch,
        adopt_epoch: protocol.adopts,
        cancel: protocol.reassigns_by == "assignment",
    }
    return tuple(action for action in ACTIONS if possible.get(action, True))
