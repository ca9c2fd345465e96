"""The actions of the `txn` family. The rules of a protocol determine which of them are possible.

Some actions are fair, because they always happen eventually in a running cluster. Brokers handle requests while the
producer waits, the coordinator writes markers and aborts transactions after their time-out, and followers replicate. A
producer need not do anything, a late request need not arrive, and no failure has to happen.
"""

from __future__ import annotations

from typing import Any

from leadline.checker.action import Action
from leadline.model.txn.consume import advance_high_watermark
from leadline.model.txn.coordinator import complete, write_marker
from leadline.model.txn.delivery import (
    coordinator_handles,
    late_add,
    late_end,
    late_init,
    late_marker,
    late_record,
    late_verification,
    leader_appends,
    leader_verifies,
    lose_response,
)
from leadline.model.txn.failures import elect_uncleanly, expire, fail_over
from leadline.model.txn.group import materialise
from leadline.model.txn.producer import add_partition, end, give_up, initialise, produce, retry
from leadline.model.txn.protocols import Protocol
from leadline.model.txn.state import Transactions

TransactionsAction = Action[Transactions, ...]

ACTIONS: tuple[TransactionsAction, ...] = (
    initialise,
    add_partition,
    produce,
    end,
    coordinator_handles,
    leader_verifies,
    leader_appends,
    write_marker,
    complete,
    materialise,
    advance_high_watermark,
    retry,
    give_up,
    lose_response,
    late_init,
    late_add,
    late_verification,
    late_record,
    late_end,
    late_marker,
    expire,
    fail_over,
    elect_uncleanly,
)


def actions_of(protocol: Protocol) -> tuple[TransactionsAction, ...]:
    """Return the actions that are possible under the rules of a protocol."""
    left_out: list[Action[Any, ...]] = []
    if not protocol.verifies:
        left_out += [leader_verifies, late_verification]
    if protocol.bumps:
        left_out += [add_partition, late_add]
    return tuple(action for action in ACTIONS if action not in left_out)
