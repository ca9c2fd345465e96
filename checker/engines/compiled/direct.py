"""Breadth-first search by direct calls. It has the same result as the oracle, but does less work for each step.

A next state is looked up first. If an equal state was found earlier, and the two are the same (see `same`), then the
next state has already passed all checks, and the earlier state is used instead. Otherwise, and where a call raises an
exception, the methods of `Spec` and of the oracle make the checks and report the errors.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from leadline.checker.action import ActionInstance
from leadline.checker.canonical import canonical
from leadline.checker.engines.budget import StopSearch
from leadline.checker.engines.evidence import Sighting
from leadline.checker.engines.oracle import OracleSearch
from leadline.checker.engines.verdicts import predicate, verdict
from leadline.checker.result import ActionCount, Limits, Stop, StopKind
from leadline.checker.state import check_shape
from leadline.checker.support.messages import counted
from leadline.checker.values import same

S = TypeVar("S")


class Found(list[tuple[S, ActionInstance[S]]], Generic[S]):
    """A state that was found: the last step of every shortest path to it.

    Attributes:
        level: the number of the level that contains the state. -1 if the state has not been added to the search yet.
    """

    __slots__ = ("level", "state")

    def __init__(self, state: S) -> None:
        self.state = state
        self.level = -1


class DirectSearch(OracleSearch[S]):
    """A breadth-first search that does not collect coverage. See `OracleSearch`."""

    arrivals: dict[S, Found[S]]  # type: ignore[assignment]

    def _prepare(self) -> None:
        assert not self.limits.coverage, "see `search_class`"
        self._class = type(self.spec.initials()[0])
        self._counts = [[0, 0] for _ in self.spec.instances]
        self._state_calls = [(item, predicate(item)) for item in self._state_checks]
        self._step_calls = [(item, predicate(item)) for item in self._step_checks]

    def _expand(self, state: S) -> None:
        self.purity.check(state)
        steps = 0
        for instance, counts in zip(self.spec.instances, self._counts, strict=True):
            try:
                found = [self._looked_up(successor, state) for successor in instance.successors(state)]
            except (KeyboardInterrupt, MemoryError):
                raise
            except BaseException:  # call it again, to report the error
                found = [Found(successor) for successor in self.spec.take(instance, state)]
            for each in found:
                counts[1] += self._arrive(state, instance, each)
                counts[0] += 1
            steps += len(found)
        if self._deadlock and not steps and not self.spec.is_final(state):
            self._see(self._deadlock[0], Sighting(state))
        self.statistics.count_expanded(steps)

    def _looked_up(self, successor: S, state: S) -> Found[S]:
        """Return the entry of a next state, or a new one that has yet to be added to the search.

        Raises:
            Exception: if the next state is not valid. `Spec.take` then raises the error to be reported.
        """
        found = self.arrivals.get(successor)
        if found is not None and same(found.state, successor):
            return found
        if type(successor) is not self._class:
            raise TypeError
        check_shape(successor, state)
        return Found(canonical(successor, state))

    def _arrive(self, state: S, instance: ActionInstance[S], found: Found[S]) -> bool:
        """Count a step, and check it. Return whether it leads to a new state that satisfies `Spec.within`."""
        is_new = False
        if found.level < 0:
            new = found
            self.values.check(new.state, state)
            found = self._added(new)
            is_new = found is new and found.state not in self.outside
        if found.level == len(self.levels):
            found.append((state, instance))
        self.statistics.generated += 1
        after = found.state
        for item, function in self._step_calls:
            known = verdict(function, state, after)
            if known is not True and (known is False or self._shows(item, state, after)):
                self._see(item, Sighting(state, (instance, after)))
        return is_new

    def counted(self) -> list[list[int]]:
        return self._counts

    def _publish(self) -> None:
        self.statistics.actions = {action.name: ActionCount() for action in self.spec.actions}
        for instance, (generated, distinct) in zip(self.spec.instances, self._counts, strict=True):
            count = self.statistics.actions[instance.action.name]
            count.generated += generated
            count.distinct += distinct
        super()._publish()

    def _found(self, state: S, arrivals: list[tuple[S, ActionInstance[S]]]) -> None:
        self._added(Found(state)).extend(arrivals)

    def _added(self, new: Found[S]) -> Found[S]:
        """Add a state to the search. Return its entry, which is another one if an equal state was found earlier."""
        state, most = new.state, self.limits.max_states
        if most is not None and len(self.arrivals) == most and state not in self.arrivals:
            raise StopSearch(Stop(StopKind.STATES, f"reached {counted(most, 'state')}"))
        found = self.arrivals.setdefault(state, new)
        if found is new:
            new.level = len(self.levels)
            self.level.append(state)
            if self.spec.constraint is None or self.spec.is_within(state):
                self.statistics.distinct += 1
            else:
                self.outside.add(state)
                self.statistics.outside += 1
            for item, function in self._state_calls:
                known = verdict(function, state)
                if known is not True and (known is False or self._shows(item, state)):
                    self._see(item, Sighting(state))
        return found


def search_class(limits: Limits) -> type[OracleSearch[Any]]:
    """Return the fastest class that searches by direct calls within the given limits."""
    return OracleSearch if limits.coverage else DirectSearch
