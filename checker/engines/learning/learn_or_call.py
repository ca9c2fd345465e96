"""Decides between learning from a call and making it again. Every decision is made from counts, never from the clock.

Therefore the load of the machine does not change a decision: a search takes the same way whenever it is repeated with
the same settings. There are three decisions.

- `Objects`: when a search whose states are Python objects moves them into packed words and begins to learn.
- `Effort`: for each function (an action instance, a property, the distance), which of its calls are recorded. A
  function whose results are rarely reused is called instead, and begins to be learned again when they are.
- `Trial`: whether a search that learns saves work. If not, its states become objects again.

The costs of the calls are measured in direct calls on objects. The constants were measured on the ports in
`tests/natural/` and `tests/public/`, on Python 3.11.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

from leadline.checker.properties import Kind
from leadline.checker.result import Statistics
from leadline.checker.settings import Tuning
from leadline.checker.spec import Spec

S = TypeVar("S")

PAYS = 6
"""A call is always recorded if at least this number of states of a block need its result: a recorded call costs
`RECORDED` calls, and half of that is saved at once."""

SELDOM = 60
"""The number of further states that must be found before another call to the same function is recorded."""

RETURN = 10
"""The number of calls that a function's decision tree must save before another call to this function is recorded. A
recorded call takes about ten times as long as a direct call."""

RECORDED, UNLEARNED = 10, 3
"""The costs of a call that is recorded, and of a call in packed form that is not. The second is 1.9 (Klotski) to 4.4
(Nano): the state is built from its words, and the values of the next states are looked up."""

HOPELESS = 1.0
"""The cost of all calls, divided by the number of calls that the oracle makes, above which learning does not pay. Once
most functions are learned, the cost is 0.0 (token ring) to 0.44 (vertices). Where learning does not pay, it is 1.95
(Nano), 2.1 (Klotski) or 3.1 (majority)."""

FALLING = 0.8
"""A cost falls if it is less than this part of the cost before. As long as it falls, learning continues."""

FIRST = 250
"""The number of states expanded in packed form before the first look at the cost. At each later look, the number has
doubled. Nearly all calls before the first look are new in every spec, so only later looks count."""

MOST_RETURNING = 1_000_000
"""The maximum number of states that become objects again, because objects take ten to fifty times the memory."""

NARROW_LEVELS, NARROW = 200, 50
"""The number of levels, and the mean number of states in a level, below which levels are narrow. The compiled loops
take about 2 ms for a level, in which direct calls expand about `NARROW` states. The first levels of every state space
are narrow."""

STEP = 4
"""The work of a step, which hashes a state and looks it up, in calls. So the time for a unit of work differs less
between specs: 4 us (counters) to 20 us (Nano) on a busy machine; 6 to 38 us if calls and steps are counted alike."""

SOONEST = 0.25
"""The part of `Tuning.learn_after` that is done in any case. After that, the states that wait to be expanded count as
done, because the work that they make is known. So a search whose levels grow fast learns after 40,000 calls instead of
160,000 (byzantine_broadcast), and one that will end soon does not learn (coffee_can with 100 beans)."""

FEW = 0.125
"""If the states that wait make less than this part of `Tuning.learn_after`, levels count as shrinking: loops that
expand few states at a time save little (klotski, whose levels have 600 states)."""

SHRINKING = 3
"""If the levels have begun to shrink, the rest of the state space is probably not larger than what has been searched.
The search then learns only after this many times `Tuning.learn_after` calls."""

AGAIN = 8
"""The factor by which the work of a search must have grown before it tries to learn again."""

OFTEN = 32
"""The number of states expanded between two decisions whether to begin to learn."""


class Effort:
    """Counts the recorded and the unrecorded calls to each action instance, each property and the distance.

    Recording saves time only if many states use the path of the call. Therefore it is limited to a fraction of the
    states, and of the calls that earlier recorded calls have saved.

    Parameters:
        trees: the number of decision trees. There is one for each action instance, each property and the distance.
        tuning: internal sizes and limits.

    Attributes:
        learned: for each tree, the number of calls that were recorded.
        called: for each tree, the number of calls that were not recorded.
        begun: for each tree, the number of states found before the search began to learn.
    """

    def __init__(self, trees: int, tuning: Tuning) -> None:
        self._tuning = tuning
        self.learned = [0] * trees
        self.called = [0] * trees
        self.begun = [0] * trees

    def is_worthwhile(self, tree: int, wanted: int, states: int) -> bool:
        """Return whether recording a call and storing its result in a decision tree is likely to save time.

        Parameters:
            tree: the index of the called function's decision tree.
            wanted: the number of states that currently need the result.
            states: the number of states found so far.
        """
        learned, states = self.learned[tree], max(states - self.begun[tree], 0)
        spared = max(states - learned - self.called[tree], 0)
        return wanted >= PAYS or learned < self._tuning.always + states // SELDOM + spared // RETURN


class LearningPays(Exception):
    """Raised between two states of a search with objects, when learning is expected to pay from now on."""


class CallingPays(Exception):
    """Raised between two blocks of a search with packed states, when direct calls on objects cost less."""


class Objects:
    """Decides when a search with objects begins to learn: when its work, done and waiting, is as much as loading the
    compiled loops.

    Parameters:
        after: the work, in calls, after which learning may begin.
    """

    def __init__(self, spec: Spec[S], after: int) -> None:
        self._spec, self._after, self._next = spec, after, OFTEN
        self._soonest = SOONEST * after

    def check(self, now: Statistics, levels: Sequence[int], found: int) -> None:
        """Decide before a state is expanded.

        Parameters:
            levels: the number of states in each level, up to the level that is being expanded.
            found: the number of states of the next level that have been found.

        Raises:
            LearningPays: if learning is expected to pay.
        """
        if now.expanded < self._next:
            return
        self._next = now.expanded + OFTEN
        initials, waiting = len(self._spec.initials()), now.distinct - now.expanded
        done, begun = work(self._spec, now), STEP * initials + calls_by_oracle(self._spec, 0, initials, initials)
        ahead = waiting * (done - begun) // now.expanded
        if done < self._soonest or is_narrow(now.expanded, now.depth):
            return
        is_shrinking = (levels[-1] < max(levels) and found < max(levels)) or ahead < FEW * self._after
        if done + ahead >= (SHRINKING if is_shrinking else 1) * self._after:
            raise LearningPays

    def again(self, now: Statistics) -> None:
        """Learning has not paid. Decide again only when the search is much larger."""
        self._after = self._soonest = AGAIN * work(self._spec, now)


class Trial:
    """Decides whether a search with packed states saves calls; see `HOPELESS`.

    Parameters:
        begun, depth: the number of expanded states, and of levels, before the search began to learn.
    """

    def __init__(self, begun: int = 0, depth: int = 0) -> None:
        self._begun, self._depth, self._states = begun, depth, FIRST
        self._cost = self._calls = 0
        self._last: float | None = None

    def room(self, expanded: int) -> int:
        """Return the number of states to expand before the next decision, or a large number if there is none."""
        left = self._begun + self._states - expanded
        return left if left > 0 else sys.maxsize  # `check` has decided nothing, so it decides nothing any more

    def check(self, expanded: int, statistics: Callable[[], Statistics]) -> None:
        """Decide between two blocks of states.

        Parameters:
            expanded: the number of expanded states.
            statistics: a function that returns the current statistics.

        Raises:
            CallingPays: if direct calls cost less.
        """
        if expanded - self._begun < self._states or expanded > MOST_RETURNING:
            return
        now = statistics()
        assert now.learning is not None
        self._states *= 2
        cost = RECORDED * now.calls + UNLEARNED * now.learning.called
        share = (cost - self._cost) / max(now.learning.by_oracle - self._calls, 1)
        self._cost, self._calls = cost, now.learning.by_oracle
        if is_narrow(expanded - self._begun, now.depth - self._depth):
            raise CallingPays
        if self._last is None:
            self._last = math.inf
            return
        if share > HOPELESS and share >= FALLING * self._last:
            raise CallingPays
        self._last = share


def is_narrow(expanded: int, depth: int) -> bool:
    """Return whether direct calls are faster than compiled loops because each level has few states.

    Parameters:
        expanded: the number of states expanded.
        depth: the number of levels in which they are.
    """
    return depth >= NARROW_LEVELS and expanded < NARROW * depth


def work(spec: Spec[S], now: Statistics) -> int:
    """Return the work of a search with objects, in calls; see `STEP`."""
    return STEP * now.generated + calls_by_oracle(spec, now.expanded, now.distinct + now.outside, now.generated)


def calls_by_oracle(spec: Spec[S], expanded: int, distinct: int, steps: int) -> int:
    """Return the number of calls to a spec's functions that the oracle engine would make in a search with the given
    counts.

    Parameters:
        expanded: the number of states expanded.
        distinct: the number of distinct states found.
        steps: the number of steps between these states.
    """
    of_states = spec.checks_of(Kind.INVARIANT, Kind.WITNESS, Kind.PREMISE, Kind.WITHIN)
    of_steps = spec.checks_of(Kind.STEP_INVARIANT, Kind.STEP_WITNESS)
    return expanded * len(spec.instances) + distinct * len(of_states) + steps * len(of_steps)
