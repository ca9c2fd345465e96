"""Reports on steps that were executed on real brokers."""

from __future__ import annotations

from typing import Any, Protocol

import attrs

from leadline.brokers.plans import AnyStep


class AnyObserved(Protocol):
    """The observed part of a state, for any family of specs.

    It can be converted to text for each row in the drawing of a state, and to an object for `json.dumps`.
    """

    @property
    def columns(self) -> dict[str, str]: ...
    @property
    def as_object(self) -> dict[str, Any]: ...


@attrs.frozen
class StepReport:
    """A report on the execution of a step.

    Attributes:
        step: the step of the plan.
        did: a line for each operation and observation.
        observed: the observed state after the step.
        differences: the differences between the observed state and the model. Empty if there are none.
        not_made: the reason why the step failed, or an empty string.
        seconds: the duration of the step.
    """

    step: AnyStep
    did: tuple[str, ...]
    observed: AnyObserved
    differences: tuple[str, ...] = ()
    not_made: str = ""
    seconds: float = 0.0

    @property
    def is_as_in_model(self) -> bool:
        """Whether the step was executed, and the observed state equals the state of the model."""
        return not self.differences and not self.not_made


@attrs.frozen
class Attempt:
    """An attempt at a step that the model does not allow.

    Attributes:
        made: whether the brokers executed the step nevertheless.
        did: a line for each operation and observation.
    """

    made: bool
    did: tuple[str, ...]


@attrs.define
class Produced:
    """A record that was sent to a leader.

    Attributes:
        value: the model's value for the record.
        leader: the broker to which it was sent.
        outcome: ``waiting``, ``acknowledged at offset 3``, or the reason why the record was not acknowledged.
        offset: the offset in the acknowledgement, or None if there is none.
    """

    value: int
    leader: int
    outcome: str = "waiting"
    offset: int | None = None
