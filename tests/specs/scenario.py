"""Running a spec step by step: a list of steps, each taken on the real model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

import attrs

from leadline.checker import Spec
from leadline.checker.trace import complaint_at_end

S = TypeVar("S")


class Scenario(Generic[S]):
    """A behaviour of a spec, told step by step. A step is written as traces print it: ``tick()``, ``write(leader=0)``.

    Attributes:
        spec: the spec, with its bounds.
        states: the states so far, the initial one first.
    """

    def __init__(self, spec: Spec[S]) -> None:
        initials = spec.initials()
        if len(initials) != 1:
            raise AssertionError(f"{spec.name} has {len(initials)} initial states: a scenario needs one")
        self.spec = spec
        self.states = initials
        self._instances = {str(instance): instance for instance in spec.instances}

    def __len__(self) -> int:
        """The number of states, the initial one included, as TLC counts."""
        return len(self.states)

    @property
    def state(self) -> S:
        """Where the scenario is."""
        return self.states[-1]

    def enabled(self, step: str) -> bool:
        """Whether a step can be taken next."""
        return bool(self._successors(step))

    def play(self, steps: Iterable[str]) -> Scenario[S]:
        """Take steps one after another.

        Raises:
            AssertionError: a step is not enabled, or leads to more than one state.
        """
        for step in steps:
            successors = self._successors(step)
            if not successors:
                raise AssertionError(f"step {len(self)}, {step}, is not enabled in {self.state}")
            if len(successors) > 1:
                raise AssertionError(f"step {len(self)}, {step}, leads to {len(successors)} states")
            self.states.extend(successors)
        return self

    def stopped_at(self, steps: Iterable[str]) -> str | None:
        """Take steps as long as they are enabled.

        Returns:
            The first step that is not enabled; None if all were taken.
        """
        for step in steps:
            if not self.enabled(step):
                return step
            self.play([step])
        return None

    def violations(self) -> dict[str, str]:
        """The properties that the last state or step violates, each with its sentence."""
        found = {
            item.name: complaint_at_end(self.spec, item, self.states)
            for item in self.spec.checks
            if not item.kind.is_witness
        }
        return {name: complaint for name, complaint in found.items() if complaint is not None}

    def _successors(self, step: str) -> list[S]:
        if step not in self._instances:
            raise AssertionError(f"{self.spec.name} has no step {step}")
        return self.spec.take(self._instances[step], self.state)


def starting_after(spec: Spec[S], steps: Iterable[str]) -> Spec[S]:
    """The spec, but every behaviour of it begins with these steps: for searches too wide from the start."""
    start = Scenario(spec).play(steps).state
    return attrs.evolve(spec, initial_states=lambda bounds: [start])
