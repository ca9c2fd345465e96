"""Consumer groups with the consumer protocol: the known bugs in the releases that have them, and in those that do not.

The figures are from our own runs.
"""

from __future__ import annotations

import pytest

from leadline.checker import Limits, Spec, Verdict
from leadline.checker.engines import ENGINES
from leadline.invariants.families.group import CONSUMER_BY_DESIGN, CONSUMER_LIVENESS, CONSUMER_PROPERTIES, GROUP
from leadline.model.group.consumer.drawing import group_state
from leadline.model.group.consumer.mistakes import MISTAKES, RIGHT_TOO, RULES_SHOWN_WITH
from leadline.model.group.consumer.protocols import Protocol
from leadline.model.group.consumer.rules import RULES
from leadline.model.group.consumer.state import ConsumerGroup
from leadline.model.group.releases import CONSUMER_COLUMNS
from leadline.model.kafka.published import between
from leadline.model.mistakes import Mistake
from leadline.reports.loading import load_spec
from tests.model.test_groups import NOTHING_FAILS, only, violated
from tests.suite.samples import EVERY

SAFETY = [item.name for item in CONSUMER_PROPERTIES if not item.kind.is_witness]
WITNESSES = [item.name for item in CONSUMER_PROPERTIES if item.kind.is_witness]
STALLS = [item.name for item in CONSUMER_LIVENESS]
OWNERS = ["owned_by_one_member", "assigned_to_one_member", "partition_epoch_held"]
RELEASES = [column.short_name for column in CONSUMER_COLUMNS]
FIXED = RELEASES[1:]
NEWEST = CONSUMER_COLUMNS[-1]


# --- tickets: the releases that have the bug, and those that do not -----------------------------------------------

TICKETS = {
    "KAFKA-16147": (
        only(leaves=1),
        OWNERS,
        {
            "3.7.0": {"owned_by_one_member": 12, "assigned_to_one_member": 8, "partition_epoch_held": 6},
            "3.7.2": {"owned_by_one_member": 12, "assigned_to_one_member": 8, "partition_epoch_held": 6},
            "3.8.0": {},
        },
    ),
    "KAFKA-16249": (
        only(rejoins=1),
        ["revocation_seen"],
        {"3.7.0": {"revocation_seen": 9}, "3.7.2": {"revocation_seen": 9}, "3.8.0": {}},
    ),
    "KAFKA-20442": (
        only(leaves=1),
        ["empty_group_assigned"],
        {"4.3": {"empty_group_assigned": 3}, "4.4": {}},
    ),
    "KAFKA-20640": (
        only(classic_members=1, migrates=False),
        ["one_protocol"],
        {
            "3.7": {},
            "3.8": {"one_protocol": 3},
            "4.2.1": {"one_protocol": 3},
            "4.2.2": {},
            "4.3.0": {"one_protocol": 3},
            "4.3.1": {},
            "4.4": {},
        },
    ),
}


@pytest.mark.parametrize(
    ("ticket", "release"), [(ticket, release) for ticket, (*_, known) in TICKETS.items() for release in known]
)
def test_a_ticket_is_violated_where_it_was_and_holds_where_it_was_fixed(ticket: str, release: str) -> None:
    bounds, properties, known = TICKETS[ticket]
    assert violated(f"group/{release}-consumer", bounds, properties)[0] == known[release]


@pytest.mark.parametrize(
    ("rule", "properties", "bounds"),
    [
        ("partition_epochs=kept", OWNERS, only(leaves=1)),
        ("reconciliation=awaits", ["revocation_seen"], only(rejoins=1)),
    ],
)
def test_one_rule_is_the_fix(rule: str, properties: list[str], bounds: dict[str, int]) -> None:
    assert violated("group/3.7-consumer", bounds, properties)[0] != {}
    assert violated(f"group/3.7-consumer+{rule}", bounds, properties)[0] == {}


def test_without_the_rebalance_time_out_a_member_of_3_7_is_stuck_for_ever() -> None:
    """KAFKA-16249: the time-out removes the member in the end, and each new target assignment puts it off."""
    no_timer = next(each for each in MISTAKES if each.name == "no-rebalance-timer")
    for column, found in zip(CONSUMER_COLUMNS[:2], ({"stable_at_rest"}, set()), strict=True):
        spec = GROUP.with_mistake(no_timer, column)
        assert set(violated(spec, only(rejoins=1), ["stable_at_rest"])[0]) == found


def test_a_report_of_a_consumer_that_is_still_taking_partitions_is_taken_for_their_revocation() -> None:
    """Without a ticket. After a response that was lost, a consumer reports what it owns, also while it is taking more.
    The coordinator that wants to have these partitions back takes that as their revocation.
    """
    found = {"epoch_implies_revoked": 7, "owned_by_one_member": 10}
    names = ["owned_by_one_member", "epoch_implies_revoked"]
    for release in (FIXED[0], FIXED[-1]):
        assert violated(f"group/{release}", only(failovers=1), names)[0] == found
    # a consumer that gives up when it gets a new epoch, as that of 3.7, does not take them
    assert violated("group/4.4-consumer+interruption=new-epoch", only(failovers=1), names)[0] == {}


# --- static members -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["crashes", "pauses", "leaves", "mutes", "rejoins"])
def test_static_members_settle_whatever_happens_once(kind: str) -> None:
    assert violated("group/4.4-consumer", only(**{kind: 1}) | {"static": True}, [*SAFETY, *STALLS])[0] == {}


@pytest.mark.parametrize(
    ("release", "reached"),
    [
        ("3.7", {"instance_away": 0, "instance_taken_over": 0}),
        ("3.8", {"instance_away": 3, "instance_taken_over": 5}),
        ("4.4", {"instance_away": 3, "instance_taken_over": 5}),
    ],
)
def test_a_static_member_that_leaves_is_awaited_and_replaced(release: str, reached: dict[str, int]) -> None:
    """A consumer of 3.7 leaves without its group.instance.id, and the request is refused."""
    found = violated(f"group/{release}-consumer", only(leaves=1) | {"static": True}, list(reached))[0]
    assert found == {name: length for name, length in reached.items() if length}


def test_of_two_consumers_with_one_instance_the_second_waits_and_the_first_is_fenced_when_it_comes_back() -> None:
    shared = {"static": True, "same_instance": True}
    for release in RELEASES if EVERY else [FIXED[0], FIXED[-1]]:
        for kind in ("crashes", "pauses", "leaves"):
            names = [*SAFETY, "group_settles"]
            assert violated(f"group/{release}", only(**{kind: 1}) | shared, names)[0] == {}
    late = violated("group/4.4-consumer", only(pauses=1) | shared, ["instance_fenced", "one_reader"])[0]
    assert late == {"instance_fenced": 7, "one_reader": 9}
    assert violated("group/3.7-consumer", only(pauses=1) | shared, ["instance_fenced"])[0] == {}


@pytest.mark.parametrize(("release", "found"), [("3.9", {}), ("4.0", {"own_instance_accepted": 3})])
def test_a_static_consumer_whose_first_response_is_lost_is_refused(release: str, found: dict[str, int]) -> None:
    """apache/kafka#23542. Before 4.0, it does not know its member id, and is refused as another consumer."""
    bounds = only(failovers=1) | {"static": True}
    assert violated(f"group/{release}-consumer", bounds, ["own_instance_accepted"])[0] == found
    assert violated(f"group/{release}-consumer+own_instance=accepted", bounds, ["own_instance_accepted"])[0] == {}


def test_before_3_9_a_plugin_may_assign_something_else_when_a_static_member_is_replaced() -> None:
    bounds = only(leaves=1, rebalances=2) | {"static": True, "any_target": True}
    found = [
        violated(f"group/{release}-consumer", bounds, ["instance_keeps_assignment"])[0] for release in ("3.8", "3.9")
    ]
    assert found == [{"instance_keeps_assignment": 6}, {}]


# --- groups that change their protocol ----------------------------------------------------------------------------

ONE_CLASSIC = {"classic_members": 1}
COOPERATIVE = ONE_CLASSIC | {"classic_cooperative": True}
IN_MIXED_GROUPS = [*(name for name in SAFETY if name != "survives_downgrade"), *STALLS]


@pytest.mark.parametrize("kind", ["crashes", "pauses", "leaves", "mutes", "rejoins"])
@pytest.mark.parametrize("release", ["3.8", "4.4"])
def test_a_group_that_changes_its_protocol_settles_whatever_happens_once(kind: str, release: str) -> None:
    late = {"owned_by_one_member": 11, "epoch_implies_revoked": 8}
    for assignor, found in ((ONE_CLASSIC, {}), (COOPERATIVE, late if kind == "pauses" else {})):
        assert violated(f"group/{release}-consumer", only(**{kind: 1}) | assignor, IN_MIXED_GROUPS)[0] == found


def test_a_group_is_upgraded_and_downgraded() -> None:
    names = ["asks_other_protocol", "upgraded", "downgraded"]
    found = violated("group/4.4-consumer", only(leaves=1) | ONE_CLASSIC, names)[0]
    assert found == {"asks_other_protocol": 2, "upgraded": 3, "downgraded": 4}
    assert violated("group/4.4-consumer", only(leaves=1), names)[0] == {}


@pytest.mark.parametrize(("kind", "found"), [("pauses", {"survives_downgrade": 7}), ("leaves", {})])
def test_a_paused_consumer_stops_when_it_comes_back_to_a_classic_group(kind: str, found: dict[str, int]) -> None:
    """Without a ticket. Its heartbeat is answered with GROUP_ID_NOT_FOUND, not with UNKNOWN_MEMBER_ID."""
    for release in ("3.8", "4.4"):
        bounds = only(**{kind: 1}) | ONE_CLASSIC
        assert violated(f"group/{release}-consumer", bounds, ["survives_downgrade"])[0] == found


def test_a_new_coordinator_forgets_that_a_classic_member_must_synchronise() -> None:
    """The missing sync timer of classic groups once more. With only one of the two, the member is removed."""
    for kinds, found in (
        ({"mutes": 1, "failovers": 1}, {"stable_at_rest": 11}),
        ({"mutes": 1}, {}),
        ({"failovers": 1}, {}),
    ):
        assert violated("group/4.4-consumer", only(**kinds) | ONE_CLASSIC, ["stable_at_rest"])[0] == found


# --- sizes, designs, witnesses ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "bounds", "counts"),
    [
        ("3.7-consumer", NOTHING_FAILS, (45, 117, 11)),
        ("3.8-consumer", NOTHING_FAILS, (69, 183, 11)),
        ("4.4-consumer", NOTHING_FAILS, (69, 183, 11)),
        ("4.4-consumer", {"perturbations": 0, "any_target": True}, (197, 543, 11)),
        ("4.4-consumer", NOTHING_FAILS | ONE_CLASSIC, (51, 127, 11)),
        ("4.4-consumer", NOTHING_FAILS | COOPERATIVE, (55, 135, 12)),
    ],
)
def test_safety_holds_with_pinned_counts(release: str, bounds: dict[str, int], counts: tuple[int, int, int]) -> None:
    assert violated(f"group/{release}", bounds, SAFETY) == ({}, counts)


@pytest.mark.parametrize("kind", ["crashes", "pauses", "leaves", "mutes", "rejoins"])
def test_the_newest_release_settles_whatever_happens_once(kind: str) -> None:
    assert violated("group/4.4-consumer", only(**{kind: 1}), [*SAFETY, *STALLS])[0] == {}


@pytest.mark.parametrize("release", FIXED if EVERY else [FIXED[0], FIXED[-1]])
def test_a_late_commit_is_accepted_from_the_holder_only(release: str) -> None:
    assert violated(f"group/{release}", only(pauses=1, delayed=1), ["commit_by_holder"])[0] == {}


def test_the_engines_agree() -> None:
    found = []
    for engine in ("oracle", "compiled"):
        spec = load_spec("group/3.7-consumer").with_bounds(only(leaves=1)).with_properties([*SAFETY, "group_recovers"])
        result = ENGINES[engine](spec, Limits(keep_going=True))
        counts = result.statistics
        verdicts = [(item.property.name, item.verdict, len(item.traces)) for item in result.properties]
        found.append((verdicts, counts.distinct, counts.generated, counts.depth))
    assert found[0] == found[1]


def test_what_is_violated_by_design_is_violated_in_4_3() -> None:
    names = [item.name for item in CONSUMER_BY_DESIGN]
    bounds = only(pauses=1, records=1, partitions=1)
    assert set(violated("group/4.3-consumer", bounds, names)[0]) == set(names)


def test_every_witness_is_reached() -> None:
    spec = load_spec("group/4.4-consumer").with_bounds(NOTHING_FAILS).with_properties(WITNESSES)
    result = ENGINES["oracle"](spec)
    assert [item.verdict for item in result.properties] == [Verdict.HOLDS] * len(WITNESSES)


def test_every_state_of_a_group_is_reached() -> None:
    spec: Spec[ConsumerGroup] = GROUP.spec(NEWEST).with_bounds(only(leaves=1))
    frontier = list(spec.initials())
    seen, states = set(frontier), set()
    while frontier:
        state = frontier.pop()
        states.add(group_state(state))
        for instance in spec.instances:
            for after in instance.successors(state):
                if after not in seen:
                    seen.add(after)
                    frontier.append(after)
    assert states == {"Empty", "Assigning", "Reconciling", "Stable"}


# --- mutants ------------------------------------------------------------------------------------------------------

KILLED_BY: dict[str, set[str]] = {
    "given-before-free": {"owned_by_one_member", "assigned_to_one_member", "partition_epoch_held"},
    "revocation-not-awaited": {"owned_by_one_member", "epoch_implies_revoked"},
    "epoch-before-revocation": {"epoch_implies_revoked"},
    "member-epochs-not-compared": {"commit_by_holder"},
    "fenced-keeps-all": {"owned_by_one_member", "epoch_implies_revoked", "fenced_owns_nothing"},
    "no-rebalance-timer": {"stable_at_rest"},
    "left-for-good": {"instance_keeps_assignment"},
    "instance-not-awaited": {"instance_released"},
    "replaced-stays": {*OWNERS, "one_member_for_instance"},
    "classic-not-told": {"stable_at_rest"},
    "classic-not-watched": {"stable_at_rest"},
}


@pytest.mark.parametrize("mistake", MISTAKES, ids=[each.name for each in MISTAKES])
def test_a_mistake_is_noticed(mistake: Mistake) -> None:
    assert set(violated(GROUP.with_mistake(mistake, NEWEST), mistake.bounds, SAFETY)[0]) == KILLED_BY[mistake.name]


OTHERS = [(rule.name, other.name) for rule in RULES for other in rule.others(NEWEST.values[rule.name])]
OLD_RULES = {
    ("reconciliation", "restarts"): {"revocation_seen"},
    ("partition_epochs", "lost"): set(OWNERS),
    ("report", "changed"): {"revocation_seen"},
    ("classic_join", "accepted"): {"one_protocol"},
    ("lost_commit", "acknowledged"): {"acknowledged_offsets_kept"},
}


@pytest.mark.parametrize(("rule", "value"), OTHERS)
def test_another_value_of_a_rule_is_noticed_or_does_no_harm(rule: str, value: str) -> None:
    found = violated(GROUP.spec(NEWEST.with_rules({rule: value})), RULES_SHOWN_WITH[rule, value], SAFETY)[0]
    assert set(found) == OLD_RULES.get((rule, value), set())
    assert bool(found) != ((rule, value) in RIGHT_TOO)


@pytest.mark.parametrize(("release", "expected"), [("4.1", False), ("4.2", True), ("4.4", True)])
def test_an_outdated_commit_in_the_same_epoch_is_accepted_since_4_2(release: str, expected: bool) -> None:
    """Without a ticket. A member that must revoke twice keeps its epoch (KAFKA-19974), so that a commit that was sent
    before the first time is not refused, although another member may have the partition.
    """
    spec = load_spec(f"group/{release}-consumer").with_bounds(RULES_SHOWN_WITH["revoked_epoch", "same"])
    result = ENGINES["oracle"](spec.with_properties(["commit_by_holder"]))
    assert [len(trace) for item in result.properties for trace in item.traces] == [11] * expected
    assert result.verdict is (Verdict.VIOLATED if expected else Verdict.HOLDS)


# --- the table of rules -------------------------------------------------------------------------------------------


def test_rules_set_the_fields_of_a_protocol_once() -> None:
    fields = [field for rule in RULES for field in rule.values[0].sets]
    assert len(fields) == len(set(fields))
    assert set(fields) <= set(Protocol.__annotations__)


def test_every_published_release_with_the_protocol_is_a_name() -> None:
    assert all(GROUP.find(f"group/{version}-consumer") is not None for version in between("3.7.0", "4.4.0"))
    assert GROUP.find("group/3.6-consumer") is None
    names = [name for column in GROUP.columns for name in (column.name, *column.aliases)]
    assert len(names) == len(set(names))


def test_releases_with_the_protocol_succeed_one_another() -> None:
    found = GROUP.column_of("group/4.2-consumer")
    assert found is not None
    later = ["4.2.2-consumer", "4.3-consumer", "4.3.1-consumer", "4.4-consumer"]
    assert [column.short_name for column in GROUP.later(found)] == later
    again = GROUP.column_of("group/4.2.2")  # with the same rules as 3.4.1
    assert again is not None
    assert [column.short_name for column in GROUP.later(again)] == ["4.3", "4.3.1"]
