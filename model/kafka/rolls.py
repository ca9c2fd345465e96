"""Rolling upgrades: a mix of two releases that changes while the model runs.

Brokers and the controller go from the old release to the new one, then to its level, and then the controller to its
features. With ZooKeeper, each broker has its own level, which is a part of its configuration
(`inter.broker.protocol.version`): it restarts with the next one. With KRaft, the level (`metadata.version`) and the
features are records of the metadata log: the controller follows a record at once, and each broker when it applies it.
Changes that Kafka refuses, or that its documentation forbids, are not possible.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from leadline.checker.action import action
from leadline.checker.errors import SpecError
from leadline.checker.state import component, constant
from leadline.model.kafka import crash
from leadline.model.kafka.broker import FENCED
from leadline.model.kafka.crash import with_another_incarnation
from leadline.model.kafka.horizon import another_epoch_is_due
from leadline.model.kafka.mixes import NEW, NO_ROLL, STAGES, Mix, MixBounds
from leadline.model.kafka.mixes import initial_states as initial_states_of_mix
from leadline.model.kafka.protocols import Protocol
from leadline.model.kafka.releases import KRAFT
from leadline.model.kafka.state import Partition
from leadline.model.quorum import brokers

NEW_RELEASE, NEW_LEVEL, NEW_FEATURES, OLD_FEATURES = range(1, len(STAGES))
"""The numbers of the stages of an upgrade after the first one; see `STAGES`."""


@attrs.frozen(eq=False)
class Upgrade:
    """What steps read of a mix. It has values only, so that a search need not look into how a mix makes its rules.

    Attributes:
        stages: see `Mix.stages`.
        kraft: whether the controller is a KRaft controller.
        registers_again: see `Mix.registers_again`.
        new_version: see `Mix.new_version`.
    """

    stages: tuple[Protocol, ...]
    kraft: bool
    registers_again: bool
    new_version: tuple[int, ...]


@attrs.frozen(cache_hash=True, kw_only=True)
class Rolling(Partition):
    """A state of the partition in which brokers and the controller may be at different stages of an upgrade.

    Attributes:
        controller: the stage of the controller: an index into `STAGES`. With KRaft, it is also that of the cluster.
        stages: the stage of each broker.
        returned: how often a broker or the controller has gone back to the stage before.
        upgrade: what the two releases make of it.
    """

    controller: int
    stages: tuple[int, ...] = component(each="broker")
    returned: int
    upgrade: Upgrade = constant()
    bounds: MixBounds = constant()

    @property
    def protocol(self) -> Protocol:
        """The rules that the controller follows."""
        return self.upgrade.stages[self.controller]

    def rules_of(self, broker: int) -> Protocol:
        """Return the rules that a broker follows."""
        return self.upgrade.stages[self.stages[broker]]

    @property
    def is_mixed(self) -> bool:
        """Whether brokers and the controller may follow different rules."""
        return True

    @property
    def sets_old_min_isr(self) -> bool:
        """Whether `min.insync.replicas` is `OLD_MIN_ISR` for the controller, and for brokers that start.

        With eligible leader replicas, the controller writes its own `min.insync.replicas` for the whole cluster, in
        place of that of brokers' files (`ConfigurationControlManager.maybeGenerateElrSafetyRecords`, 4.1.0).
        """
        return super().sets_old_min_isr or (self.bounds.min_isr_in_files and self.controller >= NEW_FEATURES)

    @property
    def last_leader(self) -> int | None:
        """The last known leader if the ISR becomes empty now: the leader, if there is one.

        A partition may have lost its leader, but not the last member of its ISR, before it had eligible leader replicas
        (`PartitionChangeBuilder.maybeUpdateLastKnownLeader`, 4.3.1).
        """
        return self.quorum.leader

    @property
    def notes_clean_stops(self) -> bool:
        """Whether it makes a difference that a broker has stopped cleanly: brokers since 3.7 write it to their disk
        whether or not there are eligible leader replicas yet.
        """
        return any(rules.has_elr for rules in self.upgrade.stages)

    @property
    def lowest(self) -> int:
        """The lowest stage of a broker or the controller. Kafka counts a broker that is down as it last registered."""
        return min(self.controller, *self.stages)

    def at_stage(self, broker: int, stage: int) -> Rolling:
        """Return the state with a broker at a stage."""
        return attrs.evolve(self, stages=(*self.stages[:broker], stage, *self.stages[broker + 1 :]))

    def may_change(self, before: int, stage: int) -> bool:
        """Return whether a broker or the controller may go to another release or, with ZooKeeper, to another level.

        The documentation allows a new level once all run the new release, and the old release until there is a new
        level. With KRaft, a controller refuses other levels, and to register other brokers
        (`FeatureControlManager.reasonNotSupported`, `ClusterControlManager.registerBroker`).

        Parameters:
            before, stage: the stage that it leaves, and the one to which it goes.
        """
        levels = {NEW_LEVEL} & {before, stage} if not self.upgrade.kraft else set()
        if {before, stage} - levels - {0, NEW_RELEASE} or stage > self.bounds.last_stage:
            return False
        if stage == before + 1:
            return stage == NEW_RELEASE or self.lowest >= NEW_RELEASE
        is_free = before == NEW_LEVEL or max(self.controller, *self.stages) <= NEW_RELEASE
        return stage == before - 1 and is_free and self.returned < self.bounds.returns

    def going(self, before: int, stage: int) -> Rolling:
        """Return the state after a step from one stage to another has been counted."""
        return attrs.evolve(self, returned=self.returned + 1) if stage < before else self


def initial_states(bounds: MixBounds, mix: Mix) -> Iterator[Partition]:
    """Yield the initial state of a mix, which can change if the bounds allow it.

    Raises:
        SpecError: if the bounds allow features that the new release does not raise.
    """
    if bounds.last_stage > mix.last_stage:
        raise SpecError(f"{mix.name} raises no feature that the model has: give roll=levels instead of {bounds.roll}")
    for state in initial_states_of_mix(bounds, mix):
        if bounds.roll == NO_ROLL:
            yield state
            continue
        fields: dict[str, Any] = {
            field.name: getattr(state, field.name) for field in attrs.fields(Partition) if field.name != "rules"
        }
        raised = min(mix.last_stage, NEW_FEATURES) if bounds.level == NEW else NEW_RELEASE
        yield Rolling(
            **fields,
            protocol=mix.stages[0],
            controller=raised if bounds.controller == NEW else 0,
            stages=tuple(raised if broker in bounds.new_brokers else 0 for broker in range(bounds.brokers)),
            returned=0,
            upgrade=Upgrade(mix.stages, mix.old.controller == KRAFT, mix.registers_again, mix.new_version),
        )


def brokers_that_change(bounds: MixBounds) -> range:
    """Return the brokers whose release or level can change. By default, there are none."""
    return range(0) if bounds.roll == NO_ROLL else brokers(bounds)


def stages_of_nodes(bounds: MixBounds) -> tuple[str, ...]:
    """Return the names of the stages to which a broker or the controller can go by itself. By default, there are
    none.
    """
    return () if bounds.roll == NO_ROLL else STAGES[: min(bounds.last_stage, NEW_LEVEL) + 1]


def stages_of_clusters(bounds: MixBounds) -> tuple[str, ...]:
    """Return the names of the stages to which a cluster with KRaft is set. By default, there are none."""
    return STAGES[NEW_LEVEL : bounds.last_stage + 1]


@action("broker {broker} restarts", broker=brokers, effect="healing")
def restart(state: Partition, broker: int) -> Iterator[Partition]:
    """A broker starts again; see `leadline.model.kafka.crash.restart`.

    With KRaft, the controller keeps it fenced until it has applied the metadata log up to its registration.
    """
    yield from crash.restart(_caught_up(state, broker), broker)


def _caught_up(state: Partition, broker: int) -> Partition:
    if isinstance(state, Rolling) and state.upgrade.kraft and state.controller >= NEW_LEVEL:
        return state.at_stage(broker, state.controller)
    return state


@action("broker {broker} restarts with the {to}", broker=brokers_that_change, to=stages_of_nodes, effect="healing")
def restart_as(state: Partition, broker: int, to: str) -> Iterator[Partition]:
    """A broker that is down starts with another release or, with ZooKeeper, another
    `inter.broker.protocol.version`.
    """
    if not isinstance(state, Rolling) or state.replicas[broker].up:
        return
    before, stage = state.stages[broker], STAGES.index(to)
    if state.may_change(before, stage):
        yield from crash.restart(state.going(before, stage).at_stage(broker, stage), broker)


@action("a controller with the {to} becomes active", to=stages_of_nodes)
def controller_becomes(state: Partition, to: str) -> Iterator[Partition]:
    """Another controller is elected, which runs another release or, with ZooKeeper, has another
    `inter.broker.protocol.version`.
    """
    if isinstance(state, Rolling):
        stage = STAGES.index(to)
        if state.may_change(state.controller, stage):
            yield attrs.evolve(state.going(state.controller, stage), controller=stage)


@action("the cluster is set to the {to}", to=stages_of_clusters)
def change_level(state: Partition, to: str) -> Iterator[Partition]:
    """With KRaft, an operator raises `metadata.version`, raises `eligible.leader.replicas.version` to 1, or lowers it
    to 0 (`kafka-features.sh`).

    All registered brokers and controllers must support it. A lower `metadata.version` makes no difference: Kafka
    refuses it if a change of records lies in between, and no rule depends on another one
    (`FeatureControlManager.updateMetadataVersion`). Nothing is written to partitions.
    """
    if isinstance(state, Rolling) and state.upgrade.kraft:
        stage = STAGES.index(to)
        follows = stage == state.controller + 1 and state.lowest >= NEW_RELEASE
        # An election that is due was part of an earlier step in Kafka. Other steps that are due could still come later
        # in Kafka, which only makes a difference at the last leader epoch.
        if follows and not another_epoch_is_due(state):
            yield attrs.evolve(state, controller=stage)


@action(
    "broker {broker} applies the record of the new level or feature",
    broker=brokers_that_change,
    fair="weak each",
    effect="healing",
)
def apply_level(state: Partition, broker: int) -> Iterator[Partition]:
    """With KRaft, a running broker applies a change of the level or of a feature.

    At the level of 3.7, a broker registers again, to tell the controller its log directories. In 3.7.0, the controller
    then considers it fenced until its next heartbeat (KAFKA-16757). Before 3.9, it gets a new broker epoch, as after a
    restart (KAFKA-16952).
    """
    if not isinstance(state, Rolling) or not state.upgrade.kraft or not state.replicas[broker].up:
        return
    stage = state.stages[broker] + 1
    if not NEW_LEVEL <= stage <= state.controller:
        return
    applied = state.at_stage(broker, stage)
    if applied.bounds.min_isr_in_files and stage == NEW_FEATURES:
        applied = applied.with_replica(broker, attrs.evolve(applied.replicas[broker], old_min_isr=True))
    if stage == NEW_LEVEL and state.upgrade.registers_again:
        if state.upgrade.new_version < (3, 7, 1):
            applied = applied.with_registration(broker, FENCED)
        if state.upgrade.new_version < (3, 9):
            applied = with_another_incarnation(applied, broker)
    yield applied


ACTIONS = (restart_as, controller_becomes, change_level, apply_level)
"""The actions of mixes that change."""
