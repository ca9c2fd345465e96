"""The catalog of shipped specs, keyed by name. Each spec combines a model with its properties."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import attrs

from leadline.checker.errors import SpecError
from leadline.checker.mutation.changes import Mutation
from leadline.checker.spec import Spec
from leadline.invariants import (
    assignment,
    candidates,
    controllers,
    durability,
    followers,
    leadership,
    liveness,
    logs,
    progress,
    promises,
    transaction_progress,
    transactions,
    watermarks,
    witnesses,
)
from leadline.model.atomic import drawing as atomic_drawing
from leadline.model.atomic.actions import ACTIONS, truncate
from leadline.model.atomic.mistakes import MISTAKES as ATOMIC_MISTAKES
from leadline.model.atomic.protocols import KIP_320, PROTOCOLS, Protocol, never
from leadline.model.atomic.state import Bounds, Partition, initial_states
from leadline.model.control import actions as control_actions
from leadline.model.control import drawing as control_drawing
from leadline.model.control import mistakes as control_mistakes
from leadline.model.control import releases as control_releases
from leadline.model.control import state as control_state
from leadline.model.control.protocols import Protocol as ControlProtocol
from leadline.model.control.rules import RULES as CONTROL_RULES
from leadline.model.kafka import drawing as kafka_drawing
from leadline.model.kafka import state as kafka_state
from leadline.model.kafka.actions import actions_of
from leadline.model.kafka.horizon import ends_at_a_bound
from leadline.model.kafka.mistakes import MISTAKES, NOT_MUTATED, ONLY_WITH, RULES_SHOWN_WITH, why_harmless
from leadline.model.kafka.protocols import Protocol as KafkaProtocol
from leadline.model.kafka.releases import COLUMNS, KRAFT, Column, column_of
from leadline.model.kafka.rules import RULES
from leadline.model.mistakes import Mistake
from leadline.model.rules import Rule, RuleColumn, Value
from leadline.model.txn import actions as txn_actions
from leadline.model.txn import drawing as txn_drawing
from leadline.model.txn import failures as txn_failures
from leadline.model.txn import mistakes as txn_mistakes
from leadline.model.txn import releases as txn_releases
from leadline.model.txn import state as txn_state
from leadline.model.txn.protocols import Protocol as TxnProtocol
from leadline.model.txn.rules import RULES as TXN_RULES

C = TypeVar("C", bound=RuleColumn)

__all__ = ["CATALOG", "find"]

ATOMIC_PROPERTIES = (
    durability.weak_isr,
    durability.strong_isr,
    watermarks.hw_within_log,
    watermarks.hw_monotonic,
    logs.follower_log_is_prefix,
    logs.logs_prefix_consistent,
    logs.log_matching,
    logs.epochs_monotonic_in_log,
    leadership.leader_in_isr,
    leadership.one_leader_per_epoch,
    witnesses.record_committed,
    witnesses.leader_changes,
    witnesses.log_truncated,
    witnesses.broker_rejoins_isr,
)

ATOMIC_LIVENESS = (
    liveness.leader_learns,
    liveness.followers_learn,
    liveness.all_written,
    liveness.all_committed,
    liveness.isr_full_at_last,
    liveness.isr_full_again,
)
"""Checked only if they are named, because some do not hold under the fairness that the TLA+ specification declares."""

KAFKA_PROPERTIES = (
    promises.committed_never_lost,
    promises.acked_never_lost,
    promises.durable_as_promised,
    promises.reads_monotonic,
    promises.reads_not_taken_back,
    followers.follower_reads,
    candidates.leader_candidates_complete,
    candidates.isr_joined_with_all,
    candidates.quorum_in_maximal_isr,
    candidates.isr_within_replicas,
    candidates.isr_and_elr_disjoint,
    candidates.isr_members_active,
    durability.weak_isr,
    durability.strong_isr,
    watermarks.hw_within_log,
    watermarks.hw_monotonic,
    logs.follower_log_is_prefix,
    logs.logs_prefix_consistent,
    logs.log_matching,
    logs.epochs_monotonic_in_log,
    leadership.leader_in_isr,
    leadership.leaders_elected_alive,
    leadership.one_leader_per_epoch,
    followers.remote_leo_not_ahead,
    followers.brokers_keep_running,
    witnesses.record_committed,
    witnesses.leadership_moves,
    witnesses.log_truncated,
    witnesses.broker_rejoins_isr,
)

CONTROL_PROPERTIES = (
    controllers.agreed_at_rest,
    controllers.led_at_rest,
    controllers.controlled_at_rest,
    controllers.reassigned_at_rest,
    controllers.isr_within_replicas_at_rest,
    controllers.isr_writable_at_rest,
    controllers.one_controller_per_epoch,
    controllers.newer_controller_obeyed,
    controllers.former_controllers_fenced,
    controllers.znode_epoch_is_newest,
    controllers.dead_not_in_isr,
    promises.committed_never_lost,
    promises.acked_never_lost,
    watermarks.hw_within_log,
    logs.log_matching,
    logs.epochs_monotonic_in_log,
    leadership.one_leader_per_epoch,
    controllers.controller_fails_over,
    controllers.two_controllers_act,
)

CONTROL_OPTIONAL = (controllers.leader_can_write, controllers.last_controller_takes_over)
"""Checked only if they are named: liveness needs the graph of all states, and the other is about one article."""

TXN_PROPERTIES = (
    transactions.no_aborted_read,
    transactions.no_lost_write,
    transactions.no_torn_transaction,
    transactions.no_hanging_transaction,
    transactions.lso_monotonic,
    transactions.lso_within_hw,
    transactions.fenced_stays_fenced,
    transactions.epoch_bump_repeatable,
    transactions.sequences_complete,
    transactions.transitions_valid,
    transactions.committed_record_read,
    transactions.read_uncommitted_sees_aborted,
    transactions.lso_below_hw,
    transactions.two_partitions_committed,
)

TXN_LIVENESS = (
    transaction_progress.every_transaction_ends,
    transaction_progress.decided_transactions_complete,
    transaction_progress.lso_moves_on,
)
"""Checked only if they are named, because they need the graph of all states, which takes longer than a search."""

KAFKA_LIVENESS = (
    progress.leader_known,
    progress.epoch_known,
    progress.all_committed_again,
    progress.writes_answered,
    progress.caught_up_in_isr,
    progress.isr_full_when_quiet,
    progress.truncation_ends,
    progress.can_recover,
    *progress.RECOVERIES,
)
"""Checked only if they are named, because they need every state and step of a search."""

KAFKA_OPTIONAL = (promises.durable_after_few_unclean_stops,)
"""Properties of Kafka that are checked only if they are named."""

KRAFT_PROPERTIES = (assignment.reassignment_as_asked, assignment.added_or_removed)
"""The properties of releases in whose model replicas can be reassigned."""

KRAFT_OPTIONAL = (assignment.completion_keeps_min_isr, progress.reassignments_end)
"""Checked only if they are named, in releases in whose model replicas can be reassigned."""


def atomic(protocol: Protocol) -> Spec[Partition]:
    """Return the spec of an `atomic` protocol.

    The protocol is either a shipped protocol or a shipped protocol with a changed rule.
    """
    return Spec(
        name=f"atomic/{protocol.name}",
        summary=protocol.summary,
        initial_states=functools.partial(initial_states, protocol=protocol),
        actions=[action for action in ACTIONS if action is not truncate or protocol.diverges is not never],
        properties=ATOMIC_PROPERTIES,
        optional=ATOMIC_LIVENESS,
        bounds=Bounds(),
        distance=logs.distance_to_divergence,
        drawing=atomic_drawing.DRAWING,
    )


def kafka(protocol: KafkaProtocol, column: Column) -> Spec[kafka_state.Partition]:
    """Return the spec of a release or design with the given rules, which may differ from those in the table of rules.

    Parameters:
        protocol: the rules.
        column: the column of the release or design in the table of rules. It provides the default bounds and the part
            of the spec's name before the slash.
    """
    return Spec(
        name=f"{column.name.partition('/')[0]}/{protocol.name}",
        summary=protocol.summary,
        note=column.note,
        initial_states=functools.partial(kafka_state.initial_states, protocol=protocol),
        actions=actions_of(protocol),
        properties=(*KAFKA_PROPERTIES, *(KRAFT_PROPERTIES if protocol.reassigns else ())),
        optional=(*KAFKA_OPTIONAL, *KAFKA_LIVENESS, *(KRAFT_OPTIONAL if protocol.reassigns else ())),
        cut=ends_at_a_bound,
        bounds=column.bounds,
        distance=logs.distance_to_divergence,
        drawing=kafka_drawing.KRAFT_DRAWING if column.controller == KRAFT else kafka_drawing.DRAWING,
    )


def of_column(column: Column) -> Spec[kafka_state.Partition]:
    """Return the spec of the release or design that a column of the table of rules describes."""
    return kafka(column.protocol(), column)


def txn(protocol: TxnProtocol, column: txn_releases.Column) -> Spec[txn_state.Transactions]:
    """Return a spec of transactions with the given rules, which may differ from those in the table of rules.

    Parameters:
        protocol: the rules.
        column: the column of the releases or design in the table of rules.
    """
    return Spec(
        name=f"txn/{protocol.name}",
        summary=protocol.summary,
        note=column.note,
        initial_states=functools.partial(txn_state.initial_states, protocol=protocol),
        actions=txn_actions.actions_of(protocol),
        properties=TXN_PROPERTIES,
        optional=TXN_LIVENESS,
        cut=txn_failures.cannot_expire_again,
        bounds=column.bounds,
        distance=transactions.distance_to_hanging,
        drawing=txn_drawing.DRAWING,
    )


def txn_of_column(column: txn_releases.Column) -> Spec[txn_state.Transactions]:
    """Return the spec of the releases or design that a column of the table of transaction rules describes."""
    return txn(column.protocol(), column)


def control(protocol: ControlProtocol, column: control_releases.Column) -> Spec[control_state.Cluster]:
    """Return a spec of the `control` family with the given rules. The rules may differ from those in the table of
    rules.

    Parameters:
        protocol: the rules.
        column: the column of the release in the table of rules. It provides the default bounds.
    """
    return Spec(
        name=f"control/{protocol.name}",
        summary=protocol.summary,
        note=column.note,
        initial_states=functools.partial(control_state.initial_states, protocol=protocol),
        actions=control_actions.actions_of(protocol),
        properties=CONTROL_PROPERTIES,
        optional=CONTROL_OPTIONAL,
        bounds=column.bounds,
        distance=logs.distance_to_divergence,
        drawing=control_drawing.DRAWING,
    )


def control_of_column(column: control_releases.Column) -> Spec[control_state.Cluster]:
    """Return the spec of the `control` family that a column describes."""
    return control(column.protocol(), column)


def with_mistake(mistake: Mistake, column: Column) -> Spec[kafka_state.Partition]:
    """Return the spec of a release or design in which one rule is wrong."""
    spec = kafka(mistake.made_in(column.protocol()), column)
    return attrs.evolve(spec, actions=mistake.replacing(spec.actions))


def atomic_with_mistake(mistake: Mistake, protocol: Protocol = KIP_320) -> Spec[Partition]:
    """Return the spec of an `atomic` protocol in which one rule is wrong."""
    spec = atomic(mistake.made_in(protocol))
    return attrs.evolve(spec, actions=mistake.replacing(spec.actions))


def mutations(reference: str) -> list[Mutation]:
    """Return the mutations of a spec's rules: other values from the table of rules, and deliberately wrong rules.

    Parameters:
        reference: the name or alias of the spec. See `find`.

    Returns:
        The mutations. The list is empty unless the spec is a release or design of the `kafka` family,
        ``atomic/kip-320``, or a spec of the `txn` or `control` family whose release satisfies all properties. Other
        specs violate properties even without a mutation.
    """
    transactional = txn_releases.column_of(reference)
    if transactional is not None:
        return _txn_mutations(transactional) if txn_mistakes.may_be_mutated(transactional.values) else []
    if reference == f"atomic/{KIP_320.name}":
        return [_mistaken(each, functools.partial(atomic_with_mistake, each)) for each in ATOMIC_MISTAKES]
    controlled = control_releases.column_of(reference)
    if controlled is not None:
        return _control_mutations(controlled) if control_mistakes.may_be_mutated(controlled.values) else []
    column = column_of(reference)
    if column is None:
        return []
    found = _of_rules(
        column,
        (rule for rule in RULES if _is_mutated(rule, column)),
        of_column,
        RULES_SHOWN_WITH,
        lambda rule, value: why_harmless(rule, column.values[rule.name], value),
    )
    return found + [
        _mistaken(each, functools.partial(with_mistake, each, column))
        for each in MISTAKES
        if each.concerns(column.protocol(), actions_of(column.protocol()))
    ]


def txn_with_mistake(mistake: Mistake, column: txn_releases.Column) -> Spec[txn_state.Transactions]:
    """Return a spec of transactions in which one rule is wrong."""
    spec = txn(mistake.made_in(column.protocol()), column)
    return attrs.evolve(spec, actions=mistake.replacing(spec.actions))


def _txn_mutations(column: txn_releases.Column) -> list[Mutation]:
    found = _of_rules(
        column,
        TXN_RULES,
        txn_of_column,
        txn_mistakes.RULES_SHOWN_WITH,
        lambda rule, value: txn_mistakes.why_harmless(rule, value, column.values),
    )
    protocol = column.protocol()
    return found + [
        _mistaken(each, functools.partial(txn_with_mistake, each, column))
        for each in txn_mistakes.MISTAKES
        if each.concerns(protocol, txn_actions.actions_of(protocol))
    ]


def control_with_mistake(mistake: Mistake, column: control_releases.Column) -> Spec[control_state.Cluster]:
    """Return a spec of the `control` family in which one rule is wrong."""
    spec = control_of_column(column)
    return attrs.evolve(spec, actions=mistake.replacing(spec.actions))


def _control_mutations(column: control_releases.Column) -> list[Mutation]:
    found = _of_rules(
        column,
        (rule for rule in CONTROL_RULES if control_mistakes.concerns(rule.name, column.values)),
        control_of_column,
        control_mistakes.RULES_SHOWN_WITH,
        lambda rule, value: control_mistakes.RIGHT_TOO.get((rule.name, value), ""),
    )
    protocol = column.protocol()
    return found + [
        _mistaken(each, functools.partial(control_with_mistake, each, column))
        for each in control_mistakes.MISTAKES
        if each.concerns(protocol, control_actions.actions_of(protocol))
    ]


def _is_mutated(rule: Rule, column: Column) -> bool:
    """Return whether a release of the `kafka` family is searched with the other values of a rule."""
    other, needed = ONLY_WITH.get(rule.name, (rule.name, column.values[rule.name]))
    return column.values[other] == needed and rule.name not in NOT_MUTATED


def _of_rules(
    column: C,
    rules: Iterable[Rule],
    make: Callable[[C], Spec[Any]],
    shown_with: Mapping[tuple[str, str], Mapping[str, int | str]],
    harmless: Callable[[Rule, str], str],
) -> list[Mutation]:
    """Return a mutation for each other value of some rules.

    Parameters:
        column: the column of the table of rules.
        rules: the rules.
        make: returns the spec of a column.
        shown_with: the bounds within which a value violates a property, if they differ from the default bounds. Keyed
            by the names of the rule and the value.
        harmless: returns the reason why a value of a rule violates no property, or an empty string.
    """
    return [
        _of_rule(
            rule,
            column.values[rule.name],
            value,
            functools.partial(make, column.with_rules({rule.name: value.name})),
            shown_with.get((rule.name, value.name), {}),
            harmless(rule, value.name),
        )
        for rule in rules
        for value in rule.others(column.values[rule.name])
    ]


def _of_rule(
    rule: Rule, own: str, value: Value, make: Callable[[], Spec[Any]], bounds: Mapping[str, int | str], harmless: str
) -> Mutation:
    """Return the mutation that changes a rule.

    Parameters:
        rule: the rule.
        own: the name of the current value.
        value: the new value.
        make: returns the spec with the new value.
        bounds: the bounds within which the new value violates a property, if they differ from the default bounds.
        harmless: the reason why the new value violates no property, or an empty string.
    """
    return Mutation(
        name=f"rule {rule.name}: {own} => {value.name}",
        kind="rule",
        sentence=f"{rule.question}: {value.sentence}",
        source=value.source,
        replace=functools.partial(_behaving_as, make),
        bounds=bounds,
        harmless=harmless,
    )


def _mistaken(mistake: Mistake, make: Callable[[], Spec[Any]]) -> Mutation:
    return Mutation(
        name=f"mistake {mistake.name}",
        kind="mistake",
        sentence=mistake.sentence,
        source=mistake.source,
        replace=functools.partial(_behaving_as, make),
        bounds=mistake.bounds,
        harmless=mistake.harmless,
    )


def _behaving_as(make: Callable[[], Spec[Any]], spec: Spec[Any]) -> Spec[Any]:
    """Copy a spec, but take the initial states and actions from the spec that `make` returns."""
    other = make()
    return attrs.evolve(spec, initial_states=other.initial_states, actions=other.actions)


SPECS: tuple[Spec[Any], ...] = (
    *map(atomic, PROTOCOLS),
    *map(of_column, COLUMNS),
    *map(txn_of_column, txn_releases.COLUMNS),
    *map(control_of_column, control_releases.COLUMNS),
)

CATALOG: dict[str, Spec[Any]] = {spec.name: spec for spec in SPECS}


def find(reference: str) -> Spec[Any] | None:
    """Return a shipped spec by its name or alias.

    Parameters:
        reference: the name or alias. It may be followed by changed rules, as in ``kafka/3.7+elr=on``.

    Returns:
        The spec, or None if no spec has the name or alias.

    Raises:
        SpecError: if a rule or value does not exist, or the spec has no rules that can be changed.
    """
    name = reference.partition("+")[0]
    transactional = txn_releases.column_of(reference)
    if transactional is not None:
        return CATALOG.get(transactional.name) or txn_of_column(transactional)
    controlled = control_releases.column_of(reference)
    if controlled is not None:
        return CATALOG.get(controlled.name) or control_of_column(controlled)
    column = column_of(reference)
    if column is not None and column.name not in CATALOG:
        return of_column(column)
    if column is None and name in CATALOG and name != reference:
        raise SpecError(f"{name} has no rules that can be changed: only Kafka releases and KIP designs have such rules")
    return CATALOG.get(reference if column is None else column.name)
