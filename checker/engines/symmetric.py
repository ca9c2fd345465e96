"""The oracle with symmetry: breadth-first search of one state of each orbit, in plain Python.

An orbit consists of the states that the permutations of a group make of each other; see `leadline.checker.symmetry`.
The first state that is found represents its orbit. Nothing is assumed of the spec: for each representative and each
permutation, the steps of the permuted state must be the permuted steps, and every property, `Spec.within` and
`Spec.final` must have the permuted verdicts. So functions are called as often as in a search without symmetry, on every
state of each orbit, but only representatives are kept. A spec that is not symmetric is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from leadline.checker.action import ActionInstance
from leadline.checker.engines.evidence import Sighting
from leadline.checker.engines.oracle import OracleSearch
from leadline.checker.identities import Permutation
from leadline.checker.liveness.refusal import refuse_liveness
from leadline.checker.properties import Property
from leadline.checker.result import OrbitCounts
from leadline.checker.support.escapes import visible
from leadline.checker.symmetry import Symmetry, refused

S = TypeVar("S")


class SymmetricSearch(OracleSearch[S]):
    """A breadth-first search of representatives. For the parameters, see `OracleSearch`.

    Attributes:
        states: the number of states in all orbits that were found, without those for which `Spec.within` is false.

    Raises:
        SpecError: if the spec declares no symmetry, or has a liveness property.
    """

    def _prepare(self) -> None:
        refuse_liveness(self.spec, "a search with symmetry", "select other properties, or search without symmetry")
        self.symmetry = Symmetry(self.spec)
        self.states = 0

    def _initials(self) -> Iterator[S]:
        return (state for state in super()._initials() if self._representative(state) not in self.arrivals)

    def _representative(self, state: S) -> S:
        return representative(self.symmetry, self.arrivals, state)

    def _step(self, state: S, instance: ActionInstance[S], successor: S) -> None:
        super()._step(state, instance, self._representative(successor))

    def _judge_step(self, state: S, instance: ActionInstance[S], successor: S) -> None:
        """Do nothing: steps are judged as they are, and not as steps to a representative; see `_expand`."""

    def _expand(self, state: S) -> None:
        steps = list(self.spec.successors(state))
        twins = self.symmetry.orbit(state)
        found = dict[S, list[tuple[ActionInstance[S], S]]]()
        for by, twin in zip(self.symmetry.group, twins, strict=True):
            if twin not in found:
                found[twin] = list(self.spec.successors(twin))
                for _, successor in found[twin]:
                    self.values.check(successor, twin)
            self._compare_steps(by, (state, twin), steps, found[twin])
        for instance, successor in steps:
            ends = self.symmetry.orbit(successor)
            sightings = [
                Sighting(twin, (self.symmetry.instance(by, instance).of_search, end))
                for by, twin, end in zip(self.symmetry.group, twins, ends, strict=True)
            ]
            self._compare_verdicts(self._step_checks, sightings)
        super()._expand(state)

    def _compare_steps(
        self,
        by: Permutation,
        states: tuple[S, S],
        steps: Sequence[tuple[ActionInstance[S], S]],
        found: Sequence[tuple[ActionInstance[S], S]],
    ) -> None:
        """Check that the steps of the second state are the permuted steps of the first one."""
        symmetry = self.symmetry
        expected = Counter((symmetry.instance(by, each), symmetry.state(by, after)) for each, after in steps)
        given = Counter(found)
        for what, missing in (("does not lead", expected - given), ("leads", given - expected)):
            for instance, after in missing:
                raise refused(symmetry, by, states[1], f"{instance} {what} to {visible(str(after))}")
        if self._deadlock and not steps and self.spec.is_final(states[0]) != self.spec.is_final(states[1]):
            raise refused(symmetry, by, states[1], f"final is {str(self.spec.is_final(states[1])).lower()}")

    def _judge(self, state: S) -> None:
        twins = self.symmetry.orbit(state)
        if state not in self.outside:
            self.states += len(set(twins))
        for by, twin in zip(self.symmetry.group, twins, strict=True):
            self.values.check(twin, state)  # it must be the same as the equal state that the spec makes
            if self.spec.is_within(twin) != (state not in self.outside):
                raise refused(self.symmetry, by, twin, f"within is {str(state in self.outside).lower()}")
        self._compare_verdicts(self._state_checks, [Sighting(twin) for twin in twins])

    def _compare_verdicts(self, checks: Iterable[Property], twins: Sequence[Sighting[S]]) -> None:
        """Judge properties in an orbit of states or steps, and check that the verdicts are the permuted ones.

        Parameters:
            twins: what each permutation makes of the first state or step.
        """
        known = dict[tuple[Property, Sighting[S]], bool]()

        def is_true(item: Property, at: Sighting[S]) -> bool:
            if (item, at) not in known:
                states = (at.state,) if at.step is None else (at.state, at.step[1])
                known[item, at] = self.spec.complaint(item, *states) is None
            return known[item, at]

        for item in checks:
            for by, twin in zip(self.symmetry.group, twins, strict=True):
                other = self.symmetry.check(self.symmetry.inverse(by), item)
                if is_true(item, twin) != is_true(other, twins[0]):
                    what = f"{item.name} is {str(is_true(item, twin)).lower()}"
                    if item.kind.of_steps:
                        what = f"{what} at the step to {visible(str(twin.step[1] if twin.step else ''))}"
                    raise refused(self.symmetry, by, twin.state, what)
            shown = [twin for twin in twins if is_true(item, twin) == item.kind.is_witness]
            if shown and not (item.kind.is_witness and self.sightings[item]):
                self._see(item, shown[0])

    def _steps_into(self) -> Unfolded[S]:
        return Unfolded(self.symmetry, self.arrivals)

    def _publish(self) -> None:
        symmetry = self.symmetry
        self.statistics.orbits = OrbitCounts(len(symmetry.group), symmetry.declared, self.states)
        super()._publish()


def representative(symmetry: Symmetry[S], known: Mapping[S, object], state: S) -> S:
    """Return the one known state in the orbit of a state, or the state itself if there is none."""
    twins = (symmetry.state(by, state) for by in symmetry.group)
    return next((twin for twin in twins if twin in known), state)


class Unfolded(Mapping[S, list[tuple[S, ActionInstance[S]]]], Generic[S]):
    """The last steps of the shortest paths to each state that is known or a permutation of a known one. All steps are
    those of the spec, so that traces are concrete.

    Parameters:
        arrivals: for each representative, the representatives before it, and the action instances that lead from them
            into its orbit.
    """

    def __init__(self, symmetry: Symmetry[S], arrivals: Mapping[S, Sequence[tuple[S, ActionInstance[S]]]]) -> None:
        self._symmetry, self._arrivals = symmetry, arrivals

    def __getitem__(self, state: S) -> list[tuple[S, ActionInstance[S]]]:
        symmetry, found = self._symmetry, dict[tuple[S, ActionInstance[S]], None]()
        for before, instance in self._arrivals[representative(symmetry, self._arrivals, state)]:
            for taken, after in symmetry.spec.steps(instance, before):
                by = next((by for by in symmetry.group if symmetry.state(by, after) == state), None)
                if by is not None:
                    found[symmetry.state(by, before), symmetry.instance(by, taken).of_search] = None
        return list(found)

    def __iter__(self) -> Iterator[S]:
        return iter(self._arrivals)

    def __len__(self) -> int:
        return len(self._arrivals)
