"""Send the requests of consumers, and read the responses: what both protocols share."""

from __future__ import annotations

import abc
from typing import Any

import attrs

from leadline.brokers.client import Client
from leadline.brokers.groups.observed_state import AnyGroup
from leadline.brokers.groups.plan import BROKER, GroupsStep
from leadline.brokers.pending import Pending, Refused
from leadline.brokers.releases import BrokerRelease
from leadline.model.group.conformance.errors import said
from leadline.model.group.offsets import NO_OFFSET
from leadline.model.group.perturbed import NONE, Commit

GROUP, TOPIC = "g", "t"


@attrs.frozen
class Timeouts:
    """The time-outs of the group, in seconds.

    Attributes:
        session, rebalance: the session and the rebalance time-out. If the session time-out is the shorter one, the end
            of a join phase does not remove a consumer that may still join when the session of another one expires.
        first_join: the delay after which the first join phase ends.
    """

    session: float
    rebalance: float
    first_join: float


class Consumers(abc.ABC):
    """The consumers of a group, and what the coordinator says about it. There is a class for each protocol.

    Attributes:
        did: a list to which a line is added for each operation and observation.
        ids: the real member ids, keyed by those of the model.
        first_epoch: the epoch of a new group. The model's is 0, as the generation of a classic group.
    """

    def __init__(self, client: Client, release: BrokerRelease, timeouts: Timeouts, wait: float) -> None:
        self.did: list[str] = []
        self.first_epoch = 0
        self._client, self._release, self._timeouts, self._wait = client, release, timeouts, wait
        self.ids = {NONE: ""}

    @staticmethod
    @abc.abstractmethod
    def settings(release: BrokerRelease, timeouts: Timeouts) -> dict[str, str]:
        """The configuration of the broker that the protocol needs."""

    @abc.abstractmethod
    def prepare(self) -> None:
        """Enable the protocol in a cluster that has started."""

    @abc.abstractmethod
    def send(self, step: GroupsStep) -> str:
        """Send the request of a step, and read the response if it comes at once. Return how it differs from the model,
        or an empty string.
        """

    def fail_over(self, step: GroupsStep) -> str:
        """Do what precedes a failover in the same step. Return how a response differs from the model, or an empty
        string.
        """
        return ""

    def answers(self, step: GroupsStep) -> list[str]:
        """Read the responses that have waited for a step. Return a sentence for each difference from the model."""
        return []

    @abc.abstractmethod
    def renew(self, state: AnyGroup) -> tuple[tuple[int, int], ...]:
        """Send the heartbeats that change nothing. Return the error codes in the responses, keyed by consumer. With the
        consumer protocol, only errors are returned.
        """

    @abc.abstractmethod
    def described(self, state: AnyGroup) -> tuple[str, tuple[tuple[int, str], ...]]:
        """Ask the coordinator for the state of the group and the members; see `ObservedGroup`."""

    def ask(self, api: str, **body: Any) -> dict[str, Any]:
        """Send a request to the coordinator, and return the response."""
        return self._client.ask(BROKER, api, body)

    def forget(self, state: AnyGroup) -> None:
        """Forget the member ids that nobody in the model knows any more, because the model uses them again."""
        known = {NONE} | state.known_ids()
        self.ids = {member_id: real for member_id, real in self.ids.items() if member_id in known}

    def send_commit(self, commit: Commit) -> Pending[int]:
        """Send an offset commit. The result is the error code in the response."""
        partitions = [
            {"PartitionIndex": each, "CommittedOffset": max(position, 0), "CommittedMetadata": ""}
            for each, position in enumerate(commit.positions or [1] * (max(commit.partitions) + 1))
            if each in commit.partitions
        ]
        body = {
            "GroupId": GROUP,
            "MemberId": self.ids[commit.member_id],
            "GenerationIdOrMemberEpoch": commit.epoch + self.first_epoch,
            "Topics": [{"Name": TOPIC, "Partitions": partitions}],
        }
        version = self._client.version(BROKER, "OffsetCommit")
        return self._client.send(BROKER, "OffsetCommit", body, _committed, version=version)

    def committed(self, partitions: int) -> tuple[int, ...]:
        """Return the committed offset of each partition, or -1.

        Raises:
            Refused: if the response contains an error.
        """
        wanted = [{"Name": TOPIC, "PartitionIndexes": [*range(partitions)]}]
        found = self.ask("OffsetFetch", GroupId=GROUP, Topics=wanted)
        told = [each for topic in found["Topics"] for each in topic["Partitions"]]
        for each in (found, *told):
            if each.get("ErrorCode"):
                raise Refused("OffsetFetch", each["ErrorCode"])
        offsets = {each["PartitionIndex"]: int(each["CommittedOffset"]) for each in told}
        return tuple(offsets.get(number, NO_OFFSET) for number in range(partitions))

    def _known(self, described: dict[str, str], state: AnyGroup) -> tuple[tuple[int, str], ...]:
        """Return what the coordinator says of members, keyed by their real ids, with the ids of the model instead.

        A member that has not been told its id is recognised if it is the only one.
        """
        ours = {real: member_id for member_id, real in self.ids.items()}
        new = [real for real in described if real not in ours]
        unknown = [member.member_id for member in state.group.members if member.member_id not in self.ids]
        if len(new) == len(unknown) == 1:
            self.ids[unknown[0]] = new[0]
            ours[new[0]] = unknown[0]
        return tuple(sorted((ours.get(real, NONE), text) for real, text in described.items()))


def differs(code: int, expected: int) -> str:
    """Return how the error code of a response differs from the model, or an empty string."""
    return "" if code == expected else f"the response has {said(code)}; in the model: {said(expected)}"


def _committed(body: dict[str, Any]) -> int:
    codes = [each["ErrorCode"] for topic in body["Topics"] for each in topic["Partitions"]]
    return next((code for code in codes if code), 0)
