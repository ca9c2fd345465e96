"""Consumers of the classic protocol: JoinGroup, SyncGroup, Heartbeat and LeaveGroup."""

from __future__ import annotations

import struct
from typing import Any

from leadline.brokers.conformance.groups.subscription import read_assignment
from leadline.brokers.groups.observed_state import AnyGroup, heartbeat_code, refusal, sends_heartbeats
from leadline.brokers.groups.plan import BROKER, GroupsStep
from leadline.brokers.groups.requests import GROUP, TOPIC, Consumers, Timeouts, differs
from leadline.brokers.pending import Pending, Refused
from leadline.brokers.releases import BrokerRelease
from leadline.model.group.classic.coordinator import claims_of
from leadline.model.group.classic.drawing import partitions
from leadline.model.group.classic.state import DOWN, EMPTY, JOINED, JOINING, REJOINING, SYNCING, Classic, Consumer
from leadline.model.group.conformance.errors import MEMBER_ID_REQUIRED, REBALANCE_IN_PROGRESS, UNKNOWN_MEMBER_ID, said
from leadline.model.group.perturbed import NONE

_NUMBER = struct.Struct(">i")
_NULL = _NUMBER.pack(-1)
_NO_GROUP = "Dead"
"""The state of a group that the coordinator does not know."""


class ClassicConsumers(Consumers):
    """The consumers of a group with the classic protocol."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._waiting: dict[int, tuple[str, Pending[dict[str, Any]]]] = {}

    @staticmethod
    def settings(release: BrokerRelease, timeouts: Timeouts) -> dict[str, str]:
        return {"group.initial.rebalance.delay.ms": str(int(timeouts.first_join * 1000))}

    def prepare(self) -> None:
        pass

    def send(self, step: GroupsStep) -> str:
        before, after = step.before, step.after
        assert isinstance(before, Classic)
        assert isinstance(after, Classic)
        match step.instance.action.name:
            case "send_join":
                return self._join(step, before, after)
            case "send_sync":
                return self._sync(step, before, after)
            case "send_heartbeat":
                code = self._heartbeat(before, step.consumer)
                self.did.append(f"the heartbeat gets {said(code)}")
                return differs(code, heartbeat_code(before, step.consumer))
            case _:
                member_id = before.clients[step.consumer].member_id
                code = self.ask("LeaveGroup", GroupId=GROUP, MemberId=self.ids[member_id])["ErrorCode"]
                self.did.append(f"the response to LeaveGroup has {said(code)}")
                return differs(code, UNKNOWN_MEMBER_ID if before.group.member(member_id) is None else 0)

    def _join(self, step: GroupsStep, before: Classic, after: Classic) -> str:
        was, now = before.clients[step.consumer], after.clients[step.consumer]
        body = {
            "SessionTimeoutMs": int(self._timeouts.session * 1000),
            "RebalanceTimeoutMs": int(self._timeouts.rebalance * 1000),
            "MemberId": self.ids[was.member_id],
            "GroupInstanceId": _instance(before, step.consumer),
            "ProtocolType": "consumer",
            "Protocols": [_subscription(now, before)],
        }
        pending = self._sent("JoinGroup", body)
        if now.phase == JOINING:
            return self._waits(step.consumer, JOINING, pending)
        if now.phase == JOINED:
            return self._joined(pending, after, step.consumer)
        answer = pending.result(self._wait)
        code = answer["ErrorCode"]
        self.did.append(f"the response to JoinGroup has {said(code)}")
        is_given = was.member_id == NONE != now.member_id
        if is_given:
            self.ids[now.member_id] = answer["MemberId"]
        return differs(code, MEMBER_ID_REQUIRED if is_given else UNKNOWN_MEMBER_ID)

    def _waits(self, consumer: int, phase: str, pending: Pending[dict[str, Any]]) -> str:
        self._waiting[consumer] = (phase, pending)
        self.did.append("it waits for the response")
        return ""

    def _joined(self, pending: Pending[dict[str, Any]], state: Classic, consumer: int) -> str:
        """Read the response to JoinGroup that ends the join phase."""
        own, answer = state.clients[consumer], pending.result(self._wait)
        code, generation, leads = answer["ErrorCode"], answer["GenerationId"], answer["Leader"] == answer["MemberId"]
        self.did.append(
            f"the response to JoinGroup of consumer {consumer} has {said(code)}, generation {generation}"
            f"{', and it leads' if leads else ''}"
        )
        if code:
            return differs(code, 0)
        self.ids[own.member_id] = answer["MemberId"]
        if generation != own.generation:
            return f"consumer {consumer} gets generation {generation}; in the model: {own.generation}"
        if leads != bool(own.plan):
            return f"consumer {consumer} {'leads' if leads else 'does not lead'} the group; in the model: {not leads}"
        return ""

    def _sync(self, step: GroupsStep, before: Classic, after: Classic) -> str:
        own = before.clients[step.consumer]
        plan = [{"MemberId": self.ids[each], "Assignment": _assignment(given)} for each, given in own.plan]
        pending = self._sent("SyncGroup", {**self._own(before, step.consumer), "Assignments": plan})
        if after.clients[step.consumer].phase == SYNCING:
            return self._waits(step.consumer, SYNCING, pending)
        return self._synced(pending, after, step.consumer, refusal(before, step.consumer))

    def _synced(self, pending: Pending[dict[str, Any]], state: Classic, consumer: int, expected: int) -> str:
        """Read the response to SyncGroup."""
        answer = pending.result(self._wait)
        code = answer["ErrorCode"]
        given = frozenset() if code else _assigned(answer["Assignment"])
        self.did.append(
            f"the response to SyncGroup of consumer {consumer} has {said(code)}"
            f"{'' if code else f', partitions {partitions(given)}'}"
        )
        if code or expected:
            return differs(code, expected)
        owned = state.clients[consumer].owned
        return "" if given == owned else f"consumer {consumer} gets {[*given]}; in the model: {[*owned]}"

    def fail_over(self, step: GroupsStep) -> str:
        self._waiting.clear()  # their connections are closed
        return ""

    def answers(self, step: GroupsStep) -> list[str]:
        found, state = [], step.shown
        assert isinstance(state, Classic)
        for consumer, (waits, pending) in [*self._waiting.items()]:
            now = state.clients[consumer].phase
            if now == waits:
                found.append(f"consumer {consumer} gets a response, for which it waits in the model" * pending.arrived)
                continue
            del self._waiting[consumer]
            if waits == JOINING and now == JOINED:
                found.append(self._joined(pending, state, consumer))
            elif waits == SYNCING and now != DOWN:
                expected = REBALANCE_IN_PROGRESS if now == REJOINING else 0
                found.append(self._synced(pending, state, consumer, expected))
        return [each for each in found if each]

    def renew(self, state: AnyGroup) -> tuple[tuple[int, int], ...]:
        assert isinstance(state, Classic)
        sending = [each for each in range(len(state.clients)) if sends_heartbeats(state, each)]
        return tuple((each, self._heartbeat(state, each)) for each in sending)

    def described(self, state: AnyGroup) -> tuple[str, tuple[tuple[int, str], ...]]:
        (found,) = self.ask("DescribeGroups", Groups=[GROUP])["Groups"]
        if found["ErrorCode"]:
            raise Refused("DescribeGroups", found["ErrorCode"])
        stable = found["GroupState"] == "Stable"
        members = {
            each["MemberId"]: partitions(_assigned(each["MemberAssignment"])) if stable else "-"
            for each in found["Members"]
        }
        name = EMPTY if found["GroupState"] == _NO_GROUP else found["GroupState"]
        return name, self._known(members, state)

    def _heartbeat(self, state: Classic, consumer: int) -> int:
        return int(self.ask("Heartbeat", GroupId=GROUP, **self._own(state, consumer))["ErrorCode"])

    def _own(self, state: Classic, consumer: int) -> dict[str, Any]:
        own = state.clients[consumer]
        return {
            "MemberId": self.ids[own.member_id],
            "GenerationId": own.generation,
            "GroupInstanceId": _instance(state, consumer),
        }

    def _sent(self, api: str, body: dict[str, Any]) -> Pending[dict[str, Any]]:
        version = self._client.version(BROKER, api)
        return self._client.send(BROKER, api, {"GroupId": GROUP, **body}, dict, version=version)


def _instance(state: Classic, consumer: int) -> str | None:
    return f"consumer-{consumer}" if state.bounds.static else None


def _subscription(own: Consumer, state: Classic) -> dict[str, Any]:
    """Return the assignor of a consumer and its subscription (ConsumerProtocolSubscription): of version 1, with the
    partitions that it claims, or 2, also with the generation in which it got them (KAFKA-12984).
    """
    claims, since = claims_of(state, own)
    has_generation = state.protocol.claims_have_generations
    data = struct.pack(">hi", 2 if has_generation else 1, 1) + _name(TOPIC) + _NULL + _partitions(claims)
    assignor = "cooperative-sticky" if state.bounds.cooperative else "range"
    return {"Name": assignor, "Metadata": data + (_NUMBER.pack(since) if has_generation else b"")}


def _assignment(given: frozenset[int]) -> bytes:
    """Return the assignment of a member (ConsumerProtocolAssignment, version 0)."""
    return b"\0\0" + _partitions(given) + _NULL


def _assigned(data: bytes) -> frozenset[int]:
    """Return the partitions of an assignment. This is the inverse of `_assignment`."""
    return frozenset(number for _, number in read_assignment(data))


def _partitions(owned: frozenset[int]) -> bytes:
    numbers = b"".join(map(_NUMBER.pack, sorted(owned)))
    return _NUMBER.pack(1) + _name(TOPIC) + _NUMBER.pack(len(owned)) + numbers if owned else _NUMBER.pack(0)


def _name(name: str) -> bytes:
    return struct.pack(">h", len(name)) + name.encode("ascii")
