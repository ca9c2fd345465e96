"""How each action appears on real brokers: the frames that belong to it, and the operations that make it happen.

A driver that replays a trace holds all replication traffic. For each step, it releases the listed frames, performs the
listed operations, and waits until it holds the frames that the step produces. The declarations also work in the
opposite direction: a recording of the frames shows which steps were executed.

Sources: the frames are the requests in Apache Kafka's `clients/src/main/resources/common/message`.
"""

from __future__ import annotations

import enum

import attrs

from leadline.model.kafka.protocols import Protocol
from leadline.model.kafka.releases import KRAFT, ZOOKEEPER

CONTROLLER = "controller"
"""The controller as the sender or receiver of a frame: a broker elected with ZooKeeper, or the KRaft node."""


class Operation(enum.Enum):
    """An operation that makes a step happen, such as killing a process, or sending a request as a client."""

    PRODUCE = "a client produces a record"
    KILL = "the process is killed (SIGKILL), and its connections with it"
    CUT_LOG = "the log is cut at a batch boundary, as after a power failure"
    SET_CHECKPOINT = "the high watermark checkpoint is set to the value of the step, which may be older"
    START = "the process is started, and registers"
    TERMINATE = "the process is asked to stop (SIGTERM)"
    WAIT_FOR_EXIT = "the process ends"
    END_SESSION = "the broker's session ends: closed in ZooKeeper, or ended by fencing in KRaft"
    HOLD_SESSION = "what the broker sends to renew its session is held"
    RESUME_SESSION = "what the broker sends to renew its session goes on"
    WAIT_FOR_LAG = "the leader finds that a follower lags, after replica.lag.time.max.ms"
    ELECT_PREFERRED = "an operator asks for the election of the preferred leader"
    ELECT_UNCLEANLY = "an operator asks for an unclean election"
    REASSIGN = "an operator asks for a reassignment"
    CANCEL = "an operator cancels the reassignment"
    RAISE_MIN_ISR = "an operator increases min.insync.replicas of the topic"
    REMOVE_DIRECTORY = "the log directory of the replica is removed from log.dirs"
    REPLACE_DIRECTORY = "the log directory of the replica is emptied, as after the replacement of a disk"
    MOVE_CONTROLLER = "the controller ends, and one of the wanted release takes its place"
    CHANGE_FEATURE = "an operator changes metadata.version or a feature (kafka-features.sh)"


@attrs.frozen
class FrameKind:
    """A kind of frame between two processes.

    Attributes:
        api: the name of the request in Kafka's definitions, such as ``Fetch``.
        request: True if the frame is the request, False if it is the response.
        source, target: the sender and the receiver. Each is the name of a parameter of the action, or ``leader`` for
            the leader of the action's follower, or `CONTROLLER`.
    """

    api: str
    request: bool
    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.api} {'request' if self.request else 'response'} from {self.source} to {self.target}"


@attrs.frozen(kw_only=True)
class OnTheWire:
    """How an action appears on real brokers.

    Attributes:
        passes: the held frames that the driver, which replays a trace, releases first, in this order.
        does: the operations that the driver then performs, in this order.
        leaves: the frames that are held after the step, and that identify the step. A frame can be missing if its
            receiver is down. All other effects of the step are visible on disks and at the controller.
        loses: whether the step may remove the broker's messages in flight. The driver then closes their connections.
        within: the actions that real brokers execute together with this action, as one step. The step must directly
            follow a step of one of them. Empty if the action is a separate step on real brokers.
        before: the action that must directly follow the step, because the state between the two cannot be observed.
        unmade: the reason why a driver cannot execute the step, or an empty string if it can.
    """

    passes: tuple[FrameKind, ...] = ()
    does: tuple[Operation, ...] = ()
    leaves: tuple[FrameKind, ...] = ()
    loses: bool = False
    within: tuple[str, ...] = ()
    before: str = ""
    unmade: str = ""


_FETCH = FrameKind("Fetch", True, "follower", "leader")
_FETCHED = FrameKind("Fetch", False, "leader", "follower")
_ASK_EPOCH = FrameKind("OffsetForLeaderEpoch", True, "follower", "leader")
_EPOCH = FrameKind("OffsetForLeaderEpoch", False, "leader", "follower")
_LEADER_AND_ISR = FrameKind("LeaderAndIsr", True, CONTROLLER, "broker")
_METADATA = FrameKind("Fetch", False, CONTROLLER, "broker")
_PROPOSE = FrameKind("AlterPartition", True, "leader", CONTROLLER)
_PROPOSED = FrameKind("AlterPartition", False, CONTROLLER, "leader")
_SHUT_DOWN = FrameKind("ControlledShutdown", False, CONTROLLER, "broker")
_SHUT_DOWN_NOW = FrameKind("BrokerHeartbeat", False, CONTROLLER, "broker")
_ASSIGN = FrameKind("AssignReplicasToDirs", True, "broker", CONTROLLER)

_EXITS = OnTheWire(
    passes=(_FETCHED, attrs.evolve(_SHUT_DOWN, target="follower")),
    does=(Operation.WAIT_FOR_EXIT,),
)
"""A follower that exits when it handles a fetch response (KAFKA-3410). The exit begins with a controlled shutdown."""

_READS_METADATA = OnTheWire(passes=(attrs.evolve(_METADATA, target="leader"),))
"""A leader that applies a part of KRaft's metadata log. It learns the ISR from it, if not from the response to its own
request."""

_NOTICED = (
    *("controller_notices_failure", "session_expires", "session_resumes", "restart", "restart_as"),
    *("begin_shutdown", "stop"),
)
"""The actions that may include an immediate election by the controller."""

_LEARNS = {
    ZOOKEEPER: OnTheWire(passes=(_LEADER_AND_ISR,), loses=True),
    KRAFT: OnTheWire(passes=(_METADATA,), loses=True),
}
_LATE = "a request that outlives its connection is handled inside the leader, at a moment that no frame shows"
_STARTS = "the driver does not delete records"

ON_THE_WIRE: dict[str, OnTheWire | dict[str, OnTheWire]] = {
    "produce": OnTheWire(does=(Operation.PRODUCE,)),
    "handle_fetch": OnTheWire(passes=(_FETCH,), leaves=(_FETCHED,)),
    "park_fetch": OnTheWire(passes=(_FETCH, _FETCHED), leaves=(_FETCH,)),
    "handle_fetch_response": OnTheWire(passes=(_FETCHED,), leaves=(_FETCH,)),
    "learn_before_truncating": OnTheWire(before="handle_fetch_response"),
    "handle_epoch_request": OnTheWire(passes=(_ASK_EPOCH,), leaves=(_EPOCH,)),
    "handle_epoch_response": OnTheWire(passes=(_EPOCH,), leaves=(_FETCH,)),
    "become_leader": _LEARNS,
    "become_follower": _LEARNS,
    "shrink_isr": OnTheWire(does=(Operation.WAIT_FOR_LAG,), leaves=(_PROPOSE,)),
    "falls_behind": OnTheWire(unmade="the driver does not know for which followers a leader waits (KAFKA-4485)"),
    "handle_alter_partition": OnTheWire(passes=(_PROPOSE,), leaves=(_PROPOSED,)),
    "hear_isr": OnTheWire(passes=(_PROPOSED,)),
    "controller_notices_failure": OnTheWire(does=(Operation.END_SESSION,)),
    "controller_elects": OnTheWire(does=(Operation.ELECT_PREFERRED,)),
    "controller_elects_uncleanly": OnTheWire(within=_NOTICED),
    "operator_elects_uncleanly": OnTheWire(does=(Operation.ELECT_UNCLEANLY,)),
    "restart": OnTheWire(does=(Operation.START,)),
    "restart_as": OnTheWire(does=(Operation.START,)),
    "controller_becomes": OnTheWire(does=(Operation.MOVE_CONTROLLER,)),
    "change_level": OnTheWire(does=(Operation.CHANGE_FEATURE,)),
    "apply_level": OnTheWire(passes=(_METADATA,)),
    "session_expires": OnTheWire(does=(Operation.HOLD_SESSION, Operation.END_SESSION)),
    "session_resumes": OnTheWire(does=(Operation.RESUME_SESSION,)),
    "begin_shutdown": {
        ZOOKEEPER: OnTheWire(does=(Operation.TERMINATE,), leaves=(_SHUT_DOWN,)),
        KRAFT: OnTheWire(does=(Operation.TERMINATE,)),
    },
    "stop": {
        ZOOKEEPER: OnTheWire(does=(Operation.WAIT_FOR_EXIT,), passes=(_SHUT_DOWN,)),
        KRAFT: OnTheWire(passes=(_SHUT_DOWN_NOW,), does=(Operation.WAIT_FOR_EXIT,)),
    },
    "truncate_late": OnTheWire(
        unmade="a broker becomes leader while its fetcher handles a response, which no frame shows"
    ),
    "hear_old_answer": OnTheWire(unmade="the driver gives a leader its answers before it begins another epoch"),
    "update_min_insync_replicas": OnTheWire(unmade="in the model, the setting has the same value before and after"),
    "raise_min_insync_replicas": OnTheWire(does=(Operation.RAISE_MIN_ISR,)),
    "apply_setting": OnTheWire(passes=(_METADATA,)),
    "apply_record": _READS_METADATA,
    "delete_replica": OnTheWire(passes=(_METADATA,), loses=True),
    "reassign": OnTheWire(does=(Operation.REASSIGN,)),
    "cancel_reassignment": OnTheWire(does=(Operation.CANCEL,)),
    "directory_fails": OnTheWire(unmade="the driver makes no disk fail"),
    "directory_removed": OnTheWire(does=(Operation.REMOVE_DIRECTORY,)),
    "directory_replaced": OnTheWire(does=(Operation.REPLACE_DIRECTORY,)),
    "assign_directory": OnTheWire(passes=(_ASSIGN,)),
    "delete_records": OnTheWire(unmade=_STARTS),
    "answer_deletion": OnTheWire(unmade=_STARTS),
    "retain": OnTheWire(unmade=_STARTS),
    "handle_offsets_request": OnTheWire(unmade=_STARTS),
    "handle_offsets_response": OnTheWire(unmade=_STARTS),
    "read_start_again": OnTheWire(
        unmade="a leader reads its log twice while it handles a request, which no frame shows"
    ),
    "delay_fetch": OnTheWire(unmade=_LATE),
    "handle_late_fetch": OnTheWire(unmade=_LATE),
    "crash": OnTheWire(does=(Operation.KILL, Operation.SET_CHECKPOINT), loses=True),
    "crash_after_append": OnTheWire(passes=(_FETCHED,), does=(Operation.KILL, Operation.SET_CHECKPOINT), loses=True),
    "crash_losing_tail": OnTheWire(does=(Operation.KILL, Operation.CUT_LOG, Operation.SET_CHECKPOINT), loses=True),
}
"""How each action appears, by the name of the action, and by the kind of controller if the kinds differ."""


def on_the_wire(
    action: str, controller: str, protocol: Protocol, *, exits: bool = False, answers: bool = True
) -> OnTheWire:
    """Return how an action appears on the brokers of a release.

    Parameters:
        action: the name of the action.
        controller: the kind of controller, `ZOOKEEPER` or `KRAFT`.
        protocol: the rules of the release. Without `AlterPartition` requests, a change of the ISR is visible only at
            the controller.
        exits: whether the broker that handles a fetch response exits.
        answers: whether a leader that learns the ISR receives the response to its request.

    Raises:
        KeyError: if there is no action with this name.
    """
    known = ON_THE_WIRE[action]
    found = known if isinstance(known, OnTheWire) else known[controller]
    if exits and action == "handle_fetch_response":
        return _EXITS
    if not answers and action == "hear_isr" and controller == KRAFT:
        return _READS_METADATA
    if protocol.in_flight:
        return found
    return attrs.evolve(found, leaves=tuple(kind for kind in found.leaves if kind.api != "AlterPartition"))
