"""What a coordinator may answer, release by release: recordings of groups that are written here, line by line."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from leadline.brokers.conformance.groups.check import check_group, column_for
from leadline.brokers.conformance.groups.reading import read_group
from leadline.brokers.conformance.not_followed import NotFollowed
from leadline.brokers.recording import plain
from leadline.checker.conformance import Answer
from tests.conformance.test_group_numbers import Altered

ILLEGAL, UNKNOWN, REBALANCE, ID_REQUIRED = 22, 25, 27, 79
SESSION, TIMEOUT = 10.0, 30.0
NEW, OLD = 7, 3
"""Versions of JoinGroup: with and without KIP-394."""


def subscription(*owned: int, generation: int = -1) -> Any:
    topic = b"\0\1t"
    parts = struct.pack(f">i{len(owned)}i", len(owned), *owned)
    claims = struct.pack(">i", bool(owned)) + (topic + parts if owned else b"")
    return plain(b"\0\2" + struct.pack(">i", 1) + topic + b"\xff\xff\xff\xff" + claims + struct.pack(">i", generation))


def assignment(*partitions: int) -> Any:
    topic = b"\0\1t" + struct.pack(f">i{len(partitions)}i", len(partitions), *partitions)
    return plain(b"\0\1" + struct.pack(">i", bool(partitions)) + (topic if partitions else b"") + b"\xff\xff\xff\xff")


class Script:
    """Writes the recording of a group. Each frame arrives a millisecond after the one before, and passes at once."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.at = 0.0

    def frame(self, api: str, who: str, body: dict[str, Any], answers: int | None = None, version: int = NEW) -> int:
        self.at += 0.001
        number = len(self.lines) + 1
        request, connection = answers is None, ord(who)
        ends = {"source": "unknown" if request else 0, "target": 0 if request else "unknown", "request": request}
        times = {"time": self.at, "arrived": self.at, "passed": self.at}
        kinds = {"event": "frame", "number": number, "api": api, "version": version, "connection": connection}
        self.lines.append({**kinds, **ends, **times, "answers": answers, "body": body})
        return number

    def ask(self, api: str, who: str, version: int = NEW, **body: Any) -> int:
        return self.frame(api, who, {"GroupId": "g", **body}, version=version)

    def tell(self, number: int, code: int = 0, **body: Any) -> None:
        request = self.lines[number - 1]
        self.frame(request["api"], chr(request["connection"]), {"ErrorCode": code, **body}, answers=number)

    def wait(self, seconds: float) -> None:
        self.at += seconds

    def note(self, event: str) -> None:
        self.lines.append({"event": event, "node": 0, "time": self.at})

    # --- the requests of a consumer -----------------------------------------------------------------------------------

    def ask_join(self, who: str, member_id: str | None = None, metadata: Any = None, version: int = NEW) -> int:
        times = {"SessionTimeoutMs": int(SESSION * 1000), "RebalanceTimeoutMs": int(TIMEOUT * 1000)}
        protocols = [{"Name": "range", "Metadata": metadata or subscription()}]
        named = who if member_id is None else member_id
        return self.ask("JoinGroup", who, version, MemberId=named, Protocols=protocols, **times)

    def tell_joined(self, number: int, generation: int, leader: str, *members: str) -> None:
        who, protocols = chr(self.lines[number - 1]["connection"]), self.lines[number - 1]["body"]["Protocols"]
        listed = [{"MemberId": each, "Metadata": protocols[0]["Metadata"]} for each in members]
        more: dict[str, Any] = {"ProtocolName": "range", "Leader": leader, "MemberId": who, "Members": listed}
        self.tell(number, GenerationId=generation, **more)

    def get_id(self, who: str) -> None:
        empty: dict[str, Any] = {"ProtocolName": None, "Leader": "", "MemberId": who, "Members": []}
        self.tell(self.ask_join(who, ""), ID_REQUIRED, GenerationId=-1, **empty)

    def ask_sync(self, who: str, generation: int, **plan: tuple[int, ...]) -> int:
        given = [{"MemberId": each, "Assignment": assignment(*own)} for each, own in plan.items()]
        return self.ask("SyncGroup", who, MemberId=who, GenerationId=generation, Assignments=given)

    def beat(self, who: str, generation: int, code: int = 0) -> None:
        self.tell(self.ask("Heartbeat", who, MemberId=who, GenerationId=generation), code)

    def commit(self, who: str, generation: int, code: int = 0) -> None:
        number = self.ask("OffsetCommit", who, MemberId=who, GenerationId=generation, Topics=[])
        self.frame("OffsetCommit", who, {"Topics": [{"Partitions": [{"ErrorCode": code}]}]}, answers=number)

    def leave(self, who: str, *members: str, code: int = 0) -> None:
        named = [{"MemberId": each} for each in members or (who,)]
        told = [{**each, "ErrorCode": code} for each in named]
        self.tell(self.ask("LeaveGroup", who, Members=named), 0, Members=told)

    def alone(self) -> None:
        """a is the only member, in generation 1."""
        self.get_id("a")
        self.tell_joined(self.ask_join("a"), 1, "a", "a")
        self.tell(self.ask_sync("a", 1, a=(0, 1)), Assignment=assignment(0, 1))

    def two_have_joined(self) -> None:
        """b has joined too, and both have generation 2. Nobody has sent SyncGroup."""
        self.alone()
        self.get_id("b")
        waiting = self.ask_join("b")
        self.beat("a", 1, REBALANCE)
        self.tell_joined(self.ask_join("a"), 2, "a", "a", "b")
        self.tell_joined(waiting, 2, "a")

    def two(self) -> None:
        """a and b are stable in generation 2."""
        self.two_have_joined()
        following = self.ask_sync("b", 2)
        self.tell(self.ask_sync("a", 2, a=(0,), b=(1,)), Assignment=assignment(0))
        self.tell(following, Assignment=assignment(1))

    def answer(self, release: str) -> Answer:
        recording = Altered(None, {"format": "leadline recording", "version": 1, "release": release})  # type: ignore[arg-type]
        object.__setattr__(recording, "lines", [{"event": "connected", "time": 0.0}, *self.lines])
        read = read_group(recording, "g")
        column = column_for(read, release)
        assert column is not None
        return check_group(read, column).conformance.answer

    def conforms(self, release: str = "2.8.1") -> bool:
        found = self.answer(release)
        assert found is not Answer.UNDECIDED
        return found is Answer.CONFORMS


@pytest.fixture
def script() -> Script:
    return Script()


def test_a_heartbeat_while_the_leader_has_sent_no_assignment(script: Script) -> None:
    """KAFKA-10134: the session is renewed since 2.6.1. Before, the consumer is told to rejoin."""
    script.two_have_joined()
    script.beat("b", 2, 0)
    assert [script.conforms(each) for each in ("2.6.0", "2.6.1", "4.1.1")] == [False, True, True]
    other = Script()
    other.two_have_joined()
    other.beat("b", 2, REBALANCE)
    assert [other.conforms(each) for each in ("2.6.0", "2.6.1", "4.1.1")] == [True, False, False]


@pytest.mark.parametrize(
    ("code", "generation", "is_possible"),
    [(0, 1, False), (ILLEGAL, 1, True), (0, 2, False), (REBALANCE, 2, True), (UNKNOWN, 2, False)],
)
def test_a_commit_before_the_assignment(script: Script, code: int, generation: int, is_possible: bool) -> None:
    script.two_have_joined()
    script.commit("a", generation, code)
    assert script.conforms() == is_possible


@pytest.mark.parametrize(("code", "is_possible"), [(0, True), (ILLEGAL, False), (REBALANCE, False)])
def test_a_commit_in_the_join_phase_is_accepted(script: Script, code: int, is_possible: bool) -> None:
    script.alone()
    script.get_id("b")
    script.ask_join("b")
    script.beat("a", 1, REBALANCE)
    script.commit("a", 1, code)
    assert script.conforms() == is_possible


@pytest.mark.parametrize("seconds", [SESSION / 2, SESSION * 1.1])
def test_a_session_expires_only_after_its_time_out(script: Script, seconds: float) -> None:
    script.two()
    script.wait(seconds / 2)
    script.beat("a", 2)
    script.wait(seconds / 2)
    script.beat("a", 2, REBALANCE)
    script.tell_joined(script.ask_join("a"), 3, "a", "a")
    assert script.conforms() == (seconds > SESSION)


@pytest.mark.parametrize("seconds", [TIMEOUT / 2, TIMEOUT * 1.1])
def test_who_sends_no_sync_group_is_removed_after_the_rebalance_time_out(script: Script, seconds: float) -> None:
    """KAFKA-12890: never in 2.6.1 to 2.8.0, whose members wait."""
    script.two_have_joined()
    following = script.ask_sync("b", 2)
    for _ in range(10):
        script.wait(seconds / 10)
        script.beat("a", 2)
    script.beat("a", 2, UNKNOWN)
    script.tell(following, REBALANCE)
    assert script.conforms("2.8.1") == (seconds > TIMEOUT)
    assert not script.conforms("2.8.0")


@pytest.mark.parametrize("seconds", [TIMEOUT, TIMEOUT * 1.5])
def test_who_sends_no_sync_group_is_certainly_removed(script: Script, seconds: float) -> None:
    script.two_have_joined()
    for _ in range(10):
        script.wait(seconds / 10)
        script.beat("a", 2)
        script.beat("b", 2)
    assert script.conforms("2.8.1") == (seconds <= TIMEOUT)
    assert script.conforms("2.8.0")


@pytest.mark.parametrize("seconds", [SESSION, SESSION * 2])
def test_a_session_that_is_not_renewed_certainly_expires(script: Script, seconds: float) -> None:
    script.two()
    for _ in range(10):
        script.wait(seconds / 10)
        script.beat("a", 2)
    assert script.conforms() == (seconds <= SESSION)


@pytest.mark.parametrize("seconds", [TIMEOUT / 2, TIMEOUT * 1.1])
def test_who_does_not_join_is_removed_after_the_rebalance_time_out(script: Script, seconds: float) -> None:
    script.alone()
    script.get_id("b")
    waiting = script.ask_join("b")
    for _ in range(10):
        script.wait(seconds / 10)
        script.beat("a", 1, REBALANCE)
    script.tell_joined(waiting, 2, "b", "b")
    script.beat("a", 1, UNKNOWN)
    assert script.conforms() == (seconds > TIMEOUT)


def test_a_leader_that_joins_again_begins_a_rebalance_and_a_follower_does_not(script: Script) -> None:
    script.two()
    script.tell_joined(script.ask_join("b"), 2, "a")
    assert script.conforms()
    script.tell_joined(script.ask_join("a"), 2, "a", "a", "b")
    assert not script.conforms()


def test_a_failover_hands_a_generation_out_again(script: Script) -> None:
    """The generation of the JoinGroup answers is not persisted. Without the failover, it is not possible."""
    for has_failover in (True, False):
        script = Script()
        script.two_have_joined()
        if has_failover:
            script.note("killed")
            script.beat("a", 2, ILLEGAL)
        script.tell(
            script.ask_join("b"), UNKNOWN, GenerationId=-1, ProtocolName=None, Leader="", MemberId="b", Members=[]
        )
        script.get_id("b")
        waiting = script.ask_join("b")
        script.tell_joined(script.ask_join("a"), 2, "a", "a", "b")
        script.tell_joined(waiting, 2, "a")
        assert script.conforms() == has_failover


def test_before_kip_394_a_consumer_learns_its_id_with_its_generation(script: Script) -> None:
    number = script.ask_join("a", "", version=OLD)
    script.tell_joined(number, 1, "a", "a")
    assert script.conforms("2.1.0")
    assert script.conforms("2.8.1")  # the request has an older version
    for line in script.lines:
        line["version"] = NEW
    assert script.conforms("2.1.0")
    assert not script.conforms("2.8.1")


def test_a_consumer_that_was_killed_before_it_got_its_id_is_awaited(script: Script) -> None:
    """The leader is told its id. It is removed when its session has expired."""
    script.ask_join("a", "", version=OLD)
    waiting = script.ask_join("b", "", version=OLD)
    script.tell_joined(waiting, 1, "b", "lost", "b")
    assert script.conforms("2.1.0")
    script.tell(script.ask_sync("b", 1, lost=(0,), b=(1,)), Assignment=assignment(1))
    script.wait(SESSION / 2)
    script.beat("b", 1)
    script.wait(SESSION)
    script.beat("b", 1, REBALANCE)
    assert script.conforms("2.1.0")


def test_an_operator_removes_members(script: Script) -> None:
    script.two()
    script.leave("o", "a", "b")
    script.beat("a", 2, UNKNOWN)
    assert script.conforms()
    script.leave("o", "c", code=UNKNOWN)
    assert not script.conforms()  # nobody was given this id


@pytest.mark.parametrize("owned", [(0,), (0, 1), (1,), ()])
def test_a_cooperative_consumer_claims_what_it_was_assigned(script: Script, owned: tuple[int, ...]) -> None:
    script.alone()
    script.get_id("b")
    waiting = script.ask_join("b")
    script.beat("a", 1, REBALANCE)
    claims = subscription(*owned, generation=1)
    members = [{"MemberId": "a", "Metadata": claims}, {"MemberId": "b", "Metadata": subscription()}]
    more: dict[str, Any] = {"ProtocolName": "range", "Leader": "a", "MemberId": "a", "Members": members}
    script.tell(script.ask_join("a", metadata=claims), GenerationId=2, **more)
    script.tell_joined(waiting, 2, "a")
    assert script.conforms() == (owned in ((0, 1), ()))


@pytest.mark.parametrize("owned", [(0,), (0, 1)])
def test_a_consumer_that_has_lost_its_id_may_claim_what_it_had(script: Script, owned: tuple[int, ...]) -> None:
    """Another connection may be that of the same consumer."""
    script.alone()
    empty: dict[str, Any] = {"ProtocolName": None, "Leader": "", "MemberId": "z", "Members": []}
    number = script.ask_join("z", "", metadata=subscription(*owned, generation=1))
    script.tell(number, ID_REQUIRED, GenerationId=-1, **empty)
    assert script.conforms() == (owned == (0, 1))


def test_static_members_are_refused_with_the_reason(script: Script) -> None:
    script.alone()
    for line in script.lines:
        line["body"]["GroupInstanceId"] = "i"
    with pytest.raises(NotFollowed, match="has static members"):
        script.conforms()


# --- the consumer protocol --------------------------------------------------------------------------------------------


class ConsumerScript(Script):
    """Writes the recording of a group with the consumer protocol."""

    def heartbeat(
        self, who: str, epoch: int, told: int, *, given: list[int] | None = None, owned: list[int] | None = None
    ) -> None:
        """A heartbeat that is told an epoch, or one that is refused: `told` is then its error code, and negative."""
        topics = None if owned is None else [{"TopicId": "T", "Partitions": owned}]
        asked: dict[str, Any] = {
            "MemberId": who,
            "MemberEpoch": epoch,
            "RebalanceTimeoutMs": 30_000,
            "TopicPartitions": topics,
        }
        names = ["t"] if epoch == 0 else None
        number = self.ask("ConsumerGroupHeartbeat", who, SubscribedTopicNames=names, **asked)
        if told < 0:
            self.tell(number, -told, MemberId=who, MemberEpoch=0, HeartbeatIntervalMs=0, Assignment=None)
            return
        assigned = None if given is None else {"TopicPartitions": [{"TopicId": "T", "Partitions": given}]}
        self.tell(number, MemberId=who, MemberEpoch=told, HeartbeatIntervalMs=5000, Assignment=assigned)

    def another_joins(self) -> None:
        """a owns both partitions in epoch 1, and b has joined in epoch 2."""
        self.heartbeat("a", 0, 1, given=[0, 1], owned=[])
        self.heartbeat("a", 1, 1, owned=[0, 1])
        self.heartbeat("b", 0, 2, given=[], owned=[])


FENCED, STALE = 110, 113


@pytest.fixture
def consumers() -> ConsumerScript:
    return ConsumerScript()


@pytest.mark.parametrize("waits", [True, False])
def test_a_partition_is_given_when_it_was_revoked(consumers: ConsumerScript, waits: bool) -> None:
    consumers.another_joins()
    consumers.heartbeat("a", 1, 1, given=[0])
    if waits:
        consumers.heartbeat("a", 1, 2, owned=[0])
    consumers.heartbeat("b", 2, 2, given=[1])
    assert consumers.conforms("4.1.1") == waits


@pytest.mark.parametrize("revokes", [True, False])
def test_a_member_keeps_its_epoch_until_it_has_revoked(consumers: ConsumerScript, revokes: bool) -> None:
    consumers.another_joins()
    consumers.heartbeat("a", 1, 1, given=[0])
    consumers.heartbeat("a", 1, 2, owned=[0] if revokes else None)
    assert consumers.conforms("4.1.1") == revokes


@pytest.mark.parametrize("is_refused", [True, False])
def test_a_member_that_joins_again_is_refused_before_4_3(consumers: ConsumerScript, is_refused: bool) -> None:
    consumers.another_joins()
    consumers.heartbeat("a", 1, 1, given=[0])
    consumers.heartbeat("a", 1, 2, owned=[0])
    consumers.heartbeat("a", 0, -FENCED if is_refused else 2, given=[0], owned=[])
    releases = ("3.8.0", "4.1.1", "4.3.0")
    assert [consumers.conforms(each) for each in releases] == [is_refused, is_refused, not is_refused]


@pytest.mark.parametrize(("code", "accepting"), [(0, ["4.3.0"]), (STALE, ["3.8.0", "4.1.1"])])
def test_a_commit_with_an_epoch_since_the_assignment(
    consumers: ConsumerScript, code: int, accepting: list[str]
) -> None:
    """KIP-1251: accepted since 4.3, if the partition was assigned in this epoch or before."""
    consumers.another_joins()
    consumers.heartbeat("a", 1, 1, given=[0])
    consumers.heartbeat("a", 1, 2, owned=[0])
    topic = {"TopicId": "T", "Partitions": [{"PartitionIndex": 0}]}
    number = consumers.ask("OffsetCommit", "a", MemberId="a", GenerationIdOrMemberEpoch=1, Topics=[topic])
    told = {"Topics": [{"TopicId": "T", "Partitions": [{"PartitionIndex": 0, "ErrorCode": code}]}]}
    consumers.frame("OffsetCommit", "a", told, answers=number)
    assert [each for each in ("3.8.0", "4.1.1", "4.3.0") if consumers.conforms(each)] == accepting


@pytest.mark.parametrize("seconds", [2.0, 6.0])
def test_a_session_is_longer_than_the_interval_of_heartbeats(consumers: ConsumerScript, seconds: float) -> None:
    consumers.another_joins()
    consumers.wait(seconds)
    consumers.heartbeat("a", 1, 3)
    assert consumers.conforms("4.1.1") == (seconds > 5)  # b is gone
