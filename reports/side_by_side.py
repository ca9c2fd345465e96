"""Make the small searches of a suite in several processes at the same time.

A process sends back what its search found, with traces as text, which are executed again before they are used. A search
that is not small, or that failed, is made by the caller in its own process, which has all cores and memory, and shows
its progress and its error.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from leadline.checker.errors import LeadlineError
from leadline.checker.mutation.processes import answers
from leadline.checker.result import PropertyResult, Result, StopKind
from leadline.checker.traces.itf import decode_trace, encode_trace
from leadline.checker.traces.replay import replay
from leadline.reports.suite import Outcome, PreparedCheck

SMALL = 100_000
"""The number of distinct states at which a search is not small. It takes about ten seconds and 100 MiB."""

_LONGEST = 60.0
"""The seconds after which a process is ended. Its search is then not small, however few states it has."""


class SideBySide:
    """The outcomes of those checks whose searches are small.

    Parameters:
        checks: the checks, in the order in which their outcomes will be asked for.
        workers: the number of processes.
        verify: see `PreparedCheck.run`.
    """

    def __init__(self, checks: Sequence[PreparedCheck], workers: int, verify: float | None) -> None:
        self._checks = {each.title: each for each in checks if _may_be_small(each)}
        self._found = dict[str, Result | None]()
        calls = ((title, functools.partial(_searched, each, verify)) for title, each in self._checks.items())
        self._answers = answers(calls, workers, _LONGEST)

    def __enter__(self) -> SideBySide:
        return self

    def __exit__(self, *_: object) -> None:
        self._answers.close()

    def outcome(self, prepared: PreparedCheck) -> Outcome | None:
        """Return the outcome of a check, or None if its search must be made here. Wait for it if necessary."""
        title = prepared.title
        while title in self._checks and title not in self._found:
            answer = next(self._answers)
            self._found[answer.name] = answer.found if isinstance(answer.found, Result) else None
        found = self._found.pop(title, None)
        if found is None:
            return None
        try:
            return Outcome(prepared, _received(prepared, found))
        except LeadlineError:  # such as a trace that cannot be executed again: the search here tells why
            return None


def _may_be_small(prepared: PreparedCheck) -> bool:
    """Return whether the search may be made beside others. One with a time limit would find less beside them."""
    return prepared.check.engine == "explore" and prepared.check.max_seconds is None


def _searched(prepared: PreparedCheck, verify: float | None) -> Result | None:
    """Make a search with a limit. Return its result as it can be sent, or None if it is not small."""
    most = prepared.check.max_states
    limited = attrs.evolve(prepared.check, max_states=SMALL if most is None else min(most, SMALL))
    result = attrs.evolve(prepared, check=limited).run(verify=verify, workers=1).result
    stop = result.stop
    if stop is not None and stop.kind not in (StopKind.VIOLATION, StopKind.DEPTH, StopKind.OPEN):
        return None
    nothing: Any = None  # stands for the spec and the property, whose functions cannot be sent
    properties = [
        attrs.evolve(each, property=nothing, traces=tuple(map(encode_trace, each.traces))) for each in result.properties
    ]
    return attrs.evolve(result, spec=nothing, properties=tuple(properties))


def _received(prepared: PreparedCheck, sent: Result) -> Result:
    """Return a result as it was before it was sent."""
    spec = prepared.spec

    def properties() -> Iterator[PropertyResult]:
        for own, each in zip(spec.checks, sent.properties, strict=True):
            traces: Any = each.traces
            yield attrs.evolve(each, property=own, traces=tuple(replay(spec, decode_trace(trace)) for trace in traces))

    return attrs.evolve(sent, spec=spec, properties=tuple(properties()))
