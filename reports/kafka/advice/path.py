"""The documented path of an upgrade, step by step, with what stored searches have found at each step.

The steps are those of Kafka's documentation (Upgrading, 3.9 and 4.3). The searches are those of the matrices `upgrades`
and `rolls`, whose tables are stored. A mix that they do not have is searched when the advice is asked for.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

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
from leadline.reports.loading import load_spec
from leadline.reports.matrix import Configuration, Matrix, matrix_file, read_matrix
from leadline.reports.stored_tables import stored_tables

HOST = "--bootstrap-server HOST:PORT"
UNAVAILABLE = f"kafka-topics.sh {HOST} --describe --unavailable-partitions"
BEHIND = f"kafka-topics.sh {HOST} --describe --under-replicated-partitions"
FEATURES = f"kafka-features.sh {HOST} describe"
LEVEL, FORMAT = "inter.broker.protocol.version", "log.message.format.version"

LAST_WITH_ZOOKEEPER = "3.9"
FIRST_WITH_KRAFT = (3, 3)
FIRST_WITH_BOOTSTRAP_SERVER = (2, 2)
"""The first release whose `kafka-topics.sh` asks brokers (KIP-377)."""
FIRST_WITHOUT_FORMAT = (3, 0)
"""The first level from which on `log.message.format.version` has no effect (KIP-724)."""
FIRST_WITH_REGISTERED_CONTROLLERS = (3, 7)
"""The first `metadata.version` at which controllers register what they support (KIP-919)."""
FIRST_WITH_JAVA_17 = (4, 0)
"""The first release whose brokers need Java 17 (KIP-1013), and `metadata.version` 3.3 or later."""

CHANGED_RECORDS = ((3, 3), (3, 4), (3, 5), (3, 6), (3, 7), (4, 0), (4, 3), (4, 4))
"""The minor versions with a `metadata.version` that changed records (`MetadataVersion.didMetadataChange`, 4.4.0)."""


@attrs.frozen
class Found:
    """What searches of one configuration found in a mix.

    Attributes:
        roll: the value of the bound.
        violated: the text of each cell with a violation, keyed by property.
        undecided: true if a cell is not decided.
    """

    mix: str
    roll: object
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
        before: what must be so before the first command.
        checks: what to look at before the next step.
        found: what searches found of it.
        unsearched: why there are no searches of it, or an empty string.
    """

    title: str
    commands: tuple[str, ...]
    before: tuple[str, ...] = ()
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
        return (*_with_zookeeper(low, old, high, new, settings),)
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
        *(() if is_last else _with_zookeeper(low, old, LAST_WITH_ZOOKEEPER, last, settings)),
        moves,
        *(() if new.values == first.values else _with_kraft(LAST_WITH_ZOOKEEPER, first, high, new, settings)),
    )


def _with_zookeeper(before: str, old: Column, after: str, new: Column, settings: Settings) -> Iterator[Step]:
    low, high = minor(before), minor(after)
    level, has_format = settings.value(LEVEL) or low, _numbers(low) < FIRST_WITHOUT_FORMAT
    behind = BEHIND
    if _numbers(before) < FIRST_WITH_BOOTSTRAP_SERVER:
        behind = f"{BEHIND.replace(HOST, '--zookeeper HOST:PORT')} (of {before})"
    caught_up = f"before the next one, nothing is listed by {behind}"
    yield Step(
        f"keep the level of {level}, in the file of every broker",
        (f"{LEVEL}={level}", *([f"{FORMAT}={level}"] if has_format else [])),
        (
            f"without these lines, a broker of {after} begins with the level of {high}, which brokers of {before} do "
            "not understand",
        )
        if low != high
        else (),
        (f"every file has them, and nothing is listed by {behind}",),
    )
    yield Step(
        f"restart brokers with {after}, one at a time",
        _restart(after),
        (),
        (caught_up, f"the way back is still open: restart with {before}, which keeps these lines"),
        *_searched(old, new, "no", "releases"),
    )
    if low == high:
        return
    without = has_format and _numbers(high) >= FIRST_WITHOUT_FORMAT
    yield Step(
        f"restart brokers with the level of {high}, one at a time",
        (
            f"{LEVEL}={high}  # in the file of the broker",
            *([f"remove {FORMAT}, which has no effect any more"] if without else []),
            *_restart(after),
        ),
        (f"all brokers run {after}, and have done so for as long as you want to be able to go back",),
        ("from the first restart on, there is no way back", caught_up),
        *_searched(old, new, "levels"),
    )
    if has_format and not without:
        yield Step(
            f"restart brokers with the message format of {high}, one at a time, once consumers are upgraded too",
            (f"{FORMAT}={high}  # in the file of the broker", *_restart(after)),
            (),
            (caught_up,),
            unsearched="the model has no message formats: it takes them to be those of the level",
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
    first = [f"nothing is listed by {BEHIND}"]
    if _numbers(before) < FIRST_WITH_JAVA_17 <= _numbers(after):
        first += ["every machine has Java 17 or later for brokers and controllers: java -version"]
        first += [f"the FinalizedVersionLevel of metadata.version is 3.3-IV3 or later: {FEATURES}"]
    yield Step(
        f"restart controllers and brokers with {after}, one at a time",
        _restart(after),
        (*first,),
        (
            f"before the next one, nothing is listed by {BEHIND}, and kafka-metadata-quorum.sh {HOST} describe "
            "--replication shows no Lag of a Follower (rows of an Observer can be those of a process that has ended)",
            f"the way back is still open: restart with {before}",
        ),
        *_searched(old, new, "no", "releases"),
    )
    raises_elr = old.values["elr"] == "off" != new.values["elr"]
    option = "--metadata" if _numbers(high) < (4, 0) else "--release-version"
    raised = f"kafka-features.sh {HOST} upgrade {option} {high}"
    one = "kafka-features.sh --bootstrap-controller HOST:PORT describe shows what one controller supports"
    if _numbers(before)[:2] < FIRST_WITH_REGISTERED_CONTROLLERS:
        one = "nothing checks controllers at this level, and one that does not support the new level stops"
    checks = [
        f"all brokers and controllers run {after}: {raised} --dry-run names a broker that does not support it; {one}",
        _way_back(before, after),
    ]
    if option == "--release-version":
        checks += [
            "all other features rise too, among them kraft.version, which cannot be lowered: --dry-run lists them",
            f"metadata.version alone, without the other features: kafka-features.sh {HOST} upgrade --metadata {high}",
        ]
    if raises_elr:
        checks.append(f"every partition has a leader: nothing is listed by {UNAVAILABLE}")
        checks.append(f"all replicas are running and in the ISR: nothing is listed by {BEHIND}")
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
    more = ", and eligible leader replicas" if raises_elr else ""
    yield Step(
        f"raise metadata.version to that of {high}{more}",
        (*keep, raised),
        (*checks,),
        (f"FinalizedVersionLevel is the new one: {FEATURES}",),
        *_searched(old, new, "levels", *(("features",) if raises_elr else ())),
    )
    if raises_elr:
        yield Step(
            "only to go back: lower eligible leader replicas",
            (f"kafka-features.sh {HOST} downgrade --feature eligible.leader.replicas.version=0",),
            (f"all replicas are running and in the ISR: nothing is listed by {BEHIND}",),
            (),
            *_searched(old, new, "back"),
        )


def _restart(release: str) -> tuple[str, str]:
    return "kafka-server-stop.sh", f"kafka-server-start.sh -daemon server.properties  # of {release}"


def _way_back(before: str, after: str) -> str:
    """Return whether `metadata.version` can be lowered again. Kafka refuses it if a version in between changed records
    (`MetadataVersion.checkIfMetadataChanged`).
    """
    low, high = _numbers(before)[:2], _numbers(after)[:2]
    if any(low < changed <= high for changed in CHANGED_RECORDS):
        return "afterwards, there is no way back to the old release"
    return (
        f"the way back afterwards: kafka-features.sh {HOST} downgrade --metadata {minor(before)}. Then wait until each "
        "node has a newer snapshot, a .checkpoint file in __cluster_metadata-0 (metadata.log.max.snapshot.interval.ms, "
        f"an hour by default): {before} stops when it reads the record of the higher level. Then restart with {before}"
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


# --- what searches found ------------------------------------------------------------------------------------------


def _searched(old: Column, new: Column, *rolls: str) -> tuple[tuple[Found, ...], str]:
    """Return what searches say of a mix while it goes on in certain ways, and why they say nothing. A mix that stored
    tables do not have is searched now.
    """
    names = [each.same_as or each.name for each in (old, new)]
    mix = f"{names[0].partition('+')[0]}..{names[1].partition('/')[2].partition('+')[0]}"
    found, failed = list[Found](), ""
    for name in ("upgrades", "rolls"):
        try:
            matrix, tables = _tables(name)
            own = [each for each in matrix.configurations if matrix.bounds_of(each).get("roll", "no") in rolls]
            cells = _stored(matrix, tables, mix) if mix in matrix.specs else _cells_now(matrix, mix, own)
            found += [_found(mix, matrix.bounds_of(each), each, cells[each.name]) for each in own if each.name in cells]
        except LeadlineError as error:
            failed = str(error)
    return tuple(found), "" if found else failed


_Verdicts: TypeAlias = dict[str, tuple[str, str]]
"""The looks and the text of each verdict, keyed by property."""


def _found(mix: str, bounds: Mapping[str, Any], configuration: Configuration, cells: _Verdicts) -> Found:
    return Found(
        mix,
        bounds.get("roll", "no"),
        configuration.name,
        f"leadline explore {mix} -b {bounds_text(bounds)}",
        {name: text for name, (looks, text) in cells.items() if looks == "violated"},
        any(looks == "incomplete" for looks, _ in cells.values()),
    )


def _stored(matrix: Matrix, tables: Mapping[str, Table], mix: str) -> dict[str, _Verdicts]:
    names = {matrix.label(each): each for each in matrix.properties or ()}
    found: dict[str, _Verdicts] = {}
    for configuration, table in tables.items():
        for row in (row for row in table.rows if plain(row[0].text) == mix):
            cells = zip(table.head[1:], row[1:], strict=True)
            found[configuration] = {names[head]: (cell.looks, plain(cell.text)) for head, cell in cells}
    return found


def _cells_now(matrix: Matrix, mix: str, configurations: list[Configuration]) -> dict[str, _Verdicts]:
    every = [attrs.evolve(each, only_in=[], not_in=[]) for each in configurations]
    columns = attrs.evolve(matrix, specs=[mix], configurations=every).columns() if every else ()
    return {
        each.configuration.name: {name: (cell.verdict.value, cell.text) for name, cell in each.cells.items()}
        for each in columns
    }


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
        if step.before:
            yield Paragraph(words("first, see that:"))
            yield Items(tuple(map(words, step.before)))
        yield from (Paragraph((Span(command, "code"),), "command") for command in step.commands)
        if step.checks:
            yield Items(tuple(map(words, step.checks)))
        if step.found:
            yield Paragraph(words("what searches found of this step, within small bounds:"), "quiet")
            yield Items((*(line for found in step.found for line in _said(found)), *_quiet(step.found)))
        if step.unsearched:
            yield Paragraph(words(f"not searched: {step.unsearched}"), "note")


def _quiet(found: tuple[Found, ...]) -> Iterator[tuple[Span, ...]]:
    for undecided, kept in (False, "nothing is lost, and nothing is stuck"), (True, "something is not decided"):
        if names := [each.configuration for each in found if each.undecided == undecided and not each.violated]:
            yield words(f"{kept}, if {'; or if '.join(names)}")


def _said(found: Found) -> Iterator[tuple[Span, ...]]:
    """Yield what is violated, with the sentence of the property."""
    spec = load_spec(found.mix)
    sentences = {each.name: each.sentence for each in (*spec.checks, *spec.optional)}
    for name, text in found.violated.items():
        traced = re.sub(r"\((\d+)\)", r"in a trace of \1 states", text)
        said = (f"{found.configuration}: it should hold that {sentences[name]}. ", Span(name, "violated"))
        command = Span(f"{found.command} -i {name}", "code")
        yield words(*said, f" is {traced}: ", command, *(() if text.endswith("too") else _instead(found, name)))


def _instead(found: Found, violated: str) -> Iterator[str | Span]:
    """Yield what avoids a violation that none of the two releases has, and the command whose searches show it: by the
    archive's bug of the same change of a cluster with the same kind of controller.
    """
    controller = mix_of(found.mix).old.controller
    bugs = [bug for bug in read_archive().mixes if mix_of(bug.affected[0]).old.controller == controller]
    like = [bug for bug in bugs if _change(bug.bounds.get("roll")) == _change(found.roll)]
    of_features = found.roll in ("features", "back")
    like = [b for b in like if b.property == violated or (of_features and "min_isr_in_files" not in b.bounds)]
    for bug in sorted(like, key=lambda bug: (bug.property != violated, found.mix not in bug.affected))[:1]:
        yield from (f". Instead: {bug.until} Searches show it: ", Span(command_for(bug.ticket), "code"))


def _change(roll: object) -> object:
    """Return the same value for a mix that does not change, and for one whose brokers restart with the new release."""
    return "releases" if roll in (None, "no") else roll
