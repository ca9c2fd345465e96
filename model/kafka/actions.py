"""All actions of the `kafka` family, in the order in which searches call them."""

from __future__ import annotations

from leadline.checker.action import Action
from leadline.model.kafka.controller import (
    apply_setting,
    controller_elects,
    controller_elects_uncleanly,
    controller_notices_failure,
    operator_elects_uncleanly,
    raise_min_insync_replicas,
    session_expires,
    session_resumes,
    update_min_insync_replicas,
)
from leadline.model.kafka.crash import (
    assign_directory,
    begin_shutdown,
    crash,
    crash_after_append,
    crash_losing_tail,
    directory_fails,
    directory_removed,
    directory_replaced,
    restart,
    stop,
)
from leadline.model.kafka.deletion import (
    answer_deletion,
    delete_records,
    handle_offsets_request,
    handle_offsets_response,
    read_start_again,
    retain,
)
from leadline.model.kafka.fetch import (
    delay_fetch,
    handle_fetch,
    handle_fetch_response,
    handle_late_fetch,
    learn_before_truncating,
    park_fetch,
    truncate_late,
)
from leadline.model.kafka.isr import (
    apply_record,
    falls_behind,
    handle_alter_partition,
    hear_isr,
    hear_old_answer,
    shrink_isr,
)
from leadline.model.kafka.leadership import become_follower, become_leader, delete_replica
from leadline.model.kafka.produce import produce
from leadline.model.kafka.protocols import Protocol, nothing
from leadline.model.kafka.reassign import cancel_reassignment, reassign
from leadline.model.kafka.state import Partition
from leadline.model.kafka.truncation import handle_epoch_request, handle_epoch_response

ACTIONS: tuple[Action[Partition, ...], ...] = (
    produce,
    handle_fetch,
    park_fetch,
    handle_fetch_response,
    learn_before_truncating,
    truncate_late,
    handle_epoch_request,
    handle_epoch_response,
    handle_offsets_request,
    handle_offsets_response,
    answer_deletion,
    read_start_again,
    become_leader,
    become_follower,
    delete_replica,
    shrink_isr,
    falls_behind,
    handle_alter_partition,
    hear_isr,
    hear_old_answer,
    apply_record,
    controller_notices_failure,
    controller_elects,
    controller_elects_uncleanly,
    operator_elects_uncleanly,
    restart,
    session_resumes,
    session_expires,
    begin_shutdown,
    stop,
    update_min_insync_replicas,
    raise_min_insync_replicas,
    apply_setting,
    assign_directory,
    reassign,
    cancel_reassignment,
    delete_records,
    retain,
    delay_fetch,
    handle_late_fetch,
    directory_fails,
    directory_removed,
    directory_replaced,
    crash,
    crash_after_append,
    crash_losing_tail,
)
"""The actions in order of preference: among the shortest traces, a search returns the first one in this order.

Failures are last, so that they happen as late as possible in a trace."""


def actions_of(*protocols: Protocol) -> tuple[Action[Partition, ...], ...]:
    """Return the actions that are possible under a protocol or, in a mix, under one of several, in the order of
    `ACTIONS`.
    """
    return tuple(each for each in ACTIONS if any(_possible(rules).get(each, True) for rules in protocols))


def _possible(protocol: Protocol) -> dict[Action[Partition, ...], bool]:
    """Return whether actions are possible that are not possible under every protocol."""
    asks = protocol.asks_about is not nothing
    return {
        handle_epoch_request: asks,
        handle_epoch_response: asks,
        learn_before_truncating: protocol.learns_before_truncating,
        truncate_late: protocol.truncates_late,
        falls_behind: protocol.waits_for_caught_up,
        handle_alter_partition: protocol.in_flight,
        hear_isr: protocol.in_flight,
        hear_old_answer: protocol.in_flight and protocol.drops_newer_proposals,
        update_min_insync_replicas: protocol.has_elr,
        raise_min_insync_replicas: protocol.has_elr,
        apply_setting: protocol.has_elr,
        assign_directory: protocol.clears_elr_on_assignment,
        apply_record: protocol.reassigns,
        reassign: protocol.reassigns,
        cancel_reassignment: protocol.reassigns,
        delete_replica: protocol.reassigns,
        read_start_again: protocol.reads_start_again,
        delete_records: protocol.deletes_records,
        answer_deletion: protocol.deletes_records,
        directory_fails: protocol.has_directories,
        directory_replaced: protocol.has_directories,
        directory_removed: protocol.has_directories,
    }
