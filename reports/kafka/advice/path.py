"""The documented path of an upgrade, step by step, as Kafka's documentation has it (Upgrading, 3.9 and 4.3)."""

from __future__ import annotations

import re
from collections.abc import Iterator

import attrs

from leadline.model.kafka.published import minor
from leadline.model.kafka.releases import KRAFT, ZOOKEEPER, Column, column_of
from leadline.reports.document import Block, Heading, Items, Paragraph, Span, words
from leadline.reports.kafka.advice.cluster import Cluster
from leadline.reports.kafka.advice.mix_searches import Found, said_of, searched
from leadline.reports.kafka.advice.settings import Given, Settings

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
FIRST_WITH_ITS_FORMAT = (0, 11)
"""The first release whose records all later releases write by default. A file that has no format then needs none."""
FIRST_WITH_DIRECTORIES = (3, 7)
"""The first release whose brokers have several log directories with KRaft (KIP-858)."""
FIRST_WITH_REGISTERED_CONTROLLERS = (3, 7)
"""The first `metadata.version` at which controllers register what they support (KIP-919)."""
FIRST_WITH_JAVA_17 = (4, 0)
"""The first release whose brokers need Java 17 (KIP-1013), and `metadata.version` 3.3 or later."""

CHANGED_RECORDS = ((3, 3), (3, 4), (3, 5), (3, 6), (3, 7), (4, 0), (4, 3), (4, 4))
"""The minor versions with a `metadata.version` that changed records (`MetadataVersion.didMetadataChange`, 4.4.0)."""


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
    level, own = settings.value(LEVEL) or low, settings.written(FORMAT)
    has_format = _numbers(low) < FIRST_WITHOUT_FORMAT and (own is not None or _numbers(low) < FIRST_WITH_ITS_FORMAT)
    behind = BEHIND
    if _numbers(before) < FIRST_WITH_BOOTSTRAP_SERVER:
        behind = f"{BEHIND.replace(HOST, '--zookeeper HOST:PORT')} (of {before})"
    caught_up = f"before the next one, nothing is listed by {behind}"
    yield Step(
        f"keep the level of {level}, in the file of every broker",
        (f"{LEVEL}={level}", *([f"{FORMAT}={own or level}"] if has_format else [])),
        (
            f"the ZooKeeper servers have a version that {after} works with (in its documentation: Upgrading)",
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
        *searched(old, new, "no", "releases"),
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
        *searched(old, new, "levels"),
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
    if _numbers(before)[:2] < FIRST_WITH_KRAFT:
        yield Step(
            "start anew with 3.3 or later",
            (),
            unsearched="KRaft was not ready for production before 3.3, and Kafka documents no upgrade from it",
        )
        return
    first = [f"nothing is listed by {BEHIND}"]
    if "," in (settings.written("log.dirs") or ""):
        first += [f"log.dirs stays as it is, and no directory has an error: kafka-log-dirs.sh {HOST} --describe"]
        if _numbers(before) < FIRST_WITH_DIRECTORIES:
            first += [f"brokers of {before} do not support several directories with KRaft, which they do since 3.7"]
    if _numbers(before) < FIRST_WITH_JAVA_17 <= _numbers(after):
        first += ["every machine has Java 17 or later for brokers and controllers: java -version"]
        first += [f"the FinalizedVersionLevel of metadata.version is 3.3-IV3 or later: {FEATURES}"]
        first += [
            "all clients are of 2.1 or later, because brokers of 4.0 refuse requests of older ones (KIP-896); brokers "
            "of 3.7 to 3.9 count these: kafka.network:type=RequestMetrics,name=DeprecatedRequestsPerSec"
        ]
    yield Step(
        f"restart controllers and brokers with {after}, one at a time",
        _restart(after),
        (*first,),
        (
            f"before the next one, nothing is listed by {BEHIND}, and kafka-metadata-quorum.sh {HOST} describe "
            "--replication shows no Lag of a Follower (rows of an Observer can be those of a process that has ended)",
            f"the way back is still open: restart with {before}",
        ),
        *searched(old, new, "no", "releases"),
    )
    raises_elr = old.values["elr"] == "off" != new.values["elr"]
    more = ", and eligible leader replicas" if raises_elr else ""
    own = settings.given.get("min.insync.replicas") if raises_elr else None
    keep = f"kafka-configs.sh {HOST} --alter --entity-type brokers --entity-default --add-config min.insync.replicas="
    yield Step(
        f"raise metadata.version to that of {minor(after)}{more}, with the scripts of {after}",
        (*((keep + str(own.value),) if own else ()), f"kafka-features.sh {HOST} upgrade {_level(after)}"),
        (*_before_raising(before, after, raises_elr, own),),
        (f"FinalizedVersionLevel is the new one: {FEATURES}",),
        *searched(old, new, "levels", *(("features",) if raises_elr else ())),
    )
    if raises_elr:
        yield Step(
            "only to have no eligible leader replicas any more: lower them (the release stays)",
            (f"kafka-features.sh {HOST} downgrade --feature eligible.leader.replicas.version=0",),
            (f"all replicas are running and in the ISR: nothing is listed by {BEHIND}",),
            (),
            *searched(old, new, "back"),
        )


def _raises_all(after: str) -> bool:
    """Return whether the documented command raises all features, and not only `metadata.version`."""
    return _numbers(after) >= (4, 0)


def _level(after: str) -> str:
    return f"{'--release-version' if _raises_all(after) else '--metadata'} {minor(after)}"


def _before_raising(before: str, after: str, raises_elr: bool, min_isr: Given | None) -> Iterator[str]:
    """Yield what must be so before `metadata.version` is raised, and what it means."""
    one = "kafka-features.sh --bootstrap-controller HOST:PORT describe shows what one controller supports"
    if _numbers(before)[:2] < FIRST_WITH_REGISTERED_CONTROLLERS:
        one = "nothing checks controllers at this level, and one that does not support the new level stops"
    dry = f"kafka-features.sh {HOST} upgrade {_level(after)} --dry-run"
    yield f"all brokers and controllers run {after}: {dry} names a broker that does not support it; {one}"
    if raises_elr:
        yield f"every partition has a leader: nothing is listed by {UNAVAILABLE}"
        yield f"all replicas are running and in the ISR: nothing is listed by {BEHIND}"
    if min_isr is not None:
        yield (
            f"min.insync.replicas={min_isr.value} ({min_isr.origin}): with eligible leader replicas, the controller's "
            "own value, by default 1, replaces that of brokers' files. So the first command sets it for the cluster"
        )
    yield _way_back(before, after)
    if _raises_all(after):
        yield "all other features rise too, among them kraft.version, which cannot be lowered: --dry-run lists them"
        alone = f"kafka-features.sh {HOST} upgrade --metadata {minor(after)}"
        own = f"; their own bugs: leadline advise --from {after} --to {after}+elr=on" if raises_elr else ""
        yield f"to raise metadata.version alone, without the other features, the command is instead: {alone}{own}"


def _restart(release: str) -> tuple[str, str]:
    stop = "kafka-server-stop.sh  # stops all brokers and controllers of the machine"
    return stop, f"kafka-server-start.sh -daemon server.properties  # of {release}"


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
            yield Items((*said_of(step.found),))
        if step.unsearched:
            yield Paragraph(words(f"not searched: {step.unsearched}"), "note")
