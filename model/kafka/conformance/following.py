"""A release, or a mix of two, without bounds, against which recordings are checked. It has an initial state, and hidden
steps, which leave no frame in a recording.

Searches need bounds and history, but recordings have neither. Perturbations have no limit here, except late fetch
requests and unclean elections that an operator requests, because a recording contains the frames of these requests.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, cast

import attrs

from leadline.checker.action import Action, ActionInstance
from leadline.checker.conformance import HiddenStep
from leadline.checker.state import without_history
from leadline.model.kafka.actions import actions_of
from leadline.model.kafka.assignment import Assignment
from leadline.model.kafka.bounds import NO_LIMIT, Bounds, Spent
from leadline.model.kafka.broker import Registration, Replica
from leadline.model.kafka.controller import apply_setting, raise_min_insync_replicas
from leadline.model.kafka.fetch import handled_again, may_join_by_fetching_again
from leadline.model.kafka.messages import Diverging
from leadline.model.kafka.mixes import Mix, mix_of
from leadline.model.kafka.protocols import Protocol
from leadline.model.kafka.releases import KRAFT, Column
from leadline.model.kafka.rolls import ACTIONS as CHANGES
from leadline.model.kafka.rolls import Rolling, Upgrade
from leadline.model.kafka.state import NOT_KEPT, Partition
from leadline.model.quorum import Quorum, Request

HIDDEN_ACTIONS = (
    *("park_fetch", "falls_behind", "hear_isr", "hear_old_answer", "learn_before_truncating", "truncate_late"),
)
"""The actions that leave no frame: what a leader makes of a request before it answers, when it ceases to wait for a
follower, and what a broker does with a response before its next request.
"""

_NO_LIMITS = {
    "records": NO_LIMIT,
    "max_epoch": 10**9,
    "crashes": NO_LIMIT,
    "lossy_crashes": NO_LIMIT,
    "shutdowns": NO_LIMIT,
    "session_expiries": NO_LIMIT,
    "missed_bounces": NO_LIMIT,
    "isr_shrinks": NO_LIMIT,
    "late_fetches": 0,
    "late_requests": NO_LIMIT,
    "late_responses": NO_LIMIT,
    "unclean_elections": 0,
    "min_isr_updates": 0,
}


@attrs.frozen(eq=False)
class Chain(Mix):
    """Upgrades of one cluster, one after the other. It has the attributes of the first one.

    Attributes:
        then: the upgrade, or the upgrades, that follow.
    """

    then: Mix

    @property
    def name(self) -> str:
        """The name, such as ``kafka/3.9..4.1..4.3``."""
        return f"{self.old.name}..{self.then.name.partition('/')[2]}"


def chain_of(reference: str) -> Mix:
    """Return the mix or the chain of upgrades with the given name; see `leadline.model.kafka.mixes.mix_of`."""
    first, _, rest = reference.partition("..")
    second, _, third = rest.partition("..")
    mix = mix_of(f"{first}..{second}")
    return Chain(mix.old, mix.new, chain_of(f"kafka/{rest}")) if third else mix


def upgrades_of(column: Column | Mix) -> Iterator[Mix]:
    """Yield the upgrades of a mix or a chain, in order. A release has none."""
    if isinstance(column, Mix):
        yield column
    if isinstance(column, Chain):
        yield from upgrades_of(column.then)


def as_brokers_do(column: Column | Mix) -> Column | Mix:
    """Return a release with ``min_isr_setting=later``, which all brokers with KRaft have. The specs of releases before
    3.7 omit this behaviour, unless it is asked for.
    """
    if not isinstance(column, Mix):
        return _as_brokers_do(column)
    then = {"then": as_brokers_do(column.then)} if isinstance(column, Chain) else {}
    return attrs.evolve(column, old=_as_brokers_do(column.old), new=_as_brokers_do(column.new), **then)


def _as_brokers_do(column: Column) -> Column:
    if column.controller != KRAFT or "min_isr_setting" in column.changed:
        return column
    return attrs.evolve(column, values={**column.values, "min_isr_setting": "later"})


def rules_of(column: Column | Mix) -> tuple[Protocol, ...]:
    """Return the rules of a release or, for a mix, those at each of its stages. Those of a chain follow each other."""
    if isinstance(column, Mix):
        return tuple(itertools.chain.from_iterable(mix.stages for mix in upgrades_of(column)))
    return (column.protocol(),)


def controller_of(column: Column | Mix) -> str:
    """Return the kind of controller of a release or a mix."""
    return (column.old if isinstance(column, Mix) else column).controller


class _ReadRules:
    """The rules of a release. An attribute is copied from the `Protocol` when it is read for the first time, so the
    copies show which rules were read.
    """

    def __init__(self, protocol: Protocol) -> None:
        self.__dict__["_protocol"] = protocol

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(name)
        value = self.__dict__[name] = getattr(self.__dict__["_protocol"], name)
        return value


@attrs.frozen(eq=False)
class FollowedRelease:
    """The actions of a release or a mix, without bounds.

    Attributes:
        column: the release or the mix.
        bounds: the configuration, without limits.
        without: the name of an action to leave out, or an empty string.
        rules: the rules of the release or, for a mix, those at each of its stages. They note which of them are read.
    """

    column: Column | Mix
    bounds: Bounds
    without: str = ""
    rules: tuple[Protocol, ...] = attrs.field(init=False)
    _rules: tuple[Protocol, ...] = attrs.field(init=False)
    _names: set[str] = attrs.field(init=False, factory=set)

    @_rules.default
    def _rules_of_column(self) -> tuple[Protocol, ...]:
        return rules_of(self.column)

    @rules.default
    def _read_rules(self) -> tuple[Protocol, ...]:
        return tuple(cast(Protocol, _ReadRules(rules)) for rules in rules_of(self.column))

    @functools.cached_property
    def actions(self) -> dict[str, Action[Partition, ...]]:
        """The actions of the release, and those that change settings, which the specs of releases have only where the
        controller uses the settings. Keyed by name.
        """
        actions = (*actions_of(*self._rules), raise_min_insync_replicas, apply_setting, *CHANGES)
        return {action.name: action for action in actions if action.name != self.without}

    def _action(self, name: str) -> Action[Partition, ...] | None:
        self._names.add(name)
        return self.actions.get(name)

    def does_the_same(self, other: FollowedRelease) -> bool:
        """Return whether everything that was read of this release is the same in another one: its configuration, some
        of its rules, and which actions it has. Then, whatever was done with this release has the same result with the
        other one. This is not looked into for mixes.
        """
        if isinstance(self.column, Mix) or isinstance(other.column, Mix):
            return False
        (own,), (rules,), (noted,) = self._rules, other._rules, self.rules
        read = vars(noted).keys() - {"_protocol"}
        return (
            self.bounds == other.bounds
            and all(getattr(own, name) == getattr(rules, name) for name in read)
            and all((name in self.actions) == (name in other.actions) for name in self._names)
        )

    def take(self, name: str, state: Partition, *values: object, most: int | None = None) -> list[Partition]:
        """Take an action, and return the possible next states. Return an empty list if the release does not have the
        action.

        Parameters:
            name: the name of the action.
            values: the values of the action's parameters.
            most: the maximum number of states to return, or None to return all.
        """
        action = self._action(name)
        return [] if action is None else list(itertools.islice(action.function(state, *values), most))

    def beginning(self, leader: int, isr: frozenset[int], stages: Sequence[int] = ()) -> Partition:
        """Return the state after the topic was created and before any broker has learned of it.

        Parameters:
            leader: the leader of epoch 0.
            isr: the ISR of epoch 0.
            stages: for a mix, the stages of the brokers, and then of the controller; see
                `leadline.model.kafka.rolls.Rolling`.
        """
        replicas = tuple(range(self.bounds.replicas or self.bounds.brokers))
        replica = Replica(old_min_isr=self.bounds.min_isr_raises > 0)
        made = Partition(
            next_value=0,
            exposed=NOT_KEPT,
            acked=(),
            deletable=0,
            deleted=0,
            spent=Spent(),
            quorum=Quorum(leader, 0, isr),
            assignment=Assignment(replicas),
            requests=(Request(leader, isr, replicas=replicas if self.bounds.moves else None),),
            registrations=(Registration(),) * self.bounds.brokers,
            late=(None,) * self.bounds.brokers,
            replicas=(replica,) * self.bounds.brokers,
            protocol=self.rules[0],
            bounds=self.bounds,
        )
        return self._rolling(made, stages) if self.upgrades else made

    @functools.cached_property
    def upgrades(self) -> tuple[Upgrade, ...]:
        """The upgrades of a mix or a chain, in order."""
        rules = iter(self.rules)
        return tuple(
            Upgrade(
                tuple(itertools.islice(rules, len(mix.stages))),
                mix.old.controller == KRAFT,
                mix.registers_again,
                mix.new_version,
            )
            for mix in upgrades_of(self.column)
        )

    def _rolling(self, made: Partition, stages: Sequence[int]) -> Rolling:
        fields: dict[str, Any] = {
            field.name: getattr(made, field.name) for field in attrs.fields(Partition) if field.name != "rules"
        }
        *brokers, controller = stages
        more: dict[str, Any] = {"controller": controller, "stages": tuple(brokers), "upgrade": self.upgrades[0]}
        return Rolling(**fields, protocol=self.rules[0], returned=0, **more)

    def hidden(self, state: Partition) -> Iterator[HiddenStep[Partition]]:
        """Yield the possible next steps that leave no frame in a recording."""
        for broker, replica in enumerate(state.replicas):
            if not replica.up:
                continue
            if replica.leader == broker and state.is_true_leader(broker):
                yield from self._step(state, "hear_isr", broker)
            for follower in sorted(replica.caught_up):
                yield from self._step(state, "falls_behind", broker, follower)
            if replica.old_answer:
                yield from self._step(state, "hear_old_answer", broker)
            if isinstance(replica.in_flight, Diverging) and replica.in_flight.high_watermark is not None:
                yield from self._step(state, "learn_before_truncating", broker)
            if replica.late_response is not None:
                yield from self._step(state, "truncate_late", broker)
            leader = getattr(replica.in_flight, "leader", None)
            if leader is not None and leader != broker and state.believes_to_lead(leader):
                yield from self._step(state, "park_fetch", leader, broker)
                again = may_join_by_fetching_again(state, leader, broker)  # which the model leaves out, see `horizon`
                for after in handled_again(state, leader, broker) if again else ():
                    yield HiddenStep(f"broker {leader} handles broker {broker}'s fetch again", "park_fetch", after)

    def _step(self, state: Partition, name: str, *values: int) -> Iterator[HiddenStep[Partition]]:
        action = self._action(name)
        if action is None:
            return
        instance = ActionInstance(action, values)
        for after in instance.successors(state):
            yield HiddenStep(instance.sentence, name, after)


def followed_release(column: Column | Mix, brokers: int, without: str = "", **configuration: Any) -> FollowedRelease:
    """Return a release without bounds, against which recordings can be checked.

    Parameters:
        column: the release or the mix.
        brokers: the number of replicas of the partition.
        without: the name of an action to leave out, or an empty string.
        configuration: the configuration of the topic, given as the bounds ``acks``, ``min_insync_replicas`` and
            ``unclean_leader_election``. It can also contain limits for perturbations, such as ``unclean_elections``.
    """
    with attrs.validators.disabled():  # bounds are limited for searches only
        bounds = attrs.evolve(column.bounds, brokers=brokers, **{**_NO_LIMITS, **configuration})
    return FollowedRelease(column, bounds, without)


def forget(state: Partition) -> Partition:
    """Remove the history and the record counter from a state. Recordings contain neither of them."""
    state = without_history(state)
    return attrs.evolve(state, next_value=0) if state.next_value else state
