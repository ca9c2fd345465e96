"""The mistakes a user can make: each is one line that names the thing and what would be right."""


class LeadlineError(Exception):
    """A mistake the user can correct. Its text is one line; the command line ends with exit code 2."""


class SpecError(LeadlineError):
    """A spec, action, property or bound that makes no sense, or that misbehaved while it ran."""


class TraceError(LeadlineError):
    """A trace file that cannot be read, or that the model no longer follows."""
