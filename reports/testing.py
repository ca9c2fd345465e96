"""Assertions for test suites. An assertion checks a spec in one line, and shows the trace if it fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from leadline.checker.engines import ENGINES, searched
from leadline.checker.engines.set_order import with_order_checked
from leadline.checker.result import Limits, Result, Verdict
from leadline.checker.settings import RandomSettings
from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.checker.trace import Trace
from leadline.reports.loading import load_spec
from leadline.reports.runs.phrases import violations
from leadline.reports.terminal.trace import plain_text

Value = int | bool | str

__all__ = ["assert_holds", "assert_not_violated", "assert_violated"]


def assert_holds(
    spec: Spec[Any] | str,
    /,
    *,
    properties: Iterable[str] | None = None,
    limits: Limits | None = None,
    allow_incomplete: bool = False,
    **bounds: Value,
) -> Result:
    """Search all reachable states of a spec, and fail the test unless all properties hold.

    Parameters:
        spec: the spec, or its name as for `leadline explore`.
        properties: the names of the properties to check. By default, all properties of the spec.
        allow_incomplete: true if the test should also pass when the search reaches a limit without finding a violation.
        bounds: the bounds that differ from the bounds of the spec.

    Returns:
        The result of the search.

    Raises:
        AssertionError: if a property is violated, or if the search is incomplete. The message contains the trace of a
            violation.
        LeadlineError: if the spec, a bound or a property does not exist, or if the code of the spec raised an error.

    Example:
        >>> assert_holds("atomic/kip-320", brokers=2, log_size=1, records=1).statistics.depth
        12
    """
    __tracebackhide__ = True  # pytest shows the test, not this function
    chosen = _chosen(spec, bounds, properties)
    result = searched(chosen, limits)
    where = visible(f"{chosen.name} with {chosen.named_bounds}")
    if result.verdict is Verdict.VIOLATED:
        raise AssertionError(f"{where}: {violations(result, '{} is violated', '{} is never shown')}{_shown(result)}")
    if result.verdict is Verdict.INCOMPLETE and not allow_incomplete:
        raise AssertionError(f"{where}: the search is incomplete, so it proves nothing: {result.reason}")
    return result


def assert_violated(
    spec: Spec[Any] | str,
    name: str,
    /,
    *,
    length: int | None = None,
    limits: Limits | None = None,
    **bounds: Value,
) -> Trace[Any]:
    """Search a spec for a counterexample to a property, and fail the test if there is none.

    Parameters:
        spec: the spec, or its name as for `leadline explore`.
        length: the expected number of states in a shortest counterexample, or None for any number.
        bounds: the bounds that differ from the bounds of the spec.

    Returns:
        A shortest counterexample.

    Raises:
        AssertionError: if no violation is found, or if a shortest counterexample has a different length.
        LeadlineError: if the spec, a bound or a property does not exist, or if the code of the spec raised an error.

    Example:
        >>> trace = assert_violated("atomic/hw-truncation", "strong_isr", length=10)
        >>> trace.instances[-1]
        become_follower(broker=1, epoch=1)
    """
    __tracebackhide__ = True  # pytest shows the test, not this function
    chosen = _chosen(spec, bounds, [name])
    result = searched(chosen, limits)
    where = visible(f"{chosen.name} with {chosen.named_bounds}: {name}")
    item = result.of(name)
    if item.verdict is Verdict.INCOMPLETE:
        raise AssertionError(f"{where}: the search is incomplete: {result.reason}")
    if item.verdict is Verdict.HOLDS:
        raise AssertionError(f"{where} is not violated in any of the {result.statistics.distinct:,} states")
    if not item.traces:
        raise AssertionError(f"{where} is a witness that is never shown, so there is no trace")
    trace = item.traces[0]
    if length is not None and len(trace) != length:
        raise AssertionError(f"{where} is violated by a trace of {len(trace)} states, not {length}{_shown(result)}")
    return trace


def assert_not_violated(
    spec: Spec[Any] | str,
    settings: RandomSettings | None = None,
    /,
    *,
    properties: Iterable[str] | None = None,
    limits: Limits | None = None,
    **bounds: Value,
) -> Result:
    """Search behaviours of a spec at random, and fail the test if a property is violated.

    Parameters:
        spec: the spec, or its name as for `leadline fuzz`.
        settings: the settings of the search, such as the number of behaviours and the seed.
        properties: the names of the properties to check. By default, all properties of the spec.
        bounds: the bounds that differ from the bounds of the spec.

    Returns:
        The result of the search. It is incomplete, because a random search cannot show that a property holds.

    Raises:
        AssertionError: if a property is violated. The message contains the trace.
        LeadlineError: if the spec, a bound or a property does not exist, or if the code of the spec raised an error.

    Example:
        >>> from leadline.checker.settings import RandomSettings
        >>> result = assert_not_violated("atomic/kip-320", RandomSettings(examples=100, seed=7))
        >>> result.statistics.walked.behaviours
        100
    """
    __tracebackhide__ = True  # pytest shows the test, not this function
    chosen, settings = _chosen(spec, bounds, properties), settings or RandomSettings()
    result = with_order_checked(chosen, lambda: ENGINES["random"](chosen, limits, settings=settings))
    if result.interrupted:
        raise KeyboardInterrupt
    if result.verdict is Verdict.VIOLATED:
        where = visible(f"{chosen.name} with {chosen.named_bounds}, seed {settings.seed}")
        raise AssertionError(f"{where}: {violations(result, '{} is violated', '')}{_shown(result)}")
    return result


def _chosen(spec: Spec[Any] | str, bounds: Mapping[str, Value], properties: Iterable[str] | None) -> Spec[Any]:
    found = (load_spec(spec) if isinstance(spec, str) else spec).with_bounds(bounds)
    return found if properties is None else found.with_properties(properties)


def _shown(result: Result) -> str:
    """Return text to append to an error message: the first counterexample, or an empty string if there is none."""
    violated = (item for item in result.properties if item.verdict is Verdict.VIOLATED)
    return next((f"\n\n{plain_text(trace)}" for item in violated for trace in item.traces), "")
