"""How each action appears on real brokers: the operations that cause it, and the frames that belong to it.

A driver that replays a trace holds the requests of controllers, and the notifications that ZooKeeper sends to
controllers. For each step, it performs the listed operations and releases the listed frames. The brokers replicate by
themselves.
"""

from __future__ import annotations

import enum

import attrs

from leadline.model.control.protocols import Protocol
from leadline.model.kafka.wire import FrameKind

ZOOKEEPER = "zookeeper"
"""ZooKeeper as the sender or receiver of a frame."""


class Operation(enum.Enum):
    """An operation by which a driver causes a step."""

    DELETE_NODE = "an operator deletes /controller"
    KILL = "the process is killed (SIGKILL), and its session is closed"
    START = "the process is started, and registers"
    END_SESSION = "the session is closed in ZooKeeper, and what the broker sends to ZooKeeper is held"
    RESUME_SESSION = "what the broker sends to ZooKeeper goes on: it gets a new session, and registers"


@attrs.frozen(kw_only=True)
class OnTheWire:
    """How an action appears on real brokers.

    Attributes:
        does: the operations that the driver performs, in this order.
        passes: the held frames that the driver then releases.
        holds: the requests to ZooKeeper that the driver holds from then on, because they belong to later steps.
        alone: whether brokers perform the action by themselves, without the driver.
        unmade: the reason why a driver cannot execute the step, or an empty string if it can.
    """

    does: tuple[Operation, ...] = ()
    passes: tuple[FrameKind, ...] = ()
    holds: tuple[FrameKind, ...] = ()
    alone: bool = False
    unmade: str = ""


_TOLD = FrameKind("watch", False, ZOOKEEPER, "controller")
_LEADER_AND_ISR = FrameKind("LeaderAndIsr", True, "controller", "broker")
_WRITES_EPOCH = FrameKind("setData", True, "controller", ZOOKEEPER)
_READS_STATE = FrameKind("getData", True, "controller", ZOOKEEPER)

_ALONE = OnTheWire(alone=True)
_WITH_RECORDS = OnTheWire(unmade="the driver of controllers does not hold back replication, which records need")
_ISR = OnTheWire(unmade="the driver of controllers does not hold back what leaders write to ZooKeeper")
_REASSIGNS = OnTheWire(unmade="the driver does not change the replicas of a partition")
_SHUTS_DOWN = OnTheWire(unmade="the driver of controllers kills brokers, and does not shut them down")
_KRAFT = OnTheWire(unmade="the driver of controllers starts one KRaft controller, which has no successor")

ON_THE_WIRE: dict[str, OnTheWire] = {
    "produce": _WITH_RECORDS,
    "handle_fetch": _ALONE,
    "park_fetch": _ALONE,
    "readmit": _ISR,
    "handle_fetch_response": _ALONE,
    "handle_epoch_request": _ALONE,
    "handle_epoch_response": _ALONE,
    "deliver": OnTheWire(passes=(_LEADER_AND_ISR,)),
    "learn_before_truncating": _WITH_RECORDS,
    "shrink_isr": _ISR,
    "hear_of_isr": _ISR,
    "handle_alter_partition": _ISR,
    "hear_answer": _ISR,
    "hear_old_answer": _ISR,
    "fence": _KRAFT,
    "admit": _KRAFT,
    "commit": _KRAFT,
    "apply_record": _KRAFT,
    "read_brokers": OnTheWire(passes=(_TOLD,), holds=(_READS_STATE,)),
    "act_on_brokers": OnTheWire(passes=(_READS_STATE,)),
    "become_controller": OnTheWire(passes=(_TOLD,), holds=(_WRITES_EPOCH,)),
    "start": OnTheWire(passes=(_WRITES_EPOCH,)),
    "adopt_epoch": OnTheWire(unmade="no release that brokers can run does it"),
    "resign": _ALONE,
    "elect_preferred": OnTheWire(unmade="the driver does not ask controllers for elections"),
    "add_replicas": _REASSIGNS,
    "complete": _REASSIGNS,
    "remove_replicas": _REASSIGNS,
    "write_replicas": _REASSIGNS,
    "restart": OnTheWire(does=(Operation.START,)),
    "register": OnTheWire(does=(Operation.RESUME_SESSION,)),
    "reassign": _REASSIGNS,
    "cancel": _REASSIGNS,
    "override": _REASSIGNS,
    "begin_shutdown": _SHUTS_DOWN,
    "ask_to_stop": _SHUTS_DOWN,
    "handle_shutdown": _SHUTS_DOWN,
    "stop": _SHUTS_DOWN,
    "deliver_unanswered": OnTheWire(unmade="the driver does not break the connections of controllers"),
    "lose_election": OnTheWire(unmade="the driver does not break the connections of controllers to ZooKeeper"),
    "controller_session_expires": OnTheWire(does=(Operation.DELETE_NODE,)),
    "controller_dies": OnTheWire(does=(Operation.KILL,)),
    "metadata_rolls_back": _KRAFT,
    "halt": _KRAFT,
    "broker_session_expires": OnTheWire(does=(Operation.END_SESSION,)),
    "broker_dies": OnTheWire(does=(Operation.KILL,)),
    "broker_loses_tail": _WITH_RECORDS,
}
"""How each action appears, by the name of the action."""


def on_the_wire(action: str, protocol: Protocol) -> OnTheWire:
    """Return how an action appears on the brokers of a release.

    Parameters:
        action: the name of the action.
        protocol: the rules of the release. If a controller raises its epoch in the step that elects it, the driver need
            not hold a later request for the epoch.

    Raises:
        KeyError: if there is no action with this name.
    """
    found = ON_THE_WIRE[action]
    if action == "become_controller" and protocol.elects_at_once_with_epoch:
        return attrs.evolve(found, holds=())
    return found
