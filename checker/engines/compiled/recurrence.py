"""Estimates the fraction of calls that cannot be learned. The estimate is made before the compiler is loaded.

The result of a call is learned once for all states with the same values in the slots that the call read. In some state
spaces, hardly any states have the same values, because each state contains a value that never recurs. There, learning
costs more than it saves. The estimate is based on a few recorded calls and a sample of states: for each call, it looks
for an earlier state with the same values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.learning.calls import Caller
from leadline.checker.engines.learning.restart import CHANGES, NO_ADJUSTMENTS, Adjustments, Crowded
from leadline.checker.engines.purity import Purity
from leadline.checker.errors import SpecError
from leadline.checker.observing.layout import Layout
from leadline.checker.observing.lazy import make_ordinary
from leadline.checker.properties import Kind
from leadline.checker.settings import DEFAULT, Tuning
from leadline.checker.spec import Spec

S = TypeVar("S")

CALLS = 400
"""The number of calls that are recorded."""

FUNCTIONS = 8
"""The maximum number of actions, and of properties, that are called. The analysis of each takes some time."""

TREES = 24
"""The maximum number of instances of these actions and properties that are called."""

POOR = 0.3
"""If a larger fraction of the work is new, learning saves little or nothing, because a call that is not learned takes
at least twice as long during a search with transition tables. It makes no difference whether the fraction is falling:
if it falls below this number, a later estimate will find that."""

ATTEMPTS = 8
"""The number of times that the sample is converted to rows because a part of the state must be split or must not."""


FEWEST = 40
"""The minimum number of states for an estimate."""


class Shares(NamedTuple):
    """The fractions of the work that cannot be learned from earlier states.

    Attributes:
        before: the fraction for the second quarter of the states.
        now: the fraction for the second half of the states.
    """

    before: float
    now: float


def learning_pays(spec: Spec[S], states: Sequence[S], tuning: Tuning = DEFAULT) -> bool:
    """Estimate whether enough results of calls can be reused for learning to save time.

    The estimate is wrong if results are reused only later in the search, so it should be repeated with more states. If
    no estimate can be made, for example because a call raises an exception, return True.

    Parameters:
        spec: the spec.
        states: states in the order in which a breadth-first search found them.
        tuning: internal settings, including the size of the sample.
    """
    if len(states) < FEWEST or not tuning.sampled_states:
        return True
    shares = shares_of_new_work(spec, states[:: -(-len(states) // tuning.sampled_states)], tuning)
    return shares is None or min(shares) < POOR


def shares_of_new_work(spec: Spec[S], states: Sequence[S], tuning: Tuning = DEFAULT) -> Shares | None:
    """Estimate the fraction of the work that cannot be learned from calls on earlier states.

    The work of a call is 1 plus the number of next states.

    Parameters:
        spec: the spec.
        states: states in the order in which a breadth-first search found them.
        tuning: internal settings.

    Returns:
        The fractions, or None if they cannot be estimated, for example because a call raised an exception.
    """
    # the search itself makes the checks that these settings leave out
    tuning = attrs.evolve(
        tuning, compared_calls=0, made_again=0, made_again_later=2**62, pure_states=0, pure_growth=1e9
    )
    spec, adjustments = _with_few_functions(spec), NO_ADJUSTMENTS
    try:
        for _ in range(ATTEMPTS):
            try:
                return _Sample(spec, states, adjustments, tuning).shares()
            except CHANGES as change:
                adjustments = adjustments.after(change)
    except SpecError:
        pass  # the search will find the error
    finally:
        make_ordinary()
    return None


def _with_few_functions(spec: Spec[S]) -> Spec[S]:
    """Return a copy of a spec that keeps only some of the actions and some of the invariants."""
    first, actions = spec.initials()[:1], [*dict.fromkeys(instance.action for instance in spec.instances)]
    properties = [item for item in spec.properties if item.kind is Kind.INVARIANT and not item.at_rest]
    return attrs.evolve(
        spec,
        initial_states=lambda _: first,
        actions=actions[:: -(-len(actions) // FUNCTIONS)],
        properties=properties[:: -(-len(properties) // FUNCTIONS) or 1],
        check_deadlock=False, final=None, within=None, distance=None, optional=(), fairness={}, cut=None,
    )  # fmt: skip


class _Sample(Generic[S]):
    """One attempt to make the estimate.

    Parameters:
        spec, states, tuning: see `shares_of_new_work`.
        adjustments: the adjustments that earlier attempts required.
    """

    def __init__(self, spec: Spec[S], states: Sequence[S], adjustments: Adjustments, tuning: Tuning) -> None:
        given = adjustments.whole, adjustments.apart, adjustments.read_when_copied
        self._layout = Layout(spec.initials()[0], *given, tuning.many_values)
        rows = self._given = self._layout.rows(states)
        if self._layout.crowded:
            raise Crowded(frozenset(self._layout.crowded))
        self._caller = Caller(spec, self._layout, adjustments.given_states, Purity(spec, tuning), tuning)
        self._rows: NDArray[np.int32] = np.zeros((len(rows), self._layout.slots), np.int32)
        for place, row in enumerate(rows):
            self._rows[place, : len(row)] = row

    def shares(self) -> Shares:
        """Make calls on some of the states, and return the fractions of the work that are new."""
        count, trees = len(self._rows), self._caller.first_step
        chosen = range(0, trees, -(-trees // TREES))
        calls = CALLS // (2 * len(chosen))
        halves = range(count // 4, count // 2), range(count // 2, count)
        for tree in chosen:
            self._caller.take_apart(tree)
        shares = []
        for half in halves:
            places = half[:: -(-len(half) // calls)]
            works = [self._work(tree, place) for tree in chosen for place in places]
            shares.append(sum(work for work, is_new in works if is_new) / sum(work for work, _ in works))
        return Shares(*shares)

    def _work(self, tree: int, place: int) -> tuple[int, bool]:
        """Make a call on a state.

        Returns:
            The work of the call, and whether it is new: no earlier state has the same values in the slots that the call
            read.
        """
        call = self._caller.make(tree, (self._given[place],))
        parts = [call.reads] if call.positions is None else [position.reads for position in call.positions]
        work = 1 + (len(call.gave) if isinstance(call.gave, list) else 0)
        return work, not all(self._agrees(reads, place) for reads in parts)

    def _agrees(self, reads: dict[int, int], place: int) -> bool:
        """Return whether an earlier state has the given values in the given slots."""
        known = {slot: number for slot, number in reads.items() if slot < self._rows.shape[1]}
        if len(known) < len(reads):
            return False
        return bool((self._rows[:place, [*known]] == [*known.values()]).all(axis=1).any())
