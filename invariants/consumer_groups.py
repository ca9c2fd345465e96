"""Properties of consumer groups with the consumer protocol (KIP-848): who owns a partition, what epochs say, and whose
offsets are accepted.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from leadline.checker.properties import invariant, step_invariant, step_witness, witness
from leadline.model.group.consumer.state import DOWN, JOINING, LEFT, UNJOINED, ConsumerGroup
from leadline.model.group.perturbed import NONE


@invariant(
    "members of a group do not own the same partition",
    source="KIP-848: a partition is assigned once its owner has revoked it; KAFKA-16147",
)
def owned_by_one_member(state: ConsumerGroup) -> Iterator[str]:
    """Compares what members read. A consumer that was removed reads on until it learns that (`one_reader`)."""
    members = [
        (number, client)
        for number, client in enumerate(state.clients)
        if state.group.member(client.member_id) is not None
    ]
    for (one, own), (other, others) in itertools.combinations(members, 2):
        for partition in sorted(own.owned & others.owned):
            yield f"consumers {one} and {other} own partition {partition} in group epoch {state.group.epoch}"


@invariant(
    "the coordinator assigns a partition to one member only, also while another must still revoke it",
    source="KAFKA-16147: Partition is assigned to two members at the same time",
)
def assigned_to_one_member(state: ConsumerGroup) -> Iterator[str]:
    for one, other in itertools.combinations(state.group.members, 2):
        for partition in sorted(one.held & other.held):
            yield f"partition {partition} is held by the members {one.member_id} and {other.member_id}"


@invariant(
    "a partition has an epoch as long as a member holds it",
    source="KAFKA-16147: the partition epoch is lost; ConsumerGroup.currentPartitionEpoch",
)
def partition_epoch_held(state: ConsumerGroup) -> Iterator[str]:
    group = state.group
    for partition in range(state.bounds.partitions):
        holders = [member.member_id for member in group.members if partition in member.held]
        if bool(holders) == group.is_free(partition):
            yield f"partition {partition} has the epoch {group.partition_epochs[partition]}, and is held by {holders}"


@step_invariant(
    "group, target and member epochs do not decrease",
    source="KIP-848: group epoch, assignment epoch and member epoch",
)
def epochs_grow(before: ConsumerGroup, after: ConsumerGroup) -> Iterator[str]:
    """This property is kept for models that change the coordinator: commits are compared with epochs. The epoch of a
    static member that leaves is -2.
    """
    was, now = before.group, after.group
    if now.epoch < was.epoch or now.target_epoch < was.target_epoch:
        yield f"the group epochs were {was.epoch} and {was.target_epoch}, and are {now.epoch} and {now.target_epoch}"
    for member in now.members:
        old = was.member(member.member_id)
        if old is not None and member.epoch != LEFT and member.epoch < old.epoch:
            yield f"the epoch of member {member.member_id} was {old.epoch}, and is {member.epoch}"


@invariant(
    "a member's epoch is not later than that of the target assignment, which is not later than the group's",
    source="KIP-848: a member converges to the target assignment",
)
def epochs_ordered(state: ConsumerGroup) -> Iterator[str]:
    """This property is kept for the same reason: with `revoked_epoch=next`, a member's epoch is not one of a target."""
    group = state.group
    if group.target_epoch > group.epoch:
        yield f"the target assignment has the epoch {group.target_epoch}, and the group {group.epoch}"
    for member in group.members:
        if member.epoch > group.target_epoch:
            yield f"member {member.member_id} has the epoch {member.epoch}, and the target {group.target_epoch}"


@invariant(
    "a consumer with the epoch of the target assignment owns nothing that is assigned to another member there",
    source="KIP-848: a member moves to the target epoch once it has revoked its partitions",
)
def epoch_implies_revoked(state: ConsumerGroup) -> Iterator[str]:
    group = state.group
    for number, client in enumerate(state.clients):
        if client.epoch != group.target_epoch or group.member(client.member_id) is None:
            continue
        for partition in sorted(client.owned):
            if group.target[partition] not in (client.member_id, NONE):
                yield (
                    f"consumer {number} has the epoch {client.epoch} and owns partition {partition}, which is assigned "
                    f"to member {group.target[partition]}"
                )


@invariant(
    "a consumer that is no member owns nothing",
    source="KIP-848: FENCED_MEMBER_EPOCH and UNKNOWN_MEMBER_ID; onPartitionsLost",
)
def fenced_owns_nothing(state: ConsumerGroup) -> Iterator[str]:
    for number, client in enumerate(state.clients):
        if client.epoch == JOINING and client.owned:
            yield f"consumer {number} joins, and owns {sorted(client.owned)}"


@invariant(
    "an offset commit is accepted only for partitions that its member has held since it was sent",
    source="KIP-848: STALE_MEMBER_EPOCH; KIP-1251",
)
def commit_by_holder(state: ConsumerGroup) -> Iterator[str]:
    """Asks of the commit in flight whether it would be accepted if it arrived now. Another member may have committed
    later offsets of a partition that was lost.
    """
    late = state.late
    if late is not None and late.lost and state.accepts(late):
        yield (
            f"a commit of member {late.member_id} in epoch {late.epoch} is accepted, although it has lost the "
            f"partitions {sorted(late.lost)} since"
        )


@step_invariant(
    "the rebalance time-out does not remove a consumer that goes on and has revoked what it was told to revoke",
    source="KAFKA-16249: a member is stuck, because the coordinator does not see that it has revoked its partitions",
)
def revocation_seen(before: ConsumerGroup, after: ConsumerGroup) -> Iterator[str]:
    for number, client in enumerate(before.clients):
        member = before.group.member(client.member_id)
        if member is None or not member.revoking or after.group.member(client.member_id) is not None:
            continue
        goes_on = client == after.clients[number] and not client.stopped and client.epoch == member.epoch
        if goes_on and not client.owned & member.revoking:
            yield f"consumer {number} has revoked {sorted(member.revoking)}, and is removed"


@step_invariant(
    "a static member that leaves keeps its target assignment, and the one that replaces it takes it over at once",
    source="KIP-848: the epoch -2 of static members; KIP-345",
)
def instance_keeps_assignment(before: ConsumerGroup, after: ConsumerGroup) -> Iterator[str]:
    """Its session may expire, and a rebalance that has begun before gives it another target assignment."""
    was_group, now_group = before.group, after.group
    if not before.bounds.static or was_group.epoch != was_group.target_epoch:
        return
    for number in range(len(before.clients)):
        was, now = before.holder_of(number), after.holder_of(number)
        stays = now is None or (was is not None and was.member_id == now.member_id)
        if was is None or (stays and before.spent.leaves == after.spent.leaves):
            continue
        had = was_group.target_of(was.member_id)
        has = None if now is None else now_group.target_of(now.member_id)
        if had != has or was_group.epoch != now_group.epoch:
            yield f"the instance of consumer {number} loses its assignment {sorted(had)}, or the group is rebalanced"


@step_invariant(
    "a static member is replaced only when it does not run any more",
    source="KIP-848: UNRELEASED_INSTANCE_ID",
)
def instance_released(before: ConsumerGroup, after: ConsumerGroup) -> Iterator[str]:
    """A paused consumer whose session has expired is no member: it may go on until it learns that (`one_reader`)."""
    for number, client in enumerate(before.clients):
        was, now = before.holder_of(number), after.holder_of(number)
        if was is None or now is None or was.member_id == now.member_id or was.member_id != client.member_id:
            continue
        if client.stopped != DOWN:
            yield f"consumer {number} runs as member {was.member_id}, and member {now.member_id} replaces it"


@step_invariant(
    "a static consumer does not stop because of its own group.instance.id",
    source="apache/kafka#23542: static members are fenced by their own instance id",
)
def own_instance_accepted(before: ConsumerGroup, after: ConsumerGroup) -> Iterator[str]:
    """Looks only at consumers that know their member id: the coordinator can tell that it is their own."""
    for number, (was, now) in enumerate(zip(before.clients, after.clients, strict=True)):
        holder = before.holder_of(number)
        stops = was.stopped != DOWN == now.stopped and was.epoch == JOINING and before.spent == after.spent
        if stops and holder is not None and holder.member_id == was.member_id:
            yield f"consumer {number} joins as member {was.member_id} of epoch {holder.epoch} again, and stops"


@invariant(
    "a group that may not change its protocol has members of one protocol",
    source="KAFKA-20640: the group stays mixed; group.consumer.migration.policy=disabled",
)
def one_protocol(state: ConsumerGroup) -> Iterator[str]:
    uses = [state.uses_classic(state.client_of(member.member_id)) for member in state.group.members]
    if not state.migrates and len(set(uses)) > 1:
        yield f"the group has {len(uses) - sum(uses)} members of the consumer protocol, and {sum(uses)} of the other"


@step_invariant(
    "a consumer does not stop because its group has become a classic group",
    source="KIP-848: an online downgrade; GROUP_ID_NOT_FOUND, which KafkaConsumer.poll throws",
)
def survives_downgrade(before: ConsumerGroup, after: ConsumerGroup) -> Iterator[str]:
    """Looks at consumers that have joined. UNKNOWN_MEMBER_ID would let them join again."""
    for number, (was, now) in enumerate(zip(before.clients, after.clients, strict=True)):
        stops = was.stopped != DOWN == now.stopped and was.epoch != JOINING and before.spent == after.spent
        if stops and before.group.is_classic and not before.uses_classic(number):
            yield f"consumer {number} comes back to a group that is a classic one now, and stops"


@invariant(
    "an empty group has a target assignment of its epoch",
    source="KAFKA-20442: when the last member leaves, the assignment epoch stays behind",
)
def empty_group_assigned(state: ConsumerGroup) -> Iterator[str]:
    """Violated by design before 4.4, which does no harm: the next member to join computes a new target assignment."""
    group = state.group
    if not group.members and group.epoch != group.target_epoch:
        yield f"the group is empty with the epoch {group.epoch}, and the target assignment has {group.target_epoch}"


# --- witnesses ----------------------------------------------------------------------------------------------------


@witness("a member waits for a partition that another one must revoke")
def partition_awaited(state: ConsumerGroup) -> bool:
    group = state.group
    return any(
        group.target[partition] != member.member_id and group.member(group.target[partition]) is not None
        for member in group.members
        for partition in member.revoking
    )


@witness("a member has the target epoch and still waits for one of its partitions")
def partition_unreleased(state: ConsumerGroup) -> bool:
    group = state.group
    return any(
        member.epoch == group.target_epoch and member.assigned != group.target_of(member.member_id)
        for member in group.members
    )


@witness("a member must revoke a partition")
def must_revoke(state: ConsumerGroup) -> bool:
    return any(member.revoking for member in state.group.members)


@witness("the response to a heartbeat was lost")
def response_lost(state: ConsumerGroup) -> bool:
    return state.spent.failovers > 0


@witness("an offset commit is in flight, and its member has lost a partition since it was sent")
def commit_outdated(state: ConsumerGroup) -> bool:
    return state.late is not None and bool(state.late.lost)


@witness("a static member has left, and its partitions wait for it")
def instance_away(state: ConsumerGroup) -> bool:
    return any(member.epoch == LEFT and member.assigned for member in state.group.members)


@step_witness("a consumer takes over the assignment of a static member that has left")
def instance_taken_over(before: ConsumerGroup, after: ConsumerGroup) -> bool:
    held = ((before.holder_of(number), after.holder_of(number)) for number in range(len(before.clients)))
    return any(was is not None and now is not None and was.member_id != now.member_id for was, now in held)


@step_witness("a consumer stops because another one has its group.instance.id")
def instance_fenced(before: ConsumerGroup, after: ConsumerGroup) -> bool:
    return any(
        was.stopped != DOWN == now.stopped and was.epoch != JOINING and before.spent == after.spent
        for was, now in zip(before.clients, after.clients, strict=True)
    )


@witness("a consumer with the classic protocol is about to join a consumer group")
def asks_other_protocol(state: ConsumerGroup) -> bool:
    is_consumer_group = state.group.members != () and not state.group.is_classic
    return is_consumer_group and any(each.phase == UNJOINED and not each.stopped for each in state.clients)


@step_witness("a classic group becomes a consumer group")
def upgraded(before: ConsumerGroup, after: ConsumerGroup) -> bool:
    return before.group.members != () and before.group.is_classic and not after.group.is_classic


@step_witness("a consumer group becomes a classic group")
def downgraded(before: ConsumerGroup, after: ConsumerGroup) -> bool:
    return before.group.members != () and after.group.is_classic and not before.group.is_classic


SITUATIONS = (
    must_revoke,
    response_lost,
    commit_outdated,
    instance_away,
    instance_taken_over,
    instance_fenced,
    asks_other_protocol,
    upgraded,
    downgraded,
)
"""Checked only if they are named."""
