"""What brokers did in a step of a plan."""

from __future__ import annotations

import attrs

from leadline.brokers.driver.plan import PlannedStep
from leadline.brokers.driver.sight import Sight


@attrs.frozen
class StepReport:
    """What the brokers did in a step.

    Attributes:
        step: the step of the plan.
        did: what was done and seen, a line each: frames, files, processes.
        sight: what was seen after the step.
        differences: how that differs from the model. Empty if the step was made as in the model.
        not_made: why the step could not be made, or an empty string.
        seconds: how long the step took.
    """

    step: PlannedStep
    did: tuple[str, ...]
    sight: Sight
    differences: tuple[str, ...] = ()
    not_made: str = ""
    seconds: float = 0.0

    @property
    def is_as_in_model(self) -> bool:
        """Whether the step was made, and nothing that can be seen differs from the model."""
        return not self.differences and not self.not_made


@attrs.frozen
class Attempt:
    """An attempt at a step that the model does not allow.

    Attributes:
        made: whether the brokers made the step nevertheless.
        did: what was done and seen, a line each.
    """

    made: bool
    did: tuple[str, ...]


@attrs.define
class Produced:
    """A record that was sent to a leader.

    Attributes:
        value: the value of the record in the model.
        leader: the broker that it was sent to.
        outcome: ``waiting``, ``acknowledged at offset 3``, or why it was not acknowledged.
        offset: the offset, once it is acknowledged.
    """

    value: int
    leader: int
    outcome: str = "waiting"
    offset: int | None = None
