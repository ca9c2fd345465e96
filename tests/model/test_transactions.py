"""Transactions: what each design allows, within the smallest bounds that show it. The figures are from our own runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import attrs
import pytest

from leadline.checker import Limits, Spec, Verdict
from leadline.checker.drawing import Row
from leadline.checker.engines import ENGINES
from leadline.invariants.catalog import CATALOG, find
from leadline.invariants.families.txn import LIVENESS as TXN_LIVENESS
from leadline.invariants.families.txn import PROPERTIES as TXN_PROPERTIES
from leadline.invariants.families.txn import TXN
from leadline.model.txn.drawing import rows
from leadline.model.txn.explanation import events
from leadline.model.txn.mistakes import MISTAKES
from leadline.model.txn.protocols import Protocol
from leadline.model.txn.releases import COLUMNS, DESIGNS, RELEASES, column_of
from leadline.model.txn.rules import RULES
from leadline.model.txn.state import Group, Transactions
from leadline.reports.loading import load_spec
from tests.suite.samples import EVERY

PROJECT = Path(__file__).parents[2]
SAFETY = [item.name for item in TXN_PROPERTIES if not item.kind.is_witness]
WITNESSES = [item.name for item in TXN_PROPERTIES if item.kind.is_witness]


def violated(
    name: str, bounds: dict[str, int], depth: int | None = None
) -> tuple[dict[str, int], tuple[int, int, int]]:
    """The lengths of the traces of the violated properties, and distinct states, generated states and depth."""
    spec = load_spec(name).with_bounds(bounds).with_properties(SAFETY)
    result = ENGINES["oracle"](spec, Limits(keep_going=True, depth=depth))
    assert result.exhausted or depth is not None
    counts = result.statistics
    found = {item.property.name: len(item.traces[0]) for item in result.properties if item.traces}
    return found, (counts.distinct, counts.generated, counts.depth)


def test_kip_98_fails_in_all_four_ways_with_one_late_request_and_two_transactions() -> None:
    assert violated("txn/kip-98", {}, depth=20)[0] == {
        "no_aborted_read": 14,
        "no_lost_write": 19,
        "no_torn_transaction": 20,
        "no_hanging_transaction": 9,
    }


def test_without_late_requests_kip_98_holds() -> None:
    assert violated("txn/kip-98", {"delayed": 0}) == ({}, (1_779, 2_113, 27))


def test_kip_890_part_2_holds_with_a_late_request() -> None:
    """While markers are written, a producer is asked to try again (KAFKA-18464); if fenced, there are 3,631 states."""
    assert violated("txn/kip-890-2", {}) == ({}, (3_563, 4_507, 25))


TWICE = {"delayed": 2, "lost_responses": 1}


@pytest.mark.parametrize("bounds", [{**TWICE, "partitions": 1}, *([{"delayed": 2}, TWICE] if EVERY else [])])
def test_kip_890_part_2_holds_with_two_late_requests_and_a_lost_response(bounds: dict[str, int]) -> None:
    """With two partitions, both at once take half a minute."""
    assert violated("txn/kip-890-2", bounds)[0] == {}


@pytest.mark.parametrize("name", ["txn/kip-98", "txn/kip-360", "txn/kip-890-1"])
def test_re_initialising_after_a_time_out_is_enough_with_kip_890_part_1_only(name: str) -> None:
    """With two partitions, a transaction can be torn, too: the page of transactions has that."""
    found, _ = violated(f"{name}+time_out=re-initialise", {"partitions": 1})
    harm = {"no_hanging_transaction": 9, "no_aborted_read": 17, "fenced_stays_fenced": 17}
    assert found == ({} if name == "txn/kip-890-1" else harm)


def test_part_1_is_not_enough_without_re_initialising() -> None:
    assert violated("txn/kip-890-1", {"partitions": 1})[0] == {"no_aborted_read": 15}


def test_the_page_of_transactions_says_what_holds() -> None:
    """Two partitions and one late request: only two ways to use Kafka violate nothing."""
    page = (PROJECT / "reports" / "pages" / "transactions.md").read_text()
    section = page.partition("\n## one late request\n")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| `txn/")]
    holds = {cells[0].strip("| `") for cells in rows if all(cell.startswith("holds") for cell in cells[1:-1])}
    assert holds == {
        "txn/4.0",
        *(
            f"txn/{name}+time_out=re-initialise"
            for name in (
                "3.6",
                "3.6-client-0.11",
                "3.9.1",
                "3.9.1-client-0.11",
                "4.0",
                "4.0-client-2.5",
                "4.0-client-0.11",
            )
        ),
    }


@pytest.mark.parametrize("design", ["txn/kip-98", "txn/kip-890-2"])
def test_every_witness_is_reached(design: str) -> None:
    result = ENGINES["oracle"](CATALOG[design].with_properties(WITNESSES).with_bounds({"transactions": 1}))
    assert [item.verdict for item in result.properties] == [Verdict.HOLDS] * len(WITNESSES)


# --- progress -----------------------------------------------------------------------------------------------------

EXPIRING = {"partitions": 1, "transactions": 1, "expiries": 1}


def stuck(spec: Spec[Transactions], bounds: dict[str, int], engine: str = "oracle") -> dict[str, int]:
    """The liveness properties that are violated, and the lengths of the traces."""
    named = spec.with_bounds(bounds).with_properties([item.name for item in TXN_LIVENESS])
    result = ENGINES[engine](named, Limits(keep_going=True))
    assert result.exhausted
    return {item.property.name: len(item.traces[0]) for item in result.properties if item.traces}


@pytest.mark.parametrize(
    ("name", "bounds", "expected"),
    [
        ("txn/kip-98", {}, {"lso_moves_on": 10}),
        ("txn/kip-360", {}, {"lso_moves_on": 10}),
        ("txn/kip-98+time_out=re-initialise", {}, {"lso_moves_on": 10}),
        ("txn/kip-98", {"lag": 1}, {"lso_moves_on": 12}),
        ("txn/kip-98", {"delayed": 0}, {}),
        ("txn/kip-890-1", {"transactions": 2}, {}),
        ("txn/kip-890-2", {"transactions": 2, "lag": 1}, {}),
        ("txn/kip-890-2", {"failovers": 1}, {}),
        ("txn/kip-890-2", {"partitions": 2, "delayed": 0}, {}),
        ("txn/kip-890-2", {"unclean_elections": 1, "delayed": 0}, {"lso_moves_on": 8}),
    ],
)
def test_the_last_stable_offset_moves_on_unless_a_transaction_hangs(
    name: str, bounds: dict[str, int], expected: dict[str, int]
) -> None:
    spec = find(name)
    assert spec is not None
    assert stuck(spec, EXPIRING | bounds) == expected


@pytest.mark.parametrize("name", ["txn/kip-98", "txn/kip-890-2"])
def test_the_compiled_engine_says_the_same_of_progress(name: str) -> None:
    found = [stuck(CATALOG[name], EXPIRING, engine) for engine in ("oracle", "compiled")]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("neglected", "expected"),
    [
        ("expire", {"every_transaction_ends", "lso_moves_on"}),
        ("complete", {"every_transaction_ends", "decided_transactions_complete"}),
        ("write_marker", {"every_transaction_ends", "decided_transactions_complete", "lso_moves_on"}),
        ("advance_high_watermark", {"every_transaction_ends", "decided_transactions_complete", "lso_moves_on"}),
    ],
)
def test_progress_needs_what_the_brokers_do(neglected: str, expected: set[str]) -> None:
    spec = attrs.evolve(CATALOG["txn/kip-890-2"], fairness={neglected: ""})
    assert set(stuck(spec, EXPIRING | {"lag": 1})) == expected


def test_a_coordinator_that_does_not_resume_leaves_a_decided_transaction() -> None:
    (mistake,) = [each for each in MISTAKES if each.name == "transactions-not-completed-after-failover"]
    column = column_of("txn/kip-890-2")
    assert column is not None
    found = stuck(TXN.with_mistake(mistake, column), {**mistake.bounds})
    assert set(found) == {"every_transaction_ends", "decided_transactions_complete", "lso_moves_on"}


def test_a_transaction_that_only_a_time_out_can_end_is_open_without_time_outs() -> None:
    spec = CATALOG["txn/kip-890-2"].with_bounds({"partitions": 1})
    named = spec.with_properties(["every_transaction_ends"])
    assert ENGINES["oracle"](named).verdict is Verdict.HOLDS
    trace = ENGINES["oracle"](attrs.evolve(named, cut=None)).properties[0].traces[0]
    assert spec.is_open(trace.states[-1])


# --- the table of rules -----------------------------------------------------------------------------------------


def test_rules_set_the_fields_of_a_protocol_once() -> None:
    fields = [field for rule in RULES for field in rule.values[0].sets]
    assert len(fields) == len(set(fields))
    assert all(len({frozenset(value.sets) for value in rule.values}) == 1 for rule in RULES)
    assert set(fields) <= set(Protocol.__annotations__)


def test_every_value_is_that_of_a_column_or_says_why_not() -> None:
    unused = {
        (rule.name, value.name)
        for rule in RULES
        for value in rule.values
        if all(column.values[rule.name] != value.name for column in COLUMNS)
    }
    assert unused == {("time_out", "re-initialise"), ("last_epoch", "persisted")}


def test_no_two_designs_are_the_same_and_an_old_client_leaves_2_5_as_it_was() -> None:
    assert len({str(sorted(column.values.items())) for column in DESIGNS}) == len(DESIGNS)
    by_name = {column.name: dict(column.values) for column in RELEASES}
    assert by_name.pop("txn/2.5-client-0.11") == by_name["txn/2.0"]
    assert len({str(sorted(values.items())) for values in by_name.values()}) == len(by_name)


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("txn/0.11.0.1", "txn/0.11"),
        ("txn/0.11.0.2", "txn/1.0"),
        ("txn/0.11.0.3", "txn/2.0"),
        ("txn/1.1.1", "txn/2.0"),
        ("txn/2.4", "txn/2.0"),
        ("txn/3.5.2", "txn/2.6"),
        ("txn/3.9-client-2.4", "txn/3.6-client-0.11"),
        ("txn/3.9.2", "txn/3.9.1"),
        ("txn/4.1", "txn/4.0"),
        ("txn/4.0-client-3.9", "txn/4.0-client-2.5"),
        ("txn/2.4-client-4.0", "txn/2.0"),
    ],
)
def test_a_release_of_brokers_and_of_a_client_has_a_column(name: str, same: str) -> None:
    column, spec = column_of(name), find(name)
    assert column is not None
    assert spec is not None
    assert column.same_as == same
    assert spec.note.startswith(f"stands for {same}: no rule of the model differs in Kafka ")


@pytest.mark.parametrize("name", ["txn/0.10.2", "txn/9.9", "txn/4.0-client-1.9", "txn/kip-1"])
def test_other_names_are_unknown(name: str) -> None:
    assert find(name) is None


def test_an_old_client_on_4_0_has_only_part_1() -> None:
    old, part_1 = column_of("txn/4.0-client-3.9"), column_of("txn/kip-890-1")
    assert old is not None
    assert part_1 is not None
    assert dict(old.values) == {
        **part_1.values,
        "open_transaction": "same-epoch",
        "offsets_completed": "with-the-marker",
    }


# --- tickets ------------------------------------------------------------------------------------------------------

ONE = {"transactions": 1, "partitions": 1}


def test_no_request_has_a_higher_epoch_than_the_coordinator() -> None:
    assert violated("txn/1.0", ONE)[1] == violated("txn/1.0+end_epoch=equal", ONE)[1]


# --- traces --------------------------------------------------------------------------------------------------------


def rows_at_end(name: str, bounds: dict[str, int], item: str) -> Mapping[str, Row]:
    spec = load_spec(name).with_bounds(bounds).with_properties([item])
    trace = ENGINES["oracle"](spec).properties[0].traces[0]
    return rows(trace.states[-1])


def test_a_log_shows_transactions_as_spans_and_the_last_stable_offset() -> None:
    hanging = rows_at_end("txn/2.6", ONE, "no_hanging_transaction")["partition 0"]
    assert hanging.columns["log"] == "A@0 ¦ [t1@0"
    assert [(mark.name, mark.offset) for mark in hanging.marks] == [("LSO", 1), ("HW", 2)]
    read = rows_at_end("txn/2.6", {"partitions": 1}, "no_aborted_read")["partition 0"]
    assert read.columns["log"] == "C@0 [t2@0 C@0] ¦"


def test_the_explanation_says_which_late_request_ends_which_transaction() -> None:
    spec = load_spec("txn/2.6").with_bounds({"partitions": 1}).with_properties(["no_aborted_read"])
    told = [event.text for event in events(list(ENGINES["oracle"](spec).properties[0].traces[0].steps))]
    assert (
        "the commit of transaction 1 arrives late and ends transaction 2, which its producer has not asked to commit"
        in told
    )


# --- offsets of a consumer group ---------------------------------------------------------------------------------

OFFSETS = {"partitions": 1, "delayed": 0, "groups": 1}


@pytest.mark.parametrize(
    ("name", "bounds", "expected"),
    [
        ("txn/1.0", {}, {}),
        ("txn/2.0", {}, {"no_uncommitted_offset": 12, "no_forgotten_offset": 16}),
        ("txn/3.9.0", {}, {"no_uncommitted_offset": 13, "no_forgotten_offset": 17}),
        ("txn/3.9.1", {}, {}),
        ("txn/4.0", {}, {}),
        ("txn/4.0", {"delayed": 1, "lost_responses": 1}, {}),
        ("txn/4.0", {"partitions": 2, "failovers": 1}, {}),
        ("txn/3.9.1+time_out=re-initialise", {"delayed": 1, "failovers": 1}, {}),
        ("txn/3.9.1", {"unclean_elections": 1, "transactions": 1}, {}),
        ("txn/4.0+offsets_completed=later", {}, {"no_uncommitted_offset": 12, "no_forgotten_offset": 16}),
    ],
)
def test_the_offsets_of_a_group_are_those_of_committed_transactions(
    name: str, bounds: dict[str, int], expected: dict[str, int]
) -> None:
    """KAFKA-17507: 0.11.0.3, 1.0.2, 1.1.1 and 2.0.0 to 3.9.0 answer before the offsets are taken over."""
    spec = find(name)
    assert spec is not None
    named = spec.with_properties(["no_uncommitted_offset", "no_forgotten_offset"]).with_bounds(OFFSETS | bounds)
    result = ENGINES["oracle"](named, Limits(keep_going=True))
    assert result.exhausted
    assert {item.property.name: len(item.traces[0]) for item in result.properties if item.traces} == expected


def test_a_group_coordinator_that_is_new_reads_the_offsets_in_the_log() -> None:
    """Which ends the harm of KAFKA-17507. The first transaction has added the partition, and has sent no offset."""
    spec = CATALOG["txn/3.6"].with_bounds(OFFSETS | {"unclean_elections": 1})
    trace = ENGINES["oracle"](spec.with_properties(["no_uncommitted_offset"])).properties[0].traces[0]
    (elect,) = [each for each in spec.instances if each.action.name == "elect_uncleanly"]
    (after,) = spec.take(elect, trace.states[-1])
    assert (trace.states[-1].group.offset, after.group) == (2, Group())
