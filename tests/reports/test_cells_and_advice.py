"""The stored table of the matrix and `leadline advise` say the same of each release, setting and property.

Nothing is searched. What `advise` says is known without a search if it makes none, or if the steps of a kept
counterexample are possible in the spec that it would search. Otherwise, it must search what the matrix has searched.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

import attrs

from leadline.checker import Spec
from leadline.checker.engines.progress import Progress
from leadline.checker.traces.replay import executed
from leadline.invariants.promises import why_not_promised
from leadline.reports.document import Table, plain
from leadline.reports.kafka.advice.advice import _may_affect
from leadline.reports.kafka.advice.cluster import Cluster, clusters
from leadline.reports.kafka.advice.decisions import Decider
from leadline.reports.kafka.advice.settings import Given, Settings
from leadline.reports.kafka.bugs import REPLICATION, SETTINGS, Archive, Bug, read_archive
from leadline.reports.kafka.kept_behaviours import kept_steps
from leadline.reports.loading import load_spec
from leadline.reports.matrix import SHIPPED, Configuration, Matrix, bug_within, read_matrix
from leadline.reports.stored_tables import stored_tables

Cells = Mapping[tuple[str, str], Mapping[str, str]]
"""The text of each cell, by configuration and release, and then by property."""

ARCHIVE = read_archive().of_family(REPLICATION)
MATRIX = read_matrix(SHIPPED)
PREPARED = functools.cache(MATRIX.prepared)


def nothing_is_searched(title: str) -> AbstractContextManager[Progress]:
    raise AssertionError(f"{title} is searched")


DECIDER = Decider(ARCHIVE, 1, nothing_is_searched)


def stored_cells(matrix: Matrix) -> Cells:
    """The cells of the stored table of a shipped matrix."""
    tables = stored_tables(SHIPPED)
    assert tables is not None
    names = {label: name for name, label in matrix.labels.items()}
    found: dict[tuple[str, str], dict[str, str]] = {}
    for table in tables.document.blocks:
        if isinstance(table, Table):
            for release, *cells in table.rows:
                pairs = zip(table.head[1:], cells, strict=True)
                found[table.name, plain(release.text)] = {names[head]: plain(cell.text) for head, cell in pairs}
    return found


def cluster_of(configuration: Configuration, spec: Spec[Any]) -> Cluster:
    """The cluster with the settings of a configuration, of which consumers read from followers."""
    bounds, column = MATRIX.bounds_of(configuration), spec.column
    given = {name: Given(bounds[bound], "a file") for bound, name in SETTINGS.items() if bound in bounds}
    given["replica.selector.class"] = Given("RackAwareReplicaSelector", "a file")
    features = "+elr=on" if column.values["elr"] == "on" else ""  # an upgraded cluster would not have them
    name = spec.name.removeprefix("kafka/") + features
    cluster, _ = clusters(name, name, Settings(given, {column.controller: "a file"}, ()))
    assert cluster.column.values == column.values
    return cluster


def names_bug(cell: str, bug: Bug) -> bool:
    """Whether a cell says that its property is violated by a bug, and not only within the bounds of the bug."""
    return re.search(rf"(?<!with the bounds of ){re.escape(bug.ticket)} \(\d+\)", cell) is not None


def contradictions(cells: Cells, prepared: Iterable[tuple[Configuration, Spec[Any]]]) -> Iterator[str]:
    """Yield what a cell and `leadline advise` say differently of a bug of which both speak."""
    for configuration, spec in prepared:
        cluster, allowed = cluster_of(configuration, spec), ARCHIVE.allowed(spec)
        for bug in ARCHIVE.bugs:
            cell = cells[configuration.name, spec.name].get(bug.property, "")
            place = f"{configuration.name}, {spec.name}, {bug.property}: {bug.ticket}"
            if names_bug(cell, bug) and not _may_affect(bug, cluster, ARCHIVE):
                yield f"{place} is in the cell, but advise does not know it in this release"
            if cell and bug in allowed:
                yield from (f"{place} {said}" for said in _differences(cell, bug, cluster, spec))


def _differences(cell: str, bug: Bug, cluster: Cluster, spec: Spec[Any]) -> Iterator[str]:
    settings = tuple((name, getattr(spec.bounds, name)) for name in SETTINGS)
    bounds, said = searched(bug.ticket, spec.name, settings, cluster)
    if bounds:
        yield bounds
    if said and not cell.startswith(("violated", "by design")):
        yield f"{said}, and the cell says: {cell}"


KNOWN: dict[tuple[object, ...], tuple[str, str]] = {}


def searched(ticket: str, release: str, settings: tuple[tuple[str, object], ...], cluster: Cluster) -> tuple[str, str]:
    """What is wrong with the bounds of the searches, and what advise says, of a bug in a release with some settings.

    Many configurations have the same settings. Both texts are empty if there is nothing to say.
    """
    if (key := (ticket, release, settings)) not in KNOWN:
        (bug,) = (each for each in ARCHIVE.bugs if each.ticket == ticket)
        searches = DECIDER.searches(bug, cluster)
        usual = load_spec(release).with_bounds(dict(settings))
        of_matrix = bug_within(bug, usual)
        ignored = {"unclean_leader_election": False} if cluster.ignores_unclean_election else {}
        bounds = [[attrs.evolve(each.bounds, **ignored) for each in specs] for specs in (searches, of_matrix)]
        is_same = not searches or bounds[0] == bounds[1]
        said = "" if searches else "is possible by advise"
        for each in searches:
            shown = attrs.evolve(each.with_properties([bug.property]), rests_on=())
            traces = (executed(shown, steps) for steps in kept_steps(ticket, release))
            if any(trace is not None and not why_not_promised(bug.property, trace) for trace in traces):
                said = "is possible by advise, which would find the kept counterexample"
        KNOWN[key] = "" if is_same else "is looked for within other bounds by advise than by the matrix", said
    return KNOWN[key]


def test_no_cell_contradicts_advice() -> None:
    """If one does, advise or the matrix is wrong, or the table is old: write it again with `make page-matrix`."""
    assert [*contradictions(stored_cells(MATRIX), PREPARED())] == []


def test_a_cell_without_a_bug_that_advice_names_contradicts_it() -> None:
    """The stored table once said that readable records are not lost in 2.8 with its defaults, of which acks=1 is one.

    KAFKA-13141 is in the archive with acks=all, so that its conditions are not those of this table.
    """
    prepared = next((each, spec) for each, spec in PREPARED() if spec.name == "kafka/2.8")
    place = prepared[0].name, "kafka/2.8"
    assert prepared[1].bounds.acks == "1"
    cells = {place: stored_cells(MATRIX)[place]}
    assert [*contradictions(cells, [prepared])] == []
    old = {place: {**cells[place], "committed_never_lost": "holds (8,683)"}}
    assert [*contradictions(old, [prepared])] == [
        f"{place[0]}, kafka/2.8, committed_never_lost: KAFKA-13141 is possible by advise, which would find the kept "
        "counterexample, and the cell says: holds (8,683)"
    ]


def test_a_cell_with_a_bug_that_advice_does_not_name_contradicts_it() -> None:
    prepared = next((each, spec) for each, spec in PREPARED() if spec.name == "kafka/2.8.1")
    place = prepared[0].name, "kafka/2.8.1"
    cells = {place: {"committed_never_lost": "violated beyond these bounds, KAFKA-13141 (12)"}}
    (said,) = contradictions(cells, [prepared])
    assert said.endswith("KAFKA-13141 is in the cell, but advise does not know it in this release")


def test_the_matrix_and_advice_look_for_a_bug_with_enough_brokers() -> None:
    """With two brokers and min.insync.replicas=2, KAFKA-14704 needs records that nobody can commit after a crash."""
    configuration, spec = next(
        (each, spec)
        for each, spec in PREPARED()
        if spec.name == "kafka/2.8.1" and spec.bounds.min_insync_replicas == 2 and spec.bounds.crashes
    )
    (bug,) = Archive(bugs=ARCHIVE.bugs).about("KAFKA-14704")[0]
    assert [each.bounds.brokers for each in bug_within(bug, spec)] == [2, 3]
    assert [each.bounds.brokers for each in DECIDER.searches(bug, cluster_of(configuration, spec))] == [2, 3]
