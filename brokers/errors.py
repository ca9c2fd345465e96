"""What keeps real brokers from running."""

from __future__ import annotations

from leadline.checker.errors import LeadlineError


class BrokerError(LeadlineError):
    """Real brokers cannot be started, or one of them does not come up.

    The message is one line. The command line prints it and exits with code 2. A step of a trace that could not be made
    on brokers that run is an outcome, not this error.
    """


class Unmakeable(LeadlineError):
    """A step of a trace cannot be made on real brokers from outside.

    Attributes:
        step: the number of the step in the trace, from 1.
        reason: why it cannot be made.
    """

    def __init__(self, step: int, reason: str) -> None:
        super().__init__(f"step {step} cannot be made from outside: {reason}")
        self.step = step
        self.reason = reason
