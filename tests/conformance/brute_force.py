"""The definition of conformance, tried in every order: the reference for the search."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence

import attrs

from leadline.checker.conformance import HiddenStep, Observation

Cells = tuple[int, ...]
VALUES = 3


def first_rejected(
    initials: Sequence[Cells],
    observations: Sequence[Observation[Cells]],
    hidden: Callable[[Cells], Iterable[HiddenStep[Cells]]],
) -> int | None:
    """Return the number of the first observation that nothing explains, in the order of deadlines, or None.

    The observations up to number `k` are explained if they can be taken, in an order that has moments, together with
    any of the later ones, as the definition says.
    """
    ranked = sorted(range(len(observations)), key=lambda i: (observations[i].latest, observations[i].earliest, i))
    for k in range(1, len(ranked) + 1):
        due = frozenset(ranked[:k])
        if not any(_explained(state, observations, due, hidden) for state in initials):
            return k
    return None


def _explained(
    initial: Cells,
    observations: Sequence[Observation[Cells]],
    due: frozenset[int],
    hidden: Callable[[Cells], Iterable[HiddenStep[Cells]]],
) -> bool:
    """Return whether the observations `due` can be taken, and any others with them."""
    seen = set()
    stack: list[tuple[tuple[int, ...], Cells]] = [((), initial)]
    while stack:
        taken, state = stack.pop()
        if (frozenset(taken), state) in seen:
            continue
        seen.add((frozenset(taken), state))
        if all(i in taken or observations[i].optional for i in due):
            return True
        for step in hidden(state):
            stack.append((taken, step.after))
        for i, observation in enumerate(observations):
            if i not in taken and _has_moments(taken, i, observations, due):
                stack += [((*taken, i), after) for after in observation.apply(state)]
    return False


def _has_moments(
    taken: Sequence[int], following: int, observations: Sequence[Observation[Cells]], due: frozenset[int]
) -> bool:
    """Return whether an observation may come next: no other one that has to be taken must come before it."""
    rest = [i for i in due if i != following and i not in taken and not observations[i].optional]
    begins = observations[following].earliest
    return all(observations[i].latest >= begins for i in rest) and all(
        observations[i].earliest <= observations[following].latest for i in taken
    )


@attrs.frozen(eq=False)
class Case:
    """A random recording: its initial states, observations by their beginnings, and the hidden steps of each state."""

    initials: tuple[Cells, ...]
    observations: tuple[Observation[Cells], ...]
    hidden: Callable[[Cells], list[HiddenStep[Cells]]]
    touched_by_hidden: tuple[frozenset[str], ...]


def random_case(seed: int, *, size: int = 6) -> Case:
    """Return a recording over states of three small cells. Observations and hidden steps touch one or two of them."""
    rng, others = random.Random(seed), random.Random(~seed)
    observations = []
    for number in range(rng.randint(1, size)):
        begins = rng.randint(0, 8)
        change, checks = _random_change(rng), others.random() < 0.3
        if checks:
            change = attrs.evolve(change, table={each: (each,) if change.table[each] else () for each in change.table})
        observations.append(
            Observation(
                earliest=begins,
                latest=begins + rng.choice([0, 0, 1, 2, 3, 5]),
                label=f"observation {number} of {sorted(change.touches)}",
                apply=change,
                touches=change.touches,
                checks=checks,
                optional=rng.random() < 0.15,
            )
        )
    hidden_changes = [_random_change(rng, likely=0.35) for _ in range(rng.randint(0, 2))]

    def hidden(state: Cells) -> list[HiddenStep[Cells]]:
        return [
            HiddenStep(f"hidden {number}", "hide", after, change.touches)
            for number, change in enumerate(hidden_changes)
            for after in change(state)
        ]

    initials = tuple({tuple(rng.randrange(VALUES) for _ in range(3)) for _ in range(rng.randint(1, 2))})
    observations.sort(key=lambda observation: observation.earliest)
    return Case(initials, tuple(observations), hidden, tuple(change.touches for change in hidden_changes))


@attrs.frozen(eq=False)
class Change:
    """A random relation between the values of some cells before and after a step."""

    cells: tuple[int, ...]
    table: dict[Cells, tuple[Cells, ...]]

    @property
    def touches(self) -> frozenset[str]:
        return frozenset(f"cell {cell}" for cell in self.cells)

    def __call__(self, state: Cells) -> Iterator[Cells]:
        for values in self.table[tuple(state[cell] for cell in self.cells)]:
            after = list(state)
            for cell, value in zip(self.cells, values, strict=True):
                after[cell] = value
            yield tuple(after)


def _random_change(rng: random.Random, likely: float = 0.6) -> Change:
    cells = tuple(sorted(rng.sample(range(3), rng.choice([1, 1, 2]))))
    every: list[Cells] = list(itertools.product(range(VALUES), repeat=len(cells)))
    table = {
        values: tuple(rng.sample(every, rng.choice([1, 1, 2]))) if rng.random() < likely else () for values in every
    }
    return Change(cells, table)
