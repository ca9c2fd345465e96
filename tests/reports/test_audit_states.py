"""States of specs, written as data directories: the audit of the disks has the verdicts of the spec.

The archive of bugs is tried with one bug for each property; ``EVERY=1 pytest tests/reports/test_audit_states.py``
tries every release and rule in which a bug shows.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import attrs
import pytest

from leadline.checker.properties import Kind, Property
from leadline.checker.result import Verdict
from leadline.checker.spec import Spec
from leadline.invariants.audit.cluster import audit
from leadline.invariants.audit.partition import CHECKS
from leadline.invariants.catalog import CATALOG
from leadline.invariants.disk import hw_not_below_log_start
from leadline.invariants.durability import strong_isr
from leadline.invariants.families.control import PROPERTIES as CONTROL_PROPERTIES
from leadline.invariants.families.group import CONSUMER_PROPERTIES
from leadline.invariants.families.group import PROPERTIES as CLASSIC_PROPERTIES
from leadline.invariants.families.quorum import PROPERTIES as QUORUM_PROPERTIES
from leadline.invariants.families.txn import PROPERTIES as TXN_PROPERTIES
from leadline.invariants.images import PROPERTIES as IMAGE_PROPERTIES
from leadline.invariants.logs import follower_log_is_prefix
from leadline.invariants.promises import committed_never_lost
from leadline.invariants.view import Complaint
from leadline.reports.kafka.bugs import REPLICATION, BugSearch
from leadline.reports.loading import load_spec
from leadline.reports.suite import SHIPPED, read_suite
from tests.disks.states import write_state
from tests.suite.archive import ARCHIVE, runs_of
from tests.suite.samples import EVERY, sampled

ON_DISKS = {check.name for check in CHECKS}
"""The properties that the audit checks."""

NOT_ON_DISKS = {
    "acked_never_lost": "no broker writes down what it acknowledged",
    "durable_as_promised": "no broker writes down what it acknowledged",
    "durable_after_few_unclean_stops": "no broker writes down what it acknowledged",
    "reads_monotonic": "no broker writes down what consumers read",
    "reads_not_taken_back": "no broker writes down what consumers read",
    "follower_reads": "no broker writes down what consumers read",
    "leader_candidates_complete": "it compares the ISR with all that consumers ever read",
    **dict.fromkeys(("told_is_kept", "told_stays", "refines_clients_log"), "no broker writes down what clients know"),
    "hw_monotonic": "it compares two states, and the disks show one",
    "brokers_keep_running": "it compares two states, and the disks show one",
    "isr_joined_with_all": "it compares two states, and the disks show one",
    "completion_keeps_min_isr": "it compares two states, and the disks show one",
    "leaders_elected_alive": "it compares two states, and the disks show one",
    "isr_members_active": "sessions and controlled shutdowns are in the controller's memory",
    "quorum_in_maximal_isr": "a leader's maximal ISR is in its memory",
    "remote_leo_not_ahead": "the log end offsets that a leader knows of are in its memory",
    "isr_within_replicas": "it compares what the controllers decided, which the audit takes as given",
    "reassignment_as_asked": "no controller writes down what an operator has asked for",
    "added_or_removed": "the audit takes what the controllers decided as given",
    "deleted_not_read_again": "no broker writes down which deletions it has answered",
    "leader_hw_from_start": "a broker that loads a log raises its high watermark to the start, and the audit checks it",
    "followers_go_on": "what ends a fetcher is in the memory of a broker",
    "isr_and_elr_disjoint": "it compares what the controllers decided, which the audit takes as given",
    **{item.name: "the audit does not read transactions" for item in TXN_PROPERTIES if not item.kind.is_witness},
    **{
        item.name: "the audit does not read consumer groups"
        for item in (*CLASSIC_PROPERTIES, *CONSUMER_PROPERTIES)
        if not item.kind.is_witness
    },
    **{item.name: "the audit compares no images" for item in IMAGE_PROPERTIES},
    **{item.name: "the audit does not read quorums" for item in QUORUM_PROPERTIES if not item.kind.is_witness},
    **{
        item.name: "it is about requests in flight, sessions and the memory of controllers"
        for item in CONTROL_PROPERTIES
        if item.function.__module__.endswith(".controllers") and not item.kind.is_witness
    },
}
"""Properties of specs that no audit can check, and why."""


def expected_of(state: Any, item: Property) -> bool:
    """Whether the disks of a state show that it violates a property.

    They show less than the spec knows of two properties, and more of two:

    - A spec remembers which records could be read. A disk shows it by a high watermark above them: the loss is
      visible as long as a broker has the record, below its high watermark. A follower may also have taken a high
      watermark that covers records of its own which nobody could read (KAFKA-14704), which looks the same.
    - A follower that has no record of its leader's epoch may still have to truncate. Whether it has is in its memory.
    - Leaders are elected from the ELR too, so an audit compares its members with what leaders have committed.
    """
    if item is strong_isr:
        quorum = state.quorum
        state = attrs.evolve(state, quorum=attrs.evolve(quorum, isr=quorum.isr | quorum.elr))
    if item.name == committed_never_lost.name:
        return any(
            held is not None and held != kept
            for _, leader in state.believed_leaders()
            if leader.epoch >= state.quorum.epoch
            for replica in state.replicas
            for _, held, kept in replica.log.beside(leader.log, replica.high_watermark)
        )
    if item.name == follower_log_is_prefix.name:
        return any(
            any(
                record.epoch == state.replicas[broker].epoch
                for broker in complaint.brokers
                if not state.believes_to_lead(broker)
                for record in state.replicas[broker].log.records
            )
            for complaint in item.complaints(state)
            if isinstance(complaint, Complaint)
        )
    return item.complaint(state) is not None


def assert_the_same(spec: Spec[Any], state: Any, folder: Path) -> set[str]:
    """Assert that the audit of a state's disks has the verdicts of the spec, and return its findings."""
    write_state(state, folder)
    result = audit([str(folder)], workers=1)
    assert all(reason.startswith("no broker given knows that it leads ") for reason in result.reasons)
    found = {finding.check for finding in result.errors}
    checks = [item for item in spec.checks if item.kind is Kind.INVARIANT and item.name in ON_DISKS]
    low = any(replica.high_watermark < replica.log.start_offset for replica in state.replicas)
    known = {hw_not_below_log_start.name} if low else set()  # the audit looks at followers too
    assert found == {item.name for item in checks if expected_of(state, item)} | known
    return found


def test_of_every_property_it_is_known_whether_disks_show_it() -> None:
    every = {each.name for spec in CATALOG.values() for each in spec.properties if not each.kind.is_witness}
    every |= {run.bug.property for run in archived()}
    assert every == (every & ON_DISKS) | NOT_ON_DISKS.keys()
    assert not ON_DISKS & NOT_ON_DISKS.keys()


COUNTEREXAMPLES = {
    each.title: each
    for each in read_suite(SHIPPED)
    if each.check.expect == "violated"
    and not each.check.spec.startswith(("control/", "txn/", "group/", "quorum/", "image/"))
}


SEARCHED_ELSEWHERE = {
    *("KIP-101 fails if the leader changes twice", "KIP-279 truncates by a zombie leader's log"),  # test_atomic_figures
    "KIP-320's first try counts old followers",
    *("rpc: before 0.11, committed data is lost", "rpc: before 0.11, logs diverge"),  # test_kafka_answers
    *("rpc: KIP-101 fails after two changes", "rpc: KIP-279 expands the ISR early"),
    "A random search finds the loss too",  # test_cli_check
}
"""Checks with the searches of other tests, which are run here with ``EVERY=1``."""


@pytest.mark.parametrize("title", [title for title in COUNTEREXAMPLES if EVERY or title not in SEARCHED_ELSEWHERE])
def test_the_end_of_every_counterexample_is_wrong_on_disks_as_it_is_in_the_spec(title: str, tmp_path: Path) -> None:
    """And the check is as the shipped suite expects, whose test leaves these to this one."""
    assert COUNTEREXAMPLES.keys() >= SEARCHED_ELSEWHERE
    outcome = COUNTEREXAMPLES[title].run(None)
    assert outcome.failure == ""
    for item in outcome.result.properties:
        if item.verdict is not Verdict.VIOLATED or item.property.kind is not Kind.INVARIANT:
            continue
        (trace, *_) = item.traces
        found = assert_the_same(load_spec(trace.spec.name), trace.states[-1], tmp_path / item.property.name)
        if item.property.name in ON_DISKS:
            assert item.property.name in found


def archived() -> list[BugSearch]:
    """The runs of the archive in which a bug shows in a state: all, or one for each property."""
    bugs = ARCHIVE.of_family(REPLICATION).bugs
    runs = [[run for run in runs_of(bug) if run.expected == "violated" and not run.spec.liveness] for bug in bugs]
    if EVERY:
        return [run for own in runs for run in own]
    return [*{own[-1].bug.property: own[-1] for own in runs if own}.values()]


@pytest.mark.parametrize("run", sampled(archived(), 2), ids=lambda run: f"{run.bug.ticket}-{run.spec.name}")
def test_the_disks_of_a_bug_of_the_archive_show_what_the_spec_shows(run: BugSearch, tmp_path: Path) -> None:
    """Every state of the trace, so that what leads to the bug raises no false alarm either."""
    (trace, *_) = run.searched().result.properties[0].traces
    spec = load_spec(trace.spec.name)
    for place, state in enumerate(trace.states):
        found = assert_the_same(spec, state, tmp_path / str(place))
    if run.bug.property in ON_DISKS:
        assert run.bug.property in found
    else:
        assert run.bug.property in NOT_ON_DISKS


@pytest.mark.parametrize(
    "name", ["atomic/hw-truncation", "atomic/kip-320", "rpc/kip-101", "rpc/kip-320", "kafka/0.11", "kafka/4.1"]
)
def test_states_at_random_are_judged_alike(name: str, tmp_path: Path) -> None:
    spec, chance = CATALOG[name], random.Random(name)
    spec = spec.with_bounds({"max_epoch": 2, "brokers": 3})
    state = spec.initials()[0]
    for step in range(160):
        following = [after for _, after in spec.successors(state)]
        state = chance.choice(following) if following and step % 40 else spec.initials()[0]
        if step % 10 == 9:
            found = assert_the_same(spec, state, tmp_path / str(step))
            assert not found or name not in ("atomic/kip-320", "rpc/kip-320"), found
