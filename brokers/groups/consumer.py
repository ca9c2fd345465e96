"""Consumers of the consumer protocol: ConsumerGroupHeartbeat (KIP-848)."""

from __future__ import annotations

import uuid
from typing import Any

from leadline.brokers.driver.waiting import until
from leadline.brokers.errors import BrokerError
from leadline.brokers.groups.observed_state import FENCED_INSTANCE_ID, AnyGroup, group_text, member_text
from leadline.brokers.groups.plan import BROKER, GroupsStep
from leadline.brokers.groups.requests import GROUP, TOPIC, Consumers, Timeouts, differs
from leadline.brokers.pending import Refused
from leadline.brokers.releases import BrokerRelease
from leadline.model.group.conformance.errors import FENCED_MEMBER_EPOCH, UNKNOWN_MEMBER_ID, said
from leadline.model.group.consumer import coordinator as errors
from leadline.model.group.consumer.coordinator import heartbeat, refuses, report_of
from leadline.model.group.consumer.state import JOINING, LEFT, ConsumerGroup

_LEAVES = -1
_CODES = {
    "": 0,
    errors.UNKNOWN_MEMBER_ID: UNKNOWN_MEMBER_ID,
    errors.FENCED_MEMBER_EPOCH: FENCED_MEMBER_EPOCH,
    errors.FENCED_INSTANCE_ID: FENCED_INSTANCE_ID,
    errors.UNRELEASED_INSTANCE_ID: 111,
}
_INVALID_REQUEST = 42
_GROUP_ID_NOT_FOUND = 69
_WITH_TOPIC_IDS = 12
"""A version of Metadata (KIP-516)."""
_GROUP_VERSION = "group.version"


class HeartbeatingConsumers(Consumers):
    """The consumers of a group with the consumer protocol."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._topic_id: uuid.UUID | None = None
        self.first_epoch = 1 if self._release.version >= (4, 3) else 0  # of a new group: ModernGroup
        self._more_topics: dict[int, int] = {}

    @staticmethod
    def settings(release: BrokerRelease, timeouts: Timeouts) -> dict[str, str]:
        if release.version < (3, 7) or not release.kraft:
            raise BrokerError(f"Kafka {release.name} has no consumer protocol: that needs 3.7 or later, with KRaft")
        session = str(int(timeouts.session * 1000))
        found = {f"group.consumer.{name}session.timeout.ms": session for name in ("", "min.", "max.")}
        found |= {f"group.consumer.{name}heartbeat.interval.ms": "1000" for name in ("", "min.")}
        # KIP-1263: otherwise, a new target assignment is computed later than in the heartbeat that needs it
        found |= {"group.consumer.assignment.interval.ms": "0", "group.consumer.assignor.offload.enable": "false"}
        if release.version < (4, 0):  # early access in 3.7, and preview in 3.8 and 3.9
            found["group.coordinator.new.enable"] = found["unstable.api.versions.enable"] = "true"
            found["group.coordinator.rebalance.protocols"] = "classic,consumer"
        return found

    def prepare(self) -> None:
        if self._release.version >= (4, 0):
            self._client.set_feature("controller", _GROUP_VERSION, None)
        self._topic_id = until(self._found_topic, self._wait, "the broker does not know the topic")

    def _found_topic(self) -> uuid.UUID | None:
        topics = self._client.ask(BROKER, "Metadata", {"Topics": None}, version=_WITH_TOPIC_IDS)["Topics"]
        return next((each["TopicId"] for each in topics if each["Name"] == TOPIC), None)

    def send(self, step: GroupsStep) -> str:
        before, after = step.before, step.after
        assert isinstance(before, ConsumerGroup)
        assert isinstance(after, ConsumerGroup)
        own = before.clients[step.consumer]
        if step.instance.action.name == "leave":
            return self._leave(before, step.consumer)
        if step.with_last:
            self._more_topics[step.consumer] = self._more_topics.get(step.consumer, 0) + 1
        answer = self._heartbeat(before, step.consumer, own.epoch)
        code, given = answer["ErrorCode"], self._assigned(answer["Assignment"])
        epoch = self._epoch(answer["MemberEpoch"])
        told = "" if code else f", epoch {epoch}, assignment {'-' if given is None else sorted(given)}"
        self.did.append(f"the response has {said(code)}{told}")
        if code or refuses(before, step.consumer):
            return differs(code, _CODES[refuses(before, step.consumer)])
        return self._compared(answer["MemberId"], epoch, given, step, after)

    def _leave(self, state: ConsumerGroup, consumer: int) -> str:
        epoch = LEFT if state.bounds.static else _LEAVES
        code = self._heartbeat(state, consumer, epoch)["ErrorCode"]
        self.did.append(f"the response to the heartbeat with epoch {epoch} has {said(code)}")
        if state.bounds.static and not state.protocol.sends_instance:
            return differs(code, _INVALID_REQUEST)
        refused = state.group.member(state.clients[consumer].member_id) is None
        return differs(code, UNKNOWN_MEMBER_ID if refused else 0)

    def _compared(
        self, real: str, epoch: int, given: frozenset[int] | None, step: GroupsStep, after: ConsumerGroup
    ) -> str:
        """Return how a response without an error differs from the model's member, or an empty string."""
        mine = [each for each in after.group.members if after.client_of(each.member_id) == step.consumer]
        member = next(each for each in mine if self.ids.get(each.member_id, real) == real)
        self.ids[member.member_id] = real
        if epoch != member.epoch:
            return f"consumer {step.consumer} gets epoch {epoch}; in the model: {member.epoch}"
        if given is not None and given != member.assigned:
            return f"consumer {step.consumer} is assigned {sorted(given)}; in the model: {sorted(member.assigned)}"
        return ""

    def fail_over(self, step: GroupsStep) -> str:
        differs = self.send(step)
        self.did.append("its consumer does not get the response")
        return differs

    def renew(self, state: AnyGroup) -> tuple[tuple[int, int], ...]:
        assert isinstance(state, ConsumerGroup)
        sending = [each for each in range(len(state.clients)) if state.may_send(each) and state.has_joined(each)]
        neutral = [each for each in sending if [*heartbeat(state, each)] == [state]]
        codes = [self._heartbeat(state, each, state.clients[each].epoch)["ErrorCode"] for each in neutral]
        return tuple((consumer, code) for consumer, code in zip(neutral, codes, strict=True) if code)

    def described(self, state: AnyGroup) -> tuple[str, tuple[tuple[int, str], ...]]:
        (found,) = self.ask("ConsumerGroupDescribe", GroupIds=[GROUP])["Groups"]
        if found["ErrorCode"] == _GROUP_ID_NOT_FOUND:
            return group_text("Empty", 0, 0), ()
        if found["ErrorCode"]:
            raise Refused("ConsumerGroupDescribe", found["ErrorCode"])
        members = {}
        for each in found["Members"]:
            own, target = (self._assigned(each[name]) or frozenset() for name in ("Assignment", "TargetAssignment"))
            members[each["MemberId"]] = member_text(self._epoch(each["MemberEpoch"]), own, target)
        epochs = [found[name] - self.first_epoch for name in ("GroupEpoch", "AssignmentEpoch")]
        text = group_text(found["GroupState"].capitalize(), *epochs)
        return text, self._known(members, state)

    def _epoch(self, epoch: int) -> int:
        """Return the model's epoch for a real one. That of a static member that has left is the same."""
        return epoch - self.first_epoch if epoch > JOINING else epoch

    def _heartbeat(self, state: ConsumerGroup, consumer: int, epoch: int) -> dict[str, Any]:
        own = state.clients[consumer]
        if own.member_id not in self.ids:
            self.ids[own.member_id] = str(uuid.uuid4())  # KIP-1082
        report = report_of(own) if epoch >= JOINING else None
        body: dict[str, Any] = {"GroupId": GROUP, "MemberId": self.ids[own.member_id], "MemberEpoch": epoch}
        if epoch > JOINING:
            body["MemberEpoch"] += self.first_epoch
        if epoch == JOINING:
            body["RebalanceTimeoutMs"] = int(self._timeouts.rebalance * 1000)
        if state.bounds.static and (epoch == JOINING or state.protocol.sends_instance):
            body["InstanceId"] = f"instance-{state.instance_of(consumer)}"
        if epoch >= JOINING:
            more = range(self._more_topics.get(consumer, 0))
            body["SubscribedTopicNames"] = [TOPIC, *(f"none-{each}" for each in more)]
        if report is not None:
            owned = [{"TopicId": self._topic_id, "Partitions": sorted(report)}]
            body["TopicPartitions"] = owned if report else []
        return self.ask("ConsumerGroupHeartbeat", **body)

    def _assigned(self, given: dict[str, Any] | None) -> frozenset[int] | None:
        each = None if given is None else given["TopicPartitions"]
        return None if each is None else frozenset(number for topic in each for number in topic["Partitions"])
