"""The bounds of a search of the consumer protocol."""

from __future__ import annotations

import attrs

from leadline.checker.bounds import bound
from leadline.model.group import bounds


@attrs.frozen
class Bounds(bounds.Bounds):
    """The limits that make the state space finite, and settings of the brokers and of consumers."""

    any_target: bool = bound(False, "the assignor is a plugin that may assign anything, not UniformAssignor")
    same_instance: bool = bound(False, "static: consumers 0 and 1 have the same group.instance.id")
    classic_members: int = bound(
        0, "of the consumers, the last with the classic protocol, not static", at_least=0, at_most=4
    )
    classic_cooperative: bool = bound(False, "classic_members: they have CooperativeStickyAssignor")
    migrates: bool = bound(True, "classic_members: group.consumer.migration.policy is bidirectional, not disabled")
