"""Errors that can occur with real brokers."""

from __future__ import annotations

from leadline.checker.errors import LeadlineError


class BrokerError(LeadlineError):
    """Raised when a real broker cannot be started or used.

    The message is one line. The command line prints it and exits with code 2. If running brokers do not execute a step
    of a trace, that is a result of the replay, not an error.
    """


class NotExecutable(LeadlineError):
    """Raised when real brokers cannot execute a step of a trace.

    Attributes:
        step: the number of the step in the trace, from 1.
        reason: the reason why brokers cannot execute the step.
    """

    def __init__(self, step: int, reason: str) -> None:
        super().__init__(f"step {step} cannot be made from outside: {reason}")
        self.step = step
        self.reason = reason
