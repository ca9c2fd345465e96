"""Compiles the loops before a search begins, so that the time limit of the search does not include the compilation.

Numba compiles a function when it is first called, and stores the result in a file. Therefore the first search takes
about ten seconds longer than later searches, both on a new machine and after leadline is updated.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs

from leadline.checker.action import action
from leadline.checker.formulas import Formula, always, implies, step
from leadline.checker.properties import (
    always_eventually,
    eventually,
    eventually_always,
    invariant,
    recoverable,
    step_invariant,
    temporal,
)
from leadline.checker.spec import Spec

_log = logging.getLogger("leadline")


@attrs.frozen
class _Tick:
    count: int = 0
    even: bool = True


@action("the count grows", by=(1, 2), fair="weak")
def _ticks(state: _Tick, by: int) -> Iterator[_Tick]:
    if state.count + by < 6:
        yield _Tick(state.count + by, (state.count + by) % 2 == 0)


@action("the count starts again")
def _resets(state: _Tick) -> Iterator[_Tick]:
    if state.count == 3:
        yield _Tick()


@invariant("the count is small")
def _is_small(state: _Tick) -> bool:
    return state.count < 5


def _is_more(before: _Tick, after: _Tick) -> bool:
    return after.count > before.count


def _is_none(state: _Tick) -> bool:
    return state.count == 0


_grows = step_invariant("the count grows")(_is_more)
_ends = eventually_always("the count is 0 at last")(_is_none)


@always_eventually("the count is 0 again and again")
def _comes_back(state: _Tick) -> bool:
    return state.count == 0


@recoverable("the count can be 0")
def _can_come_back(state: _Tick) -> bool:
    return state.count == 0


@temporal("the count is 0 after it has grown")
def _starts_again() -> Formula:
    return always(implies(step(_is_more), eventually(_is_none)))


def _spec() -> Spec[_Tick]:
    return Spec(
        name="warming",
        initial_states=lambda _: [_Tick()],
        actions=[_ticks, _resets],
        properties=[_is_small, _grows],
        optional=[_ends, _comes_back, _can_come_back, _starts_again],
        within=lambda state: state.count < 4,
    )


@functools.cache
def compiled_ahead(search: Callable[[Spec[_Tick]], object], loop: object) -> None:
    """Compile the loops of an engine, unless they are already compiled.

    Parameters:
        search: a function that searches a spec with the engine.
        loop: the engine's largest loop. If Numba has not cached it, a message is logged.
    """
    if not _is_kept(loop):
        _log.warning("compiling the engine, which is needed once on each machine and takes about ten seconds")
    search(_spec())


def _is_kept(loop: object) -> bool:
    """Return whether Numba's cache contains this compiled loop."""
    index = getattr(getattr(getattr(loop, "_cache", None), "_cache_file", None), "_index_path", "")
    return Path(index).is_file()
