"""The exceptions for errors that a user can correct.

Each message is one line that says what is wrong and how to correct it.
"""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

_CHECKER = str(Path(__file__).parent)
_LIBRARIES = tuple(sysconfig.get_path(kind) for kind in ("stdlib", "purelib", "platlib"))


class LeadlineError(Exception):
    """The base class of the errors that a user can correct.

    The message is one line. The command line prints it and exits with code 2.
    """


class SpecError(LeadlineError):
    """Raised if a spec, an action, a property or a bound is invalid, or if the code of a spec raised an exception."""


class Damaged(LeadlineError):
    """Raised if a file of a saved search is missing or has been changed since it was written."""


class TraceError(LeadlineError):
    """Raised if a trace file cannot be read, or if its steps are not possible in the model."""


def raised(error: BaseException) -> str:
    """Return a phrase that describes an exception, such as ``raised ValueError: ...``.

    Parameters:
        error: any exception that the code of a spec raised. It need not be an instance of `Exception`: `sys.exit` and
            ``pytest.fail`` raise other exceptions, which must not end the checker either.
    """
    return f"{'must not exit, but raised' if isinstance(error, SystemExit) else 'raised'} {error_line(error)}"


def error_text(error: BaseException) -> str:
    """Return the message of an exception as one line of text.

    If ``str(error)`` itself raises an exception, return a fixed text.
    """
    try:
        return " ".join(str(error).split())
    except Exception:
        return "an error whose text cannot be shown"


def error_line(error: BaseException) -> str:
    """Return the type, the message and the source line of an exception as one line of text.

    The source line is the innermost line of the traceback outside of libraries, generated code and this package. It is
    omitted if all lines are inside, for example because a function was called with the wrong number of arguments.
    """
    places = traceback.extract_tb(error.__traceback__)
    where = next((p for p in reversed(places) if not p.filename.startswith(("<", _CHECKER, *_LIBRARIES))), None)
    place = f" ({where.filename.rsplit('/', 1)[-1]}, line {where.lineno})" if where is not None else ""
    return f"{type(error).__name__}: {error_text(error)}{place}"
