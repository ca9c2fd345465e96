"""Converts what changes in a mix of two releases to observations of the model: which release runs where, and levels."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.conformance import Observation
from leadline.model.kafka.conformance.observer import Observer, Window
from leadline.model.kafka.mixes import STAGES
from leadline.model.kafka.rolls import NEW_FEATURES, NEW_LEVEL, Rolling
from leadline.model.kafka.state import Partition


@attrs.frozen(eq=False)
class UpgradeObservations(Observer):
    """Makes the observations of upgrades. Stages are those of `leadline.model.kafka.mixes.STAGES`."""

    def controller_runs(self, window: Window, stage: int) -> Observation[Partition]:
        """Another controller is active, or the same one after a restart."""

        def apply(state: Partition) -> list[Partition]:
            return (
                [attrs.evolve(state, controller=stage)]
                if isinstance(state, Rolling) and not _is_set(state)
                else [state]
            )

        return self._made(window, f"a controller with the {STAGES[stage]} becomes active", apply, _stages)

    def level_changed(self, window: Window, stage: int) -> Observation[Partition]:
        """An operator has changed `metadata.version` or a feature (KRaft)."""

        def apply(state: Partition) -> list[Partition]:
            return self.release.take("change_level", state, STAGES[stage])

        return self._made(window, f"the cluster is set to the {STAGES[stage]}", apply, _stages)

    def level_applied(
        self, window: Window, broker: int, stage: int, upgrade: int, *, optional: bool
    ) -> Observation[Partition]:
        """A broker has applied a change of `metadata.version` or of a feature (KRaft), in one of the upgrades."""

        def apply(state: Partition) -> list[Partition]:
            later = isinstance(state, Rolling) and state.upgrade is not self.release.upgrades[upgrade]
            if later or not state.replicas[broker].up or (isinstance(state, Rolling) and state.stages[broker] >= stage):
                return [state]
            return self.release.take("apply_level", state, broker)

        label = f"broker {broker} applies the {STAGES[stage]}"
        return self._made(window, label, apply, _stages, optional=optional)

    def upgrade_begins(self, window: Window, upgrade: int) -> Observation[Partition]:
        """The next upgrade of a chain begins, after all that are running have the level and features of the last."""
        following = self.release.upgrades[upgrade]

        def apply(state: Partition) -> Iterator[Partition]:
            assert isinstance(state, Rolling)
            done = min(len(state.upgrade.stages) - 1, NEW_FEATURES)
            running = (stage for stage, replica in zip(state.stages, state.replicas, strict=True) if replica.up)
            if {done} == {state.controller, *running}:
                old = following.stages[0]
                yield attrs.evolve(
                    state, controller=0, stages=(0,) * len(state.stages), upgrade=following, protocol=old
                )

        label = f"the next upgrade begins, from {following.stages[0].name}"
        return self._made(window, label, apply, _stages)


def at_stage(state: Partition, broker: int, stage: int) -> Partition:
    """Return the state in which a broker starts with a release and a level. If the release is not of a mix, this is the
    same state.

    With KRaft, it has applied the level of the cluster before the controller unfences it.
    """
    if not isinstance(state, Rolling):
        return state
    return state.at_stage(broker, state.controller if _is_set(state) else stage)


def _is_set(state: Rolling) -> bool:
    """Return whether the metadata log of a cluster says that it is at the new level."""
    return state.upgrade.kraft and state.controller >= NEW_LEVEL


def _stages(state: Partition) -> str:
    stages = (*state.stages, state.controller) if isinstance(state, Rolling) else ()
    return f"the brokers, and then the controller, have: {', '.join(STAGES[each] for each in stages) or 'no stages'}"
