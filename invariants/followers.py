"""Followers as their leader knows them. Of the `rpc` family: in the `atomic` one leaders see everything."""

from __future__ import annotations

from collections.abc import Iterator

from checker.properties import invariant
from invariants.known import RPC
from model.rpc.state import Partition


@invariant(
    "what a leader takes for the log end offset of a follower in its own epoch is not beyond it",
    source="seeds 000, 002, 003: remote LEO is the offset of the follower's last fetch request",
    fails_in=RPC,
)
def remote_leo_not_ahead(state: Partition) -> Iterator[str]:
    for leader, replica in state.believed_leaders():
        for follower, known in enumerate(replica.remote_leos):
            target = state.replicas[follower]
            in_its_epoch = target.leader == leader and target.epoch == replica.epoch and follower != leader
            if in_its_epoch and known > target.log.end_offset:
                yield (
                    f"broker {leader} takes {known} for broker {follower}'s log end offset, "
                    f"but that is {target.log.end_offset}"
                )
