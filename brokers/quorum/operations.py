"""How Kafka's classes execute the steps of the `quorum` family: the commands for each action, if it has any."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from leadline.brokers.driver.waiting import StepFailed
from leadline.brokers.quorum.process import Controllers
from leadline.checker.action import ActionInstance
from leadline.model.raft.state import DEAD, FOLLOWER, LEADER, UNATTACHED, Node, Quorum

_FIELDS = re.compile(
    r"(errorCode|\w*[eE]poch|leaderId|voteGranted|preVote|lastOffset|fetchOffset|endOffset|highWatermark)=(-?\d+|true|false)"
)

FETCH_SNAPSHOT = "FETCH_SNAPSHOT"
VOTE, BEGIN, END, FETCH = "VOTE", "BEGIN_QUORUM_EPOCH", "END_QUORUM_EPOCH", "FETCH"

REQUESTS: Mapping[str, str] = {"ask_vote": VOTE, "begin_epoch": BEGIN, "end_epoch": END, "fetch": FETCH}
"""The requests that actions deliver, keyed by the name of the action."""

ROLE_TIMERS = ("electionTimer", "fetchTimer", "backoffTimer")
CHECK_TIMERS = ("checkQuorumTimer",)

SENTENCES: Mapping[str, str] = {
    "ask_vote": "deliver the held Vote request and its response",
    "begin_epoch": "deliver the held BeginQuorumEpoch request and its response",
    "end_epoch": "deliver the held EndQuorumEpoch request and its response",
    "fetch": "deliver the held Fetch request and its response",
    "time_out": "let the timer of the node's role expire",
    "time_out_early": "let the timer of the node's role expire",
    "check_quorum": "let the timer expire with which the leader checks its quorum",
    "start_again": "start the node",
    "append": "append a record",
    "take_snapshot": "take a snapshot",
    "delete_segments": "delete the segments before a snapshot",
    "resign": "call resign",
    "restart": "stop the node, and start it",
    "replace_disk": "stop the node, remove its files, and start it",
    "cut_log": "stop the node, cut its log, and start it",
    "lose_file": "stop the node, make quorum-state unreadable, and start it",
    "change_configuration": "stop the node, and start it with other voters",
    "change_voters": "ask the leader to add or remove the voter",
    "leave": "the leader resigns when the change is committed",
    "die": "stop the node",
    "cut_link": "deliver no message in this direction from here on",
    "restore_link": "deliver messages in this direction again",
}
"""What is done for each action that can be executed, keyed by its name."""

LOSSES = ("replace_disk", "cut_log", "lose_file")
"""The actions of nodes that lose something."""

UNMADE: Mapping[str, str] = {
    "flush": "Kafka's classes flush by themselves",
    "lose_power": "what was not flushed is not known",
}
"""Why actions cannot be executed, keyed by their names."""


STARTS = ("restart", "start_again", "change_configuration", *LOSSES)
"""The actions with which a node starts again."""


def not_shown(name: str, before: Node, after: Node) -> str:
    """Return why Kafka's classes do not show what a step makes of a node, or an empty string."""
    if after.start > after.snapshot:
        return "segments that are deleted because of their age are not made old"
    if name in STARTS and before.start:
        return "a segment has more than one record, and a log starts with a whole one after a restart"
    return ""


def start_all(nodes: Controllers, state: Quorum) -> None:
    """Start all nodes for the first time."""
    for number in range(state.bounds.nodes):
        _start_one(nodes, number, state)


def _start_one(nodes: Controllers, number: int, state: Quorum) -> str:
    """Start a node with the voters in its configuration, or the first ones with kraft.version 1."""
    bounds = state.bounds
    voters = [each for each in range(bounds.nodes - bounds.observers) if each not in state.nodes[number].unlisted]
    return nodes.start(number, voters, range(bounds.nodes) if bounds.dynamic else ())


def execute(nodes: Controllers, name: str, arguments: Mapping[str, int], before: Quorum, after: Quorum) -> list[str]:
    """Execute a step on the real nodes. Return a line for each operation.

    Parameters:
        before, after: the states of the model, which say what arrives, and what a node starts with.

    Raises:
        StepFailed: if the nodes cannot execute it.
    """
    own = arguments["own"]
    if name in REQUESTS:
        return _deliver(nodes, REQUESTS[name], own, arguments["other"], before)
    if name in ("time_out", "time_out_early"):
        nodes.ask("expire", node=own, timers=ROLE_TIMERS)
    elif name == "check_quorum":
        nodes.ask("expire", node=own, timers=CHECK_TIMERS)
    elif name == "append":
        nodes.ask("append", node=own, value=f"m{before.values}")
    elif name == "change_voters":
        other = arguments["other"]
        adds = not before.lists(own, other)
        nodes.ask("change", node=own, voter=other, directory=nodes.directory_of(other), adds=adds)
    elif name == "take_snapshot":
        end = after.nodes[own].snapshot
        nodes.ask("snapshot", node=own, end=end, epoch=after.nodes[own].epoch_before(end))
    elif name == "delete_segments":
        end = after.nodes[own].start
        nodes.ask("delete", node=own, end=end, epoch=after.nodes[own].epoch_before(end))
    elif name == "resign":
        nodes.ask("resign", node=own)
    elif name == "die":
        nodes.stop(own)
    elif name not in ("cut_link", "restore_link"):
        return _start(nodes, name, own, before, after)
    return [SENTENCES[name]]


def passing(instance: ActionInstance[Quorum], before: Quorum, after: Quorum) -> tuple[str, int] | None:
    """Return the action and the node of the next step if Kafka's classes make two at once, or None.

    A leader that was removed resigns when that is committed. Else, it is a timer that expires at once.

    The first successor does not wait when its leader has resigned (`KafkaRaftClient.endEpochElectionBackoff`), nor does
    a node that is the only voter in its configuration when it starts (`KafkaRaftClient.initialize`). Since 4.0, one
    that becomes unattached because a timer has expired inherits that timer, and is prospective at once
    (`QuorumState.transitionToUnattached`).
    """
    for number, node in enumerate(after.nodes):
        if node.role == LEADER and not after.is_voter(number) and node.changes_committed:
            return "leave", number
    resigned = instance.action.name == "end_epoch"
    own = instance.arguments["other" if resigned else "own"]
    node = after.nodes[own]
    if node.role not in (UNATTACHED, FOLLOWER) or not after.is_voter(own):
        return None
    if resigned:
        passes = node.leader == instance.arguments["own"]
    elif instance.action.name in ("time_out", "time_out_early"):
        passes = node.role == UNATTACHED and before.protocol.pre_votes
    else:
        passes = node.restarted and len(after.voters(own)) == 1
    return ("time_out", own) if passes else None


def _deliver(nodes: Controllers, api: str, own: int, other: int, state: Quorum) -> list[str]:
    if api == BEGIN and nodes.observed()[own]["sent"].get(str(other)) != BEGIN:
        nodes.ask("announce", node=own)
    did, tells = list[str](), state.arrives(other, own)
    while not did or nodes.observed()[own]["sent"].get(str(other)) == FETCH_SNAPSHOT:
        api = FETCH_SNAPSHOT if did else api
        found = nodes.ask("deliver", node=own, to=other, api=api, answered=tells)
        did += [f"delivered: {api} with {_shown(found['request'])}"]
        did += [f"the response: {_shown(found['response']) or 'none'}"]
    return did


def _shown(message: str) -> str:
    """Return the fields of a request or response that decide something, and that are set."""
    return ", ".join(f"{name} {value}" for name, value in _FIELDS.findall(message) if value != "-1")


def _start(nodes: Controllers, name: str, own: int, before: Quorum, after: Quorum) -> list[str]:
    changed: dict[str, Callable[[], None]] = {
        "replace_disk": lambda: nodes.replace_disk(own),
        "cut_log": lambda: nodes.cut_log(own, len(before.nodes[own].log) - 1),
        "lose_file": lambda: nodes.spoil_file(own),
    }
    nodes.stop(own)
    if name in changed:
        changed[name]()
    refused = _start_one(nodes, own, after)
    if refused and after.nodes[own].role != DEAD:
        raise StepFailed(f"node {own} does not start: {refused}")
    return [SENTENCES[name], *([f"it does not start: {refused}"] if refused else [])]
