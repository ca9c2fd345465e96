"""Find the reason for a failure in the log of a process."""

from __future__ import annotations

import re
from collections.abc import Iterator

import attrs

_ENTRY = re.compile(r"[0-9:.]+ (FATAL|ERROR|WARN|INFO) (?P<message>.*)")
_SEVERE = re.compile(r"[0-9:.]+ (FATAL|ERROR) ")
_THROWN = re.compile(r"(?:Exception in thread \S+ |Caused by: |Error: )?((?:[a-z]\w*\.)+\w*(?:Exception|Error)\b.*)")


@attrs.frozen
class _Failure:
    """An error in a log. Its cause is the last exception in the stack trace, or empty if there is no trace."""

    message: str
    cause: str


def reason(log: str) -> str:
    """Return the line of a log that most likely gives the reason for a failure.

    The line is, in order of preference, a fatal error with a stack trace, an error with a stack trace, any other error,
    an exception that is not logged as an error, or the last line.

    Parameters:
        log: the log, in the format of `leadline.brokers.configuration.logging_options`, including the output of Java.
    """
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    failures = list(_failures(lines))
    with_cause = [each for each in failures if each.cause]
    fatal = [each for each in with_cause if "fatal" in each.message.lower()]
    for found in (*fatal, *with_cause, *failures):
        return f"{found.message}: {found.cause}" if found.cause else found.message
    thrown = [match[1] for match in map(_THROWN.fullmatch, lines) if match]
    return (thrown or lines or ["it wrote nothing"])[-1]


def _failures(lines: list[str]) -> Iterator[_Failure]:
    for at, line in enumerate(lines):
        if _SEVERE.match(line):
            entry = _ENTRY.fullmatch(line)
            message = entry["message"] if entry else line
            yield _Failure(re.sub(r" \([\w.$]+\)$", "", message), _cause(lines[at + 1 :]))


def _cause(following: list[str]) -> str:
    """Return the last exception in the stack trace at the beginning of the given lines. Return an empty string if there
    is no stack trace.
    """
    cause = ""
    for line in following:
        thrown = _THROWN.fullmatch(line)
        if thrown:
            cause = thrown[1]
        elif not cause or _ENTRY.match(line):
            break
    return cause
