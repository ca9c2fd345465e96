"""The bounds of a search of the consumer protocol."""

from __future__ import annotations

import attrs

from leadline.checker.bounds import bound
from leadline.model.group import bounds


@attrs.frozen
class Bounds(bounds.Bounds):
    """The limits that make the state space finite, a setting of the brokers, and one of consumers."""

    any_target: bool = bound(False, "the assignor is a plugin that may assign anything, not UniformAssignor")
    same_instance: bool = bound(False, "static: consumers 0 and 1 have the same group.instance.id")
