"""The mistakes a user can make: each is one line that names the thing and what would be right."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

_OBSERVING = Path(__file__).parent / "observing"
_LIBRARIES = (  # and what stands in for `attrs.evolve`, tuples and collections
    *(sysconfig.get_path(kind) for kind in ("stdlib", "purelib", "platlib")),
    *(str(_OBSERVING / f"{name}.py") for name in ("lazy", "recording", "tuple_views", "collection_views")),
)


class LeadlineError(Exception):
    """A mistake the user can correct. Its text is one line; the command line ends with exit code 2."""


class SpecError(LeadlineError):
    """A spec, action, property or bound that makes no sense, or that misbehaved while it ran."""


class Damaged(LeadlineError):
    """A file of a saved search is missing, or is not as it was written."""


class TraceError(LeadlineError):
    """A trace file that cannot be read, or that the model no longer follows."""


def raised(error: BaseException) -> str:
    """What was raised, for the end of a sentence.

    It need not be an `Exception`: ``sys.exit`` and ``pytest.fail`` raise others, and no spec may end its checker.
    """
    return f"{'must not exit, but raised' if isinstance(error, SystemExit) else 'raised'} {error_line(error)}"


def error_text(error: BaseException) -> str:
    """The text of an error in one line. It may be of any class, whose ``__str__`` may raise."""
    try:
        return " ".join(str(error).split())
    except Exception:
        return "an error whose text cannot be shown"


def error_line(error: BaseException) -> str:
    """An error in one line, with the innermost place that is not in a library or generated code."""
    places = traceback.extract_tb(error.__traceback__)
    where = next((p for p in reversed(places) if not p.filename.startswith(("<", *_LIBRARIES))), places[-1])
    return f"{type(error).__name__}: {error_text(error)} ({where.filename.rsplit('/', 1)[-1]}, line {where.lineno})"
