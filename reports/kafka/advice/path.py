"""The documented path of an upgrade, step by step, with what stored searches have found at each step.

The steps are those of Kafka's documentation (Upgrading, 3.9 and 4.3). The searches are those of the matrices `upgrades`
and `rolls`, whose tables are stored.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs

from leadline.checker.bounds import bounds_text
from leadline.checker.errors import LeadlineError
from leadline.model.kafka.mixes import mix_of
from leadline.model.kafka.published import minor
from leadline.model.kafka.releases import KRAFT, ZOOKEEPER, Column, column_of
from leadline.reports.document import Block, Heading, Items, Paragraph, Span, Table, plain, words
from leadline.reports.kafka.advice.cluster import Cluster
from leadline.reports.kafka.advice.settings import Settings
from leadline.reports.kafka.bugs import command_for, read_archive
from leadline.reports.matrix import Matrix, matrix_file, read_matrix
from leadline.reports.stored_tables import stored_tables

HOST = "--bootstrap-server HOST:PORT"
UNAVAILABLE = f"kafka-topics.sh {HOST} --describe --unavailable-partitions"
BEHIND = f"kafka-topics.sh {HOST} --describe --under-replicated-partitions"

LAST_WITH_ZOOKEEPER = "3.9"
FIRST_WITH_KRAFT = (3, 3)

CHANGED_RECORDS = ((3, 3), (3, 4), (3, 5), (3, 6), (3, 7), (4, 0), (4, 3))
"""The minor versions with a `metadata.version` that changed records (`MetadataVersion.didMetadataChange`, 4.3.1)."""


@attrs.frozen
class Found:
    """What searches of one configuration found in a mix.

    Attributes:
        violated: the text of each cell with a violation, keyed by property.
        undecided: true if a cell is not decided.
    """

    mix: str
    configuration: str
    command: str
    violated: Mapping[str, str]
    undecided: bool


@attrs.frozen
class Step:
    """A step of an upgrade.

    Attributes:
        title: what is done.
        commands: the lines of files and the commands, in order.
        checks: what to look at before the next step.
        found: what searches found of it.
        unsearched: why there are no searches of it, or an empty string.
    """

    title: str
    commands: tuple[str, ...]
    checks: tuple[str, ...] = ()
    found: tuple[Found, ...] = ()
    unsearched: str = ""


def steps_of(before: Cluster, after: Cluster, settings: Settings) -> tuple[Step, ...]:
    """Return the steps of an upgrade, oldest first. None if both clusters run the same release."""
    old, new = before.column, after.with_features
    if before.version == after.version:
        return ()
    low, high = (re.sub("[-+].*", "", cluster.version) for cluster in (before, after))
    if old.controller == KRAFT:
        return (*_with_kraft(low, old, high, new, settings),)
    if new.controller == ZOOKEEPER:
        return (*_with_zookeeper(low, old, high, new),)
    last = column_of(f"kafka/{LAST_WITH_ZOOKEEPER}-zk")
    first = column_of(f"kafka/{LAST_WITH_ZOOKEEPER}")
    assert last is not None
    assert first is not None
    is_last = minor(low) == LAST_WITH_ZOOKEEPER
    moves = Step(
        "migrate from ZooKeeper to KRaft",
        ("see the documentation of 3.9: ZooKeeper to KRaft Migration",),
        unsearched="the model has no migration",
    )
    return (
        *(() if is_last else _with_zookeeper(low, old, LAST_WITH_ZOOKEEPER, last)),
        moves,
        *(() if new.values == first.values else _with_kraft(LAST_WITH_ZOOKEEPER, first, high, new, settings)),
    )


def _with_zookeeper(before: str, old: Column, after: str, new: Column) -> Iterator[Step]:
    level = "inter.broker.protocol.version"
    low, high = minor(before), minor(after)
    files = [f"{level}={low}"] + ([f"log.message.format.version={low}"] if _numbers(low) < (3, 0) else [])
    yield Step(f"keep the level of {low}, in the file of every broker", (*files,))
    yield Step(
        f"restart brokers with {after}, one at a time",
        _restart(after),
        (f"before the next one, nothing is listed by {BEHIND}", f"the way back is still open: restart with {before}"),
        *_searched(old, new, "no", "releases"),
    )
    if low != high:
        yield Step(
            f"restart brokers with the level of {high}, one at a time",
            (
                f"{level}={high}  # in the file of the broker",
                "kafka-server-stop.sh",
                "kafka-server-start.sh server.properties",
            ),
            ("from now on, there is no way back", f"before the next one, nothing is listed by {BEHIND}"),
            *_searched(old, new, "levels"),
        )


def _with_kraft(before: str, old: Column, after: str, new: Column, settings: Settings) -> Iterator[Step]:
    high = minor(after)
    if _numbers(before)[:2] < FIRST_WITH_KRAFT:
        yield Step(
            "start anew with 3.3 or later",
            (),
            unsearched="KRaft was not ready for production before 3.3, and Kafka documents no upgrade from it",
        )
        return
    yield Step(
        f"restart controllers and brokers with {after}, one at a time",
        _restart(after),
        (f"before the next one, nothing is listed by {BEHIND}", f"the way back is still open: restart with {before}"),
        *_searched(old, new, "no", "releases"),
    )
    raises_elr = old.values["elr"] == "off" != new.values["elr"]
    checks = [f"all brokers and controllers run {after}: kafka-features.sh {HOST} describe"]
    checks += [_way_back(before, after)]
    if raises_elr:
        checks.append(f"every partition has a leader: nothing is listed by {UNAVAILABLE}")
    own = settings.given.get("min.insync.replicas")
    keep = tuple[str, ...]()
    if raises_elr and own is not None:
        checks.append(
            f"min.insync.replicas={own.value} ({own.origin}): with eligible leader replicas, the controller's own "
            "value replaces that of brokers' files; by default, it is 1"
        )
        keep = (
            f"kafka-configs.sh {HOST} --alter --entity-type brokers --entity-default --add-config "
            f"min.insync.replicas={own.value}",
        )
    if _numbers(high) < (4, 0):
        raised = f"kafka-features.sh {HOST} upgrade --metadata {high}"
    else:
        raised = f"kafka-features.sh {HOST} upgrade --release-version {high}"
    more = ", and eligible leader replicas" if raises_elr else ""
    yield Step(
        f"raise metadata.version to that of {high}{more}",
        (*keep, raised),
        (*checks,),
        *_searched(old, new, "levels", *(("features",) if raises_elr else ())),
    )
    if raises_elr:
        yield Step(
            "only to go back: lower eligible leader replicas",
            (f"kafka-features.sh {HOST} downgrade --feature eligible.leader.replicas.version=0",),
            (f"every partition has a leader: nothing is listed by {UNAVAILABLE}",),
            *_searched(old, new, "back"),
        )


def _restart(release: str) -> tuple[str, str]:
    return "kafka-server-stop.sh", f"kafka-server-start.sh server.properties  # of {release}"


def _way_back(before: str, after: str) -> str:
    """Return whether `metadata.version` can be lowered again. Kafka refuses it if a version in between changed records
    (`MetadataVersion.checkIfMetadataChanged`).
    """
    low, high = _numbers(before)[:2], _numbers(after)[:2]
    if any(low < changed <= high for changed in CHANGED_RECORDS):
        return "from now on, there is no way back to the old release"
    return (
        f"the way back: kafka-features.sh {HOST} downgrade --metadata {minor(before)}, and then restart with {before}"
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


# --- what searches found ------------------------------------------------------------------------------------------


def _searched(old: Column, new: Column, *rolls: str) -> tuple[tuple[Found, ...], str]:
    """Return what the stored tables say of a mix while it goes on in certain ways, and why they say nothing."""
    names = [each.same_as or each.name for each in (old, new)]
    mix = f"{names[0].partition('+')[0]}..{names[1].partition('/')[2].partition('+')[0]}"
    found, failed = list[Found](), ""
    for matrix in ("upgrades", "rolls"):
        try:
            found += _cells(matrix, mix, rolls)
        except LeadlineError as error:
            failed = str(error)
    bounds = "" if rolls[0] == "no" else f" -b roll={rolls[0]},upgraded=0-1,controller=new"
    return tuple(found), "" if found else failed or f"no table has {mix}: leadline explore {mix}{bounds}"


def _cells(name: str, mix: str, rolls: tuple[str, ...]) -> Iterator[Found]:
    matrix, tables = _tables(name)
    properties = {matrix.label(each): each for each in matrix.properties or ()}
    for configuration in matrix.configurations:
        bounds = matrix.bounds_of(configuration)
        table = tables.get(configuration.name)
        rows = [row for row in table.rows if plain(row[0].text) == mix] if table is not None else []
        if table is None or bounds.get("roll", "no") not in rolls or not rows:
            continue
        cells = {properties[head]: cell for head, cell in zip(table.head[1:], rows[0][1:], strict=True)}
        yield Found(
            mix,
            configuration.name,
            f"leadline explore {mix} -b {bounds_text(bounds)}",
            {each: plain(cell.text) for each, cell in cells.items() if cell.looks == "violated"},
            any(cell.looks == "incomplete" for cell in cells.values()),
        )


@functools.cache
def _tables(name: str) -> tuple[Matrix, Mapping[str, Table]]:
    path = matrix_file(Path(name))
    stored = stored_tables(path)
    if stored is None:
        raise LeadlineError(f"there are no stored tables of {name}: leadline matrix {name}")
    return read_matrix(path), {block.name: block for block in stored.document.blocks if isinstance(block, Table)}


# --- what is said of it -------------------------------------------------------------------------------------------


def blocks_of_path(steps: tuple[Step, ...]) -> Iterator[Block]:
    """Yield the steps of an upgrade as a part of a document."""
    yield Heading("the upgrade, step by step", "path")
    for number, step in enumerate(steps, start=1):
        yield Paragraph((Span(f"{number}. {step.title}", "strong"),))
        yield from (Paragraph((Span(command, "code"),), "command") for command in step.commands)
        if said := [*map(words, step.checks), *(line for found in step.found for line in _said(found))]:
            yield Items(tuple(said))
        if step.unsearched:
            yield Paragraph(words(f"not searched: {step.unsearched}"), "note")


def _said(found: Found) -> Iterator[tuple[Span, ...]]:
    kept = "something is not decided" if found.undecided else "nothing is lost, and nothing is stuck"
    if not found.violated:
        yield words(f"{found.configuration}: {kept}, within small bounds")
    for name, text in found.violated.items():
        said = (Span(name, "violated"), f" is {text}: ", Span(f"{found.command} -i {name}", "code"))
        yield words(f"{found.configuration}: ", *said, *(() if text.endswith("too") else _instead(found.mix, name)))


def _instead(mix: str, violated: str) -> Iterator[str | Span]:
    """Yield what avoids a violation that none of the two releases has, and the command whose searches show it: by the
    archive's bug of the mix, or of another one with the same kind of controller.
    """
    bugs = [bug for bug in read_archive().mixes if bug.property == violated]
    like = [bug for bug in bugs if mix_of(bug.affected[0]).old.controller == mix_of(mix).old.controller]
    for bug in sorted(like, key=lambda bug: mix not in bug.affected)[:1]:
        yield from (f". Instead: {bug.until} Searches show it: ", Span(command_for(bug.ticket), "code"))
