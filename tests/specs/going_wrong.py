"""Specs that are violated in a few states, if code is recorded correctly there; and the results of engines on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import attrs

from leadline.checker import Action, Limits, Spec, SpecError, action, invariant
from leadline.checker.settings import Tuning

S = TypeVar("S", bound=attrs.AttrsInstance)

ONLY_LEARNED = Tuning(
    compared=False,
    block=50,
    alone=1000,
    asked=5,
    always=10**9,
    helped_after=10**9,
    verify=0.0,
)
"""All that can be learned is, no comparison of it with what functions do is made, and blocks are small."""


def spec_going_wrong(start: S, steps: Sequence[Action[S, ...]], wrong: Callable[[S], bool], *, guard: bool) -> Spec[S]:
    """A spec that is violated where a function says so.

    Parameters:
        start: the initial state. Its class has a field ``error``, which no step sets.
        steps: the actions.
        wrong: looks at a state.
        guard: whether an action calls it, or else an invariant.
    """

    @action()
    def go_wrong(s: Any) -> Iterator[Any]:
        if wrong(s) and not s.error:
            yield attrs.evolve(s, error=True)

    @invariant("nothing goes wrong")
    def right(s: Any) -> bool:
        return not (s.error if guard else wrong(s))

    return Spec(
        name="going wrong",
        initial_states=lambda _: [start],
        actions=[*steps, go_wrong] if guard else steps,
        properties=[right],
    )


def answer(explore: Callable[..., Any], spec: Spec[Any], **settings: Any) -> Any:
    """What an engine says, or "refused"."""
    try:
        result = explore(spec, Limits(), **settings)
    except SpecError:
        return "refused"
    (item,) = result.properties
    statistics = result.statistics
    return item.verdict, list(map(len, item.traces)), statistics.distinct, statistics.generated
