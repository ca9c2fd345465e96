"""Pages made from runs: the answers to readers' questions, and the verdict matrix."""

from __future__ import annotations

import itertools
import json
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from leadline.checker import Spec, Verdict, action, invariant
from leadline.checker.engines import ENGINES
from leadline.checker.errors import LeadlineError
from leadline.checker.result import Limits, Result
from leadline.checker.traces.replay import executed
from leadline.invariants.assignment import completion_keeps_min_isr
from leadline.invariants.catalog import CATALOG
from leadline.invariants.families.group import GROUP
from leadline.invariants.families.kafka import KRAFT_PROPERTIES
from leadline.invariants.families.kafka import LIVENESS as KAFKA_LIVENESS
from leadline.invariants.families.kafka import PROPERTIES as KAFKA_PROPERTIES
from leadline.invariants.families.quorum import QUORUM
from leadline.invariants.promises import durable_after_few_unclean_stops, why_not_promised
from leadline.model.control.releases import RELEASES as CONTROL_RELEASES
from leadline.model.kafka.releases import DESIGNS, RELEASES
from leadline.model.rules import RuleColumn
from leadline.model.txn.releases import RELEASES as TXN_RELEASES
from leadline.reports.ci.markdown import answers_page
from leadline.reports.document.markdown import markdown
from leadline.reports.kafka.bugs import REPLICATION, Archive, read_archive
from leadline.reports.kafka.kept_behaviours import FILE
from leadline.reports.kept_results import KeptResults
from leadline.reports.loading import load_spec
from leadline.reports.matrix import (
    NAMED,
    SHIPPED,
    Column,
    Configuration,
    bug_within,
    matrix_file,
    read_matrix,
    summary,
)
from leadline.reports.matrix_document import matrix_document
from leadline.reports.matrix_overview import overview, with_overview
from leadline.reports.stored_tables import stored_tables
from leadline.reports.suite import ANSWERS, SuiteRun, read_suite
from tests.suite.command import call
from tests.suite.samples import sampled

PROJECT = Path(__file__).parents[2]
Prepared = tuple[Configuration, Spec[Any]]
KEPT = {(line["ticket"], line["spec"]): line["steps"] for line in map(json.loads, FILE.read_text().splitlines())}


def test_the_page_of_answers_is_what_the_runs_say() -> None:
    """If it is not, write it again with `leadline check answers --answers reports/pages/answers.md`."""
    checks = read_suite(ANSWERS)
    outcomes = [prepared.run() for prepared in sampled(checks, 10)]
    assert [f"{outcome.prepared.title}: {outcome.failure}" for outcome in outcomes if outcome.failure] == []
    page = (PROJECT / "reports" / "pages" / "answers.md").read_text()
    title, *sections = page.removesuffix("\n").split("\n\n## ")
    assert len(sections) == len(checks)
    assert [title, *sampled(sections, 10)] == "\n".join(answers_page(SuiteRun(ANSWERS.name, checks, outcomes))).split(
        "\n\n## "
    )


def test_every_answer_says_in_words_what_the_run_says_in_figures() -> None:
    for check in tomllib.loads(ANSWERS.read_text())["check"]:
        assert check["note"]
        assert check["name"].endswith(("?", "disk."))


def test_every_article_is_asked_about() -> None:
    notes = " ".join(check["note"] for check in tomllib.loads(ANSWERS.read_text())["check"])
    assert [seed for seed in ("000", "001", "002", "003", "004") if seed not in notes] == []


DESIGNS_MATRIX = SHIPPED.with_name("designs.toml")
STATES_MATRIX = SHIPPED.with_name("states.toml")
TXN_MATRIX = SHIPPED.with_name("transactions.toml")
CONTROL_MATRIX = SHIPPED.with_name("control.toml")
COSTS_MATRIX = SHIPPED.with_name("costs.toml")
ROLLS_MATRIX = SHIPPED.with_name("rolls.toml")
UPGRADES_MATRIX = SHIPPED.with_name("upgrades.toml")
DELETION_MATRIX = SHIPPED.with_name("deletion.toml")
GROUPS_MATRIX = SHIPPED.with_name("groups.toml")
QUORUM_MATRIX = SHIPPED.with_name("quorum.toml")
GROUP_OFFSETS_MATRIX = SHIPPED.with_name("group-offsets.toml")
GROUP_STATES_MATRIX = SHIPPED.with_name("group-states.toml")
CONSUMER_GROUPS_MATRIX = SHIPPED.with_name("consumer-groups.toml")
PAGES = {
    SHIPPED: "matrix.md",
    DESIGNS_MATRIX: "designs.md",
    STATES_MATRIX: "states.md",
    TXN_MATRIX: "transactions.md",
    CONTROL_MATRIX: "control.md",
    COSTS_MATRIX: "costs.md",
    DELETION_MATRIX: "deletion.md",
    ROLLS_MATRIX: "rolls.md",
    UPGRADES_MATRIX: "upgrades.md",
    GROUP_OFFSETS_MATRIX: "group-offsets.md",
    GROUP_STATES_MATRIX: "group-states.md",
    GROUPS_MATRIX: "groups.md",
    QUORUM_MATRIX: "quorum.md",
    CONSUMER_GROUPS_MATRIX: "consumer-groups.md",
}


def test_the_shipped_matrices_have_every_release_and_every_design() -> None:
    releases, designs = read_matrix(SHIPPED), read_matrix(DESIGNS_MATRIX)
    assert releases.specs == [column.name for column in RELEASES]
    assert designs.specs == [column.name for column in DESIGNS]
    assert designs.properties is None
    for matrix in (releases, designs):
        prepared = matrix.prepared()
        left_out = sum(len(each.not_in) for each in matrix.configurations)
        assert len(prepared) == len(matrix.specs) * len(matrix.configurations) - left_out
        for bound in ("acks", "min_insync_replicas", "unclean_leader_election", "lossy_crashes", "session_expiries"):
            assert len({getattr(spec.bounds, bound) for _, spec in prepared}) > 1, bound


def test_the_matrix_of_transactions_has_every_release_of_brokers_and_clients_with_both_habits() -> None:
    matrix = read_matrix(TXN_MATRIX)
    names = {column.name for column in TXN_RELEASES}
    assert set(matrix.specs) == names | {f"{name}+time_out=re-initialise" for name in names}
    assert len(matrix.specs) == 2 * len(names)
    assert len(matrix.prepared()) == len(matrix.specs) * len(matrix.configurations)


def test_the_matrix_of_controllers_has_every_release_of_the_family() -> None:
    matrix = read_matrix(CONTROL_MATRIX)
    assert matrix.specs == [column.name for column in CONTROL_RELEASES]
    by_log = {column.name for column in CONTROL_RELEASES if column.values["metadata"] == "log"}
    assert {frozenset(each.not_in) for each in matrix.configurations} == {frozenset(), frozenset(by_log)}


@pytest.mark.parametrize(
    ("matrix", "columns"),
    [
        (DELETION_MATRIX, RELEASES),
        (GROUP_OFFSETS_MATRIX, GROUP.columns),
        (QUORUM_MATRIX, QUORUM.columns),
        (GROUPS_MATRIX, [column for column in GROUP.columns if not column.name.endswith("-consumer")]),
        (CONSUMER_GROUPS_MATRIX, [column for column in GROUP.columns if column.name.endswith("-consumer")]),
    ],
    ids=["deletion", "offsets", "quorum", "groups", "consumer-groups"],
)
def test_the_matrices_of_deletion_and_of_groups_have_every_release(matrix: Path, columns: Sequence[RuleColumn]) -> None:
    assert read_matrix(matrix).specs == [column.name for column in columns]


def cells_of(shipped: Path) -> dict[tuple[str, str], dict[str, str]]:
    """The cells of the page of a matrix, by configuration and spec, and then by property."""
    page = (PROJECT / "reports" / "pages" / PAGES[shipped]).read_text()
    matrix = read_matrix(shipped)
    sections = {part.partition("\n")[0]: part for part in page.split("\n## ")[1:]}
    names = {label: name for name, label in matrix.labels.items()}
    found = {}
    for configuration in matrix.configurations:
        rows = {line.split(" | ")[0]: line.split(" | ")[1:] for line in sections[configuration.name].splitlines()}
        head = [names.get(label.removesuffix(" |"), "") for label in rows["| release"]]
        for spec in matrix.specs_in(configuration):
            found[configuration.name, spec] = dict(zip(head, rows[f"| `{spec}`"], strict=True))
    return found


def _left_out(archive: Archive, shipped: Path = SHIPPED) -> list[str]:
    """The bugs of the archive that a page must show in a cell, but does not."""
    cells, missing = cells_of(shipped), []
    for configuration, spec in read_matrix(shipped).prepared():
        own = cells[configuration.name, spec.name]
        for bug in archive.possible(spec):
            if bug.property in own and bug.ticket not in own[bug.property]:
                missing.append(f"{configuration.name}, {spec.name}: {bug.ticket}")
    return missing


def test_the_page_shows_every_bug_that_a_configuration_allows() -> None:
    """If it does not, write it again with `make pages`."""
    for matrix in PAGES:
        assert not read_matrix(matrix).known_bugs or _left_out(read_archive(), matrix) == []


def wrong_cells(cells: Mapping[tuple[str, str], Mapping[str, str]], prepared: Iterable[Prepared]) -> list[str]:
    """The cells that say "holds" although an archived behaviour is a counterexample with their settings.

    The behaviours are those that are kept of each known bug, in the release for which they are kept. None is trusted:
    they are executed with the settings of the configuration.
    """
    archive, wrong = read_archive(), []
    for configuration, spec in prepared:
        own = [bug for bug in archive.allowed(spec) if (bug.ticket, spec.name) in KEPT]
        holding = [name for name, cell in cells[configuration.name, spec.name].items() if cell.startswith("holds")]
        for bug, name in itertools.product(own, holding):
            within = bug_within(bug, spec)[0].with_properties([name])
            trace = executed(within, KEPT[bug.ticket, spec.name])
            if trace is not None and not why_not_promised(name, trace):
                wrong.append(f"{configuration.name}, {spec.name}, {name}: {bug.ticket}")
    return wrong


def test_no_cell_of_the_matrix_contradicts_a_behaviour_of_the_archive() -> None:
    """Whatever `leadline bugs` and `leadline advise` call possible with a configuration's settings is in its table."""
    assert wrong_cells(cells_of(SHIPPED), read_matrix(SHIPPED).prepared()) == []


def test_a_cell_without_a_bug_that_needs_other_settings_is_wrong() -> None:
    """KAFKA-13141 is in the archive with acks=all. In 2.8 it loses readable records with its default, acks=1, too."""
    matrix = read_matrix(SHIPPED)
    prepared = next((each, spec) for each, spec in matrix.prepared() if spec.name == "kafka/2.8")
    cells = {(prepared[0].name, "kafka/2.8"): dict.fromkeys(matrix.properties or [], "holds (8,683)")}
    assert prepared[1].bounds.acks == "1"
    said = f"{prepared[0].name}, kafka/2.8, committed_never_lost: KAFKA-13141"
    assert said in wrong_cells(cells, [prepared])


def test_a_bug_that_is_new_in_the_archive_is_missing_on_the_page() -> None:
    archive = read_archive()
    old = next(bug for bug in archive.bugs if bug.ticket == "KAFKA-14704")
    new = attrs.evolve(old, ticket="KAFKA-99999", affected=["kafka/4.1"])
    assert _left_out(attrs.evolve(archive, bugs=[*archive.bugs, new])) == [
        f"{configuration.name}, kafka/4.1: KAFKA-99999"
        for configuration, spec in read_matrix(SHIPPED).prepared()
        if spec.name == "kafka/4.1" and spec.bounds.acks == "all" and spec.bounds.crashes
        and not spec.bounds.unclean_leader_election and spec.bounds.min_insync_replicas == 1
    ]  # fmt: skip


def test_every_bug_is_possible_in_a_configuration_of_the_page() -> None:
    """A bug that no configuration allows would show nowhere. The bugs of logs whose start moves are searched for with
    settings that are not the releases' own.
    """
    archive, prepared = read_archive(), read_matrix(SHIPPED).prepared()
    shown = {(bug.ticket, spec.name) for _, spec in prepared for bug in archive.possible(spec)}
    cells = cells_of(DELETION_MATRIX)
    shown |= {
        (bug.ticket, spec.name)
        for configuration, spec in read_matrix(DELETION_MATRIX).prepared()
        for bug in archive.allowed(spec)
        if bug.ticket in cells[configuration.name, spec.name].get(bug.property, "")
    }
    names = {spec.name for _, spec in prepared}
    wanted = {(bug.ticket, name) for bug in archive.bugs for name in bug.affected if name in names}
    assert wanted - shown == set()


def test_the_bugs_outside_a_search() -> None:
    """A search shows a bug only with its settings, bounds at least as large, and its property."""
    archive = read_archive()
    (bug,) = archive.about("KAFKA-13141")[0]
    spec: Spec[object] = load_spec("kafka/2.8.0").with_bounds(bug.bounds)

    def outside(changed: Spec[object]) -> bool:
        return bug in archive.outside(changed)

    assert not outside(spec)
    assert not outside(spec.with_bounds({"crashes": 2, "isr_shrinks": -1}))
    assert outside(spec.with_bounds({"records": 1}))
    assert outside(spec.with_bounds({"acks": "1"}))
    assert outside(spec.with_properties(["weak_isr"]))
    assert archive.outside(load_spec("rpc/kip-101")) == []
    assert bug not in archive.outside(load_spec("kafka/2.8.1"))


@pytest.mark.parametrize("matrix", PAGES, ids=PAGES.values())
def test_a_page_of_a_matrix_is_its_stored_tables(matrix: Path) -> None:
    """The stored tables are of the present specs, properties and bounds. `make pages` writes both."""
    tables = stored_tables(matrix)
    text = (PROJECT / "reports" / "pages" / PAGES[matrix]).read_text()
    assert tables is not None
    assert text == markdown(with_overview(tables.page, overview(tables.document)))
    headings = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    assert headings == [configuration.name for configuration in read_matrix(matrix).configurations]
    for section in text.split("\n## ")[1:]:
        assert "never shown" not in section or "not decided" in section  # a situation that was not reached


def test_a_table_names_the_known_bugs_for_which_the_search_stopped_at_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With acks=1, KAFKA-13091 is not in the archive, and the search of its 900 states decides that it does no harm."""
    (tmp_path / "bugs.toml").write_text(
        'specs = ["kafka/2.7"]\nproperties = ["follower_reads"]\nknown_bugs = true\nmax_states = 50\n'
        '[[configurations]]\nname = "defaults"\nbounds = { records = 1, crashes = 1 }\n'
    )
    matrix = read_matrix(tmp_path / "bugs.toml")
    for states, is_decided in ((20, False), (1_000, True)):
        monkeypatch.setattr("leadline.reports.matrix.BUG_STATES", states)
        (column,) = matrix.columns()
        assert ("KAFKA-13091" not in column.undecided) is is_decided
        said = [*summary(matrix, [column])]
        assert said[0] == "not decided whether follower_reads is violated in all of them"
        assert said[1:] == [f"{ticket} is not decided in all of them" for ticket in column.undecided]


def test_the_page_of_state_counts_has_every_release_and_what_rules_cost() -> None:
    matrix = read_matrix(STATES_MATRIX)
    assert matrix.prepared()
    assert matrix.specs[: len(RELEASES)] == [column.name for column in RELEASES]
    assert all(name.startswith("kafka/4.1+") for name in matrix.specs[len(RELEASES) :])
    assert [row[0] for row in table_rows("states.md") if row[0].startswith("kafka/")] == matrix.specs * 2


def test_states_are_counted_and_compared_with_those_without_the_changed_rule(tmp_path: Path) -> None:
    (tmp_path / "counts.toml").write_text(
        'title = "Sizes"\nproperties = []\nspecs = ["kafka/4.1", "kafka/4.1+hw_checkpoint=exact"]\n'
        "bounds = { records = 1, max_epoch = 1 }\nmax_states = 800\n"
        '[[configurations]]\nname = "one crash"\n[[configurations]]\nname = "more"\nbounds = { records = 3 }\n'
    )
    small, exact, large, _ = read_matrix(tmp_path / "counts.toml").columns()
    sizes = [column.result.statistics.distinct for column in (small, exact)]
    assert small.cells["distinct states"].text == f"{sizes[0]}"
    assert exact.cells["distinct states"].text == f"{sizes[1]} (× {sizes[1] / sizes[0]:.2f})"
    assert large.cells["distinct states"].text.startswith("incomplete (800, depth ")
    run = call("matrix", "counts.toml", "--markdown", folder=tmp_path)
    assert run.code == 0
    assert run.lines[:3] == ["# Sizes", "", "Made from runs: `leadline matrix counts.toml`."]
    (said,) = (line for line in run.lines if line.startswith("- **one crash** (`-b "))
    assert said.endswith(f": {min(sizes)} to {max(sizes)} states.")


def test_a_configuration_can_be_compared_with_an_earlier_one(tmp_path: Path) -> None:
    counts = (
        'title = "Sizes"\nproperties = []\nspecs = ["kafka/4.1"]\nbounds = { records = 1, max_epoch = 0 }\n'
        '[[configurations]]\nname = "no crash"\nbounds = { crashes = 0 }\n'
        '[[configurations]]\nname = "a crash"\nbounds = { crashes = 1 }\ncompared_with = "no crash"\n'
    )
    (tmp_path / "counts.toml").write_text(counts)
    without, crash = read_matrix(tmp_path / "counts.toml").columns()
    sizes = [column.result.statistics.distinct for column in (without, crash)]
    assert crash.cells["distinct states"].text == f"{sizes[1]} (× {sizes[1] / sizes[0]:.2f})"
    (tmp_path / "counts.toml").write_text(counts.replace('compared_with = "no crash"', 'compared_with = "a crash"'))
    run = call("matrix", "counts.toml", folder=tmp_path)
    said = "configuration 'a crash' is compared with 'a crash', which is not the name of an earlier configuration"
    assert (run.code, run.err) == (2, f"leadline: {said}\n")


def test_the_page_of_costs_has_each_bound_for_kraft() -> None:
    matrix = read_matrix(COSTS_MATRIX)
    assert {name for each in matrix.configurations for name in each.bounds} >= {
        *("late_records", "reassignments", "cancellations", "lost_directories"),
        *("min_isr_updates", "min_isr_raises", "first_partition"),
    }


NOT_ON_THE_PAGES = {"follower_log_is_prefix": {"rpc/kip-279"}, "durable_as_promised": {"kafka/4.1", "kafka/4.3"}}
"""Known to fail in larger bounds than the matrix has; `tests/model/test_kafka_and_atomic.py` plays a counterexample of
the design, and `tests/model/test_kafka_real_brokers.py` searches 4.1 and 4.3."""


def violated_on_the_pages() -> dict[str, set[str]]:
    """The specs in which the pages and the archive of bugs have each property violated."""
    failing: dict[str, set[str]] = {item.name: set() for item in (*KAFKA_PROPERTIES, *KAFKA_LIVENESS)}
    failing |= {
        item.name: set() for item in (durable_after_few_unclean_stops, completion_keeps_min_isr, *KRAFT_PROPERTIES)
    }
    specs = read_matrix(DESIGNS_MATRIX).specs
    for name, *cells in table_rows("designs.md"):
        if name in failing:
            failing[name] |= {spec for spec, cell in zip(specs, cells, strict=True) if "violated" in cell}
    names: list[str] = []
    labels = {label: name for name, label in read_matrix(SHIPPED).labels.items()}
    for spec, *cells in table_rows("matrix.md"):
        if spec == "release":
            names = [labels[cell] for cell in cells]
        if spec in CATALOG:
            lost = [cell.startswith(("**violated", "by design")) for cell in cells]
            for name in (name for name, is_lost in zip(names, lost, strict=True) if is_lost):
                failing[name].add(spec)
    for bug in read_archive().of_family(REPLICATION).bugs:
        failing[bug.property] |= {name for name in bug.affected if name in CATALOG}
    return failing


def table_rows(page: str) -> Iterator[list[str]]:
    """The rows of the tables of verdicts, without the overview at the start of a page."""
    _, _, verdicts = (PROJECT / "reports" / "pages" / page).read_text().partition("\n## ")
    for line in verdicts.splitlines():
        if line.startswith("|"):
            yield [cell.strip(" `") for cell in line.strip("|").split("|")]


def test_properties_say_themselves_where_runs_have_them_violated() -> None:
    failing = violated_on_the_pages()
    for item in KAFKA_PROPERTIES:
        known = failing[item.name] | NOT_ON_THE_PAGES.get(item.name, set())
        assert {spec for spec in item.fails_in if not spec.startswith("atomic/")} == known, item.name


SMALL = """\
specs = ["rpc/hw-truncation", "rpc/kip-320"]
properties = ["weak_isr", "acked_never_lost", "leader_in_isr", "broker_rejoins_isr"]
bounds = { records = 1, crashes = 1 }
[[configurations]]
name = "one crash"
[[configurations]]
name = "alone"
bounds = { brokers = 1 }
"""


def test_a_cell_says_what_a_search_says(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    matrix = read_matrix(tmp_path / "small.toml")
    first, second, alone, also_alone = matrix.columns()
    assert {name: cell.text for name, cell in first.cells.items()} == {
        "weak_isr": "violated (8)",
        "acked_never_lost": "violated (6)",
        "leader_in_isr": "holds (384)",
        "broker_rejoins_isr": "shown (6)",
    }
    assert (second.spec, second.cells["weak_isr"].verdict) == ("rpc/kip-320", Verdict.HOLDS)
    assert alone.cells["broker_rejoins_isr"].text == "never shown"
    assert alone.configuration is also_alone.configuration is matrix.configurations[1]


def test_a_cell_of_a_search_that_was_stopped_says_how_deep_it_went(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text("max_states = 50\n" + SMALL)
    first: Column = next(read_matrix(tmp_path / "small.toml").columns())
    assert first.cells["leader_in_isr"].text.startswith("incomplete (depth ")
    assert first.cells["leader_in_isr"].verdict is Verdict.INCOMPLETE


def test_an_interrupted_matrix_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No search is made twice, and a line that was cut off is searched again. What is kept is not trusted."""
    (tmp_path / "small.toml").write_text(SMALL)
    file, made = tmp_path / "results.jsonl", list[str]()
    engine = ENGINES["compiled"]

    def counting(spec: Spec[Any], *rest: Any) -> Result:
        made.append(spec.name)
        return engine(spec, *rest)

    monkeypatch.setattr("leadline.reports.matrix.ENGINES", {"compiled": counting})
    matrix = read_matrix(tmp_path / "small.toml")
    first = [column.cells for column in matrix.columns(None, KeptResults(file))]
    assert len(made) == 4
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:2]) + lines[2][:100])
    kept = KeptResults(file)
    columns = list(matrix.columns(None, kept))
    again = [column.cells for column in columns]
    assert len(made) == 4 + 2
    own = [json.loads(line)["processor"] for line in file.read_text().splitlines()]
    assert len(own) == 4
    assert kept.seconds == pytest.approx(sum(own)) == pytest.approx(sum(column.seconds for column in columns))
    for one, other in zip(first, again, strict=True):
        assert {name: attrs.evolve(cell, trace=None) for name, cell in one.items()} == {
            name: attrs.evolve(cell, trace=None) for name, cell in other.items()
        }
        lengths = [
            [len(cell.trace) if cell.trace is not None else 0 for cell in cells.values()] for cells in (one, other)
        ]
        assert lengths[0] == lengths[1]
    file.write_text(lines[0] + "nothing\n")
    with pytest.raises(LeadlineError, match=r"results.jsonl, line 2 is not the result of a search"):
        KeptResults(file)
    file.write_text("a file of another kind")
    with pytest.raises(LeadlineError, match="does not contain results of searches"):
        KeptResults(file)


def test_what_other_processes_have_found_is_not_searched_again(tmp_path: Path) -> None:
    spec = CATALOG["atomic/kip-101"].with_bounds({"brokers": 1})
    results = KeptResults(tmp_path / "results.jsonl")
    assert len(list(results.in_processes([(spec, Limits(), lambda: ENGINES["oracle"](spec))], workers=2))) == 1
    assert results.result(spec, Limits(), pytest.fail).statistics.distinct > 1
    assert results.seconds > 0


def test_a_kept_result_of_a_spec_that_reads_files_is_not_taken(tmp_path: Path) -> None:
    results = KeptResults(tmp_path / "results.jsonl")
    for most in (2, 4):
        (tmp_path / "most").write_text(str(most))
        spec = spec_that_reads(tmp_path / "most")
        result = results.result(spec, Limits(), lambda spec=spec: ENGINES["oracle"](spec))  # type: ignore[misc]
        assert result.statistics.distinct == most + 1


def spec_that_reads(file: Path) -> Spec[Any]:
    """A spec whose code and data are the same whatever the file says."""

    @attrs.frozen
    class Counter:
        value: int = 0

    @action()
    def count(state: Counter) -> Iterator[Counter]:
        if state.value < int(file.read_text()):
            yield Counter(state.value + 1)

    @invariant("it never counts below 0")
    def positive(state: Counter) -> bool:
        return state.value >= 0

    return Spec(name="counter", initial_states=lambda _: [Counter()], actions=[count], properties=[positive])


def test_the_matrix_command_shows_tables(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    run = call("matrix", "small.toml", folder=tmp_path)
    assert run.code == 0
    at = run.lines.index("one crash")
    assert run.lines[at : at + 4] == [
        *("one crash", "-b records=1,crashes=1", ""),
        "property            rpc/hw-truncation  rpc/kip-320",
    ]
    assert "weak_isr            violated (8)       holds (" in run.out


BY_RELEASE = """\
specs = ["kafka/3.7", "kafka/4.0", "kafka/4.1"]
properties = ["durable_as_promised", "leader_in_isr"]
bounds = { records = 1, crashes = 0, lossy_crashes = 1, min_insync_replicas = 2 }
[labels]
durable_as_promised = "promised records are lost"
[[configurations]]
name = "a log is lost"
"""


def test_a_matrix_of_releases_has_a_summary_and_a_page_with_links_to_traces(tmp_path: Path) -> None:
    (tmp_path / "releases.toml").write_text(BY_RELEASE)
    run = call("matrix", "releases.toml", "--html", "page.html", folder=tmp_path)
    assert run.code == 0
    assert "promised records are lost in 3.7 to 4.0; nothing was found in 4.1." in " ".join(run.out.split())
    page = (tmp_path / "page.html").read_text().replace(' data-title="promised records are lost"', "")
    assert '<th scope="row"><code>kafka/4.1</code></th><td class="holds">holds (702)</td>' in page
    assert '<th scope="row"><code>kafka/4.0</code></th><td class="violated"><a href="#trace-1">violated (11)' in page
    assert 'id="trace-1" aria-label="kafka/3.7 violates durable_as_promised"' in page
    assert "<p>The same steps, with the same bounds: kafka/4.0</p>" in page  # and not a second time
    assert page.count('class="decisive"') == 1


def test_what_a_configuration_does_not_promise_is_no_bug(tmp_path: Path) -> None:
    (tmp_path / "releases.toml").write_text(BY_RELEASE + 'by_design = ["durable_as_promised"]\n')
    columns = list(read_matrix(tmp_path / "releases.toml").columns())
    assert [column.cells["durable_as_promised"].by_design for column in columns] == [True, True, False]
    assert not any(cell.is_bug for column in columns for cell in column.cells.values())


def test_the_matrix_command_writes_markdown(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    run = call("matrix", "small.toml", "--markdown", folder=tmp_path)
    assert run.code == 0
    assert "| `weak_isr` | **violated (8)** | holds (" in run.out
    matrix = read_matrix(tmp_path / "small.toml")
    document = matrix_document(matrix, list(matrix.columns()), "leadline matrix small.toml")
    assert run.out == markdown(document)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("specs = [", "is not valid TOML"),
        ("specs = []", "is not a valid matrix file: configurations is missing"),
        ('specs = ["rpc/kip-3200"]\n[[configurations]]\nname = "x"', "did you mean 'rpc/kip-320'"),
        ('specs = ["rpc/kip-320"]\n[[configurations]]\nname = "x"\nbounds = {broker = 2}', "unknown bound 'broker'"),
        (
            'specs = ["rpc/kip-320"]\n[[configurations]]\nname = "x"\nbounds = {brokers = 2.5}',
            "configurations[0].bounds must be a table of integers, booleans and strings, not {'brokers': 2.5}",
        ),
        ('specs = "rpc/kip-320"\nconfigurations = []', "specs must be an array of strings, not 'rpc/kip-320'"),
        ('spec = ["rpc/kip-320"]\nspecs = []\nconfigurations = []', "unknown key 'spec': did you mean 'specs'?"),
    ],
)
def test_a_matrix_that_makes_no_sense_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "matrix.toml").write_text(text)
    run = call("matrix", "matrix.toml", folder=tmp_path)
    assert run.code == 2
    assert complaint in run.complaint


def test_shipped_matrices_have_names_and_own_files_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert {matrix_file(Path(name)).name for name in NAMED} == {f"{name}.toml" for name in NAMED}
    assert all(matrix_file(Path(name)).is_file() for name in NAMED)
    assert matrix_file(None) == SHIPPED
    (tmp_path / "states").write_text("", encoding="utf-8")
    assert [matrix_file(Path(name)) for name in ("states", "other")] == [Path("states"), Path("other")]


def test_a_matrix_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LeadlineError, match="cannot read"):
        read_matrix(tmp_path / "none.toml")


def test_the_page_command_says_what_is_not_as_expected(tmp_path: Path) -> None:
    (tmp_path / "suite.toml").write_text(
        '[[check]]\nname = "Is it safe?"\nnote = "No."\nspec = "rpc/kip-320"\nexpect = "holds"\n'
        'properties = ["acked_never_lost"]\nbounds = { records = 1 }\n'
    )
    run = call("check", "suite.toml", "--answers", "-", folder=tmp_path)
    assert run.code == 1
    assert "**Not as expected: expected holds, but acked_never_lost is violated.**" in run.out
    assert "leadline explore rpc/kip-320 -b records=1 -i acked_never_lost" in run.out


def test_the_steps_of_an_answer_that_holds_are_shown_by_the_command_that_it_names(tmp_path: Path) -> None:
    run = call("check", "answers", "Who decides which consumer reads what?", folder=tmp_path)
    hint, _, command = run.out.splitlines()[-1].partition(": ")
    assert hint == "what happens, step by step"
    shown = call(*shlex.split(command)[1:], folder=tmp_path).out
    assert "- Rests on `follower_waits_for_leader`, reached in 7 states" in shown
    assert "\n  7. consumer 1 sends SyncGroup\n" in shown
