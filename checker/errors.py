"""Errors that a user can cause. Each message is one line that names the cause and says how to correct it."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

_OBSERVING = Path(__file__).parent / "observing"
_LIBRARIES = (  # including the modules that replace `attrs.evolve`, tuples and collections
    *(sysconfig.get_path(kind) for kind in ("stdlib", "purelib", "platlib")),
    *(str(_OBSERVING / f"{name}.py") for name in ("lazy", "recording", "tuple_views", "collection_views")),
)


class LeadlineError(Exception):
    """An error that the user can correct. Its message is one line; the command line exits with code 2."""


class SpecError(LeadlineError):
    """A spec, action, property or bound is invalid, or failed while it ran."""


class Damaged(LeadlineError):
    """A file of a saved search is missing, or its content has changed since it was written."""


class TraceError(LeadlineError):
    """A trace file cannot be read, or the model no longer allows its trace."""


def raised(error: BaseException) -> str:
    """Describe an exception, for the end of a sentence.

    The exception can be any `BaseException`: ``sys.exit`` and ``pytest.fail`` do not raise an `Exception`, and a spec
    must not terminate the checker.
    """
    return f"{'must not exit, but raised' if isinstance(error, SystemExit) else 'raised'} {error_line(error)}"


def error_text(error: BaseException) -> str:
    """The message of an exception in one line. The exception's ``__str__`` may itself raise an exception."""
    try:
        return " ".join(str(error).split())
    except Exception:
        return "an error whose text cannot be shown"


def error_line(error: BaseException) -> str:
    """Describe an exception in one line, with the innermost source line that is not in a library or generated code."""
    places = traceback.extract_tb(error.__traceback__)
    where = next((p for p in reversed(places) if not p.filename.startswith(("<", *_LIBRARIES))), places[-1])
    return f"{type(error).__name__}: {error_text(error)} ({where.filename.rsplit('/', 1)[-1]}, line {where.lineno})"
