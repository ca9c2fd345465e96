"""The documented path of an upgrade, step by step, as Kafka's documentation has it (Upgrading, 3.9 and 4.3)."""

from __future__ import annotations

import re
from collections.abc import Iterator

import attrs

from leadline.model.kafka.published import minor
from leadline.model.kafka.releases import KRAFT, ZOOKEEPER, Column, column_of
from leadline.reports.document import Block, Heading, Items, Paragraph, Span, words
from leadline.reports.kafka.advice.cluster import Cluster
from leadline.reports.kafka.advice.mix_searches import Found, of_images, said_of, searched, what_avoids
from leadline.reports.kafka.advice.settings import Settings

HOST = "--bootstrap-server HOST:PORT"
BEHIND = f"kafka-topics.sh {HOST} --describe --under-replicated-partitions"
IN_SYNC = "all replicas are in the ISR"
AGAIN = f"before the next one, {IN_SYNC} again"
FEATURES, RAISE = f"kafka-features.sh {HOST} describe", f"kafka-features.sh {HOST} upgrade"
QUORUM = f"kafka-metadata-quorum.sh {HOST} describe"
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
FIRST_WITH_RELEASE_VERSION = (4, 0)
"""The first release whose documentation raises all features at once, with `--release-version` (KIP-1022)."""
FIRST_WITH_RISING_VOTERS = (4, 1)
"""The first release that raises `kraft.version` of a cluster with static voters (KAFKA-16538). 4.0 ignores it."""
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
        before: what must be so, or known, before the first command.
        checks: what to look at after the commands.
        found: what searches found of it.
        unsearched: why there are no searches of it, or an empty string.
        later: true if the upgrade is finished without it.
    """

    title: str
    commands: tuple[str, ...]
    before: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    found: tuple[Found, ...] = ()
    unsearched: str = ""
    later: bool = False


@attrs.frozen
class Known:
    """What known bugs say of steps.

    Attributes:
        restarts: what to do about those that restarts alone can show.
        elr: what eligible leader replicas change for them.
    """

    restarts: tuple[str, ...] = ()
    elr: tuple[str, ...] = ()


def steps_of(before: Cluster, after: Cluster, settings: Settings, known: Known = Known()) -> tuple[Step, ...]:
    """Return the steps of an upgrade, oldest first. None if both clusters run the same release."""
    old, new = before.column, after.with_features
    if before.version == after.version:
        return ()
    low, high = (re.sub("[-+].*", "", cluster.version) for cluster in (before, after))
    later = after.column is not new
    if old.controller == KRAFT:
        return (*_with_kraft(low, old, high, new, settings, known, later),)
    if new.controller == ZOOKEEPER:
        return (*_with_zookeeper(low, old, high, new, settings, known),)
    last = column_of(f"kafka/{LAST_WITH_ZOOKEEPER}-zk")
    first = column_of(f"kafka/{LAST_WITH_ZOOKEEPER}")
    assert last is not None
    assert first is not None
    is_last, is_first = minor(low) == LAST_WITH_ZOOKEEPER, new.values == first.values
    moves = Step(
        "migrate from ZooKeeper to KRaft",
        ("see the documentation of 3.9: ZooKeeper to KRaft Migration",),
        unsearched="the model has no migration",
    )
    return (
        *(() if is_last else _with_zookeeper(low, old, LAST_WITH_ZOOKEEPER, last, settings, known)),
        moves,
        *(() if is_first else _with_kraft(LAST_WITH_ZOOKEEPER, first, high, new, settings, known, later)),
    )


def _with_zookeeper(
    before: str, old: Column, after: str, new: Column, settings: Settings, known: Known
) -> Iterator[Step]:
    low, high = minor(before), minor(after)
    level, own = settings.value(LEVEL) or low, settings.written(FORMAT)
    has_format = _numbers(low) < FIRST_WITHOUT_FORMAT and (own is not None or _numbers(low) < FIRST_WITH_ITS_FORMAT)
    behind = BEHIND
    if _numbers(before) < FIRST_WITH_BOOTSTRAP_SERVER:
        behind = f"{BEHIND.replace(HOST, '--zookeeper HOST:PORT')} (of {before})"
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
        (f"every file has them, and {IN_SYNC}: nothing is listed by {behind}",),
    )
    found, unsearched = searched(old, new, "no", "releases")
    yield Step(
        f"restart brokers with {after}, one at a time",
        _restart(after),
        (
            *what_avoids(found),
            "Kafka documents no order, and the searches have every one. If the broker that is the controller comes "
            "last, there is only one election of a controller: zookeeper-shell.sh HOST:PORT get /controller",
            *known.restarts,
        ),
        (AGAIN, f"the way back is still open: restart with {before}, which keeps these lines"),
        found,
        unsearched,
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
        (
            f"all brokers run {after}, and have done so for as long as you want to be able to go back: from the first "
            "of these restarts on, there is no way back",
            "the order, and what to wait for, are those of the restarts before",
        ),
        (AGAIN,),
        *searched(old, new, "levels"),
    )
    if has_format and not without:
        yield Step(
            f"restart brokers with the message format of {high}, one at a time, once consumers are upgraded too",
            (f"{FORMAT}={high}  # in the file of the broker", *_restart(after)),
            (),
            (AGAIN,),
            unsearched="the model has no message formats: it takes them to be those of the level",
        )


def _with_kraft(
    before: str, old: Column, after: str, new: Column, settings: Settings, known: Known, later: bool
) -> Iterator[Step]:
    if _numbers(before)[:2] < FIRST_WITH_KRAFT:
        yield Step(
            "start anew with 3.3 or later",
            (),
            unsearched="KRaft was not ready for production before 3.3, and Kafka documents no upgrade from it",
        )
        return
    yield from _restarts(before, old, after, new, settings, known)
    found, unsearched = searched(old, new, "levels")
    dry = f"{RAISE} --metadata {minor(after)} --dry-run"
    one = "kafka-features.sh --bootstrap-controller HOST:PORT describe shows what one controller supports"
    if _numbers(before)[:2] < FIRST_WITH_REGISTERED_CONTROLLERS:
        one = "nothing checks controllers at this level, and one that does not support the new level stops"
    yield Step(
        f"raise metadata.version to that of {minor(after)}, with the scripts of {after}",
        (f"{RAISE} --metadata {minor(after)}",),
        (
            f"all nodes run {after}, and have done so for as long as you want to be able to go back: {dry} names a "
            f"broker that does not support the new level; {one}",
            _way_back(before, after),
            *what_avoids(found),
        ),
        (f"FinalizedVersionLevel of metadata.version is the new one: {FEATURES}", *_of_other_features(after)),
        found,
        unsearched,
    )
    if old.values["elr"] == "off" != new.values["elr"]:
        yield _raise_elr(old, after, new, settings, known, later)
    if settings.voters and not settings.voters.dynamic and _numbers(after)[:2] >= FIRST_WITH_RISING_VOTERS:
        yield _raise_voters()


def _restarts(before: str, old: Column, after: str, new: Column, settings: Settings, known: Known) -> Iterator[Step]:
    """Yield the restarts of controllers and brokers, which are one step if nodes are both."""
    first = [*of_images(after, levels=False), f"{IN_SYNC}: nothing is listed by {BEHIND}"]
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
    last = f"the active controller comes last, so that it moves only once: LeaderId in {QUORUM} --status"
    caught_up = (
        f"before the next one, {QUORUM} --replication shows no Lag of a Follower (rows of an Observer can be those of "
        "a process that has ended)"
    )
    found, unsearched = searched(old, new, "no", "releases")
    avoids = (*what_avoids(found), *known.restarts)
    back = f"the way back is still open: restart with {before}"
    if "controller" in (settings.written("process.roles") or ""):
        yield Step(
            f"restart all nodes with {after}, one at a time, and the active controller last",
            _restart(after),
            (*first, last, *avoids),
            (AGAIN, caught_up, back),
            found,
            unsearched,
        )
        return
    order = (
        "Kafka documents no order, and the searches have every one. Controllers come first here, because brokers "
        "register with them: newer brokers failed to do so with older controllers while 3.7 and 3.9 were developed "
        "(KAFKA-16094, KAFKA-17492)"
    )
    yield Step(
        f"restart controllers with {after}, one at a time, and the active one last",
        _restart(after, "controller.properties"),
        (*first, order, last),
        (caught_up,),
    )
    yield Step(
        f"restart brokers with {after}, one at a time", _restart(after), avoids, (AGAIN, back), found, unsearched
    )


def _of_other_features(after: str) -> Iterator[str]:
    """Yield why the documented command is not the one of the step (`FeatureCommand`, KAFKA-21426)."""
    if _numbers(after) < FIRST_WITH_RELEASE_VERSION:
        return
    yield (
        "kafka-features.sh says that --metadata is deprecated, and obeys. "
        f"Kafka's documentation has --release-version {minor(after)} here, which raises all features at once: "
        f"kafka-features.sh version-mapping --release-version {minor(after)} lists them. Later steps, if there are "
        "any, raise those of replication, and kraft.version, which cannot be lowered. Others, such as "
        f"transaction.version, rise with {RAISE} --feature NAME=LEVEL"
    )


def _raise_elr(old: Column, after: str, new: Column, settings: Settings, known: Known, later: bool) -> Step:
    """Return the step that raises eligible leader replicas (KIP-966), with what it replaces and how to lower them."""
    own = settings.given.get("min.insync.replicas")
    keep = f"kafka-configs.sh {HOST} --alter --entity-type brokers --entity-default --add-config min.insync.replicas="
    replaced = (
        f"min.insync.replicas={own.value} ({own.origin}): the controller's own value, by default 1, replaces that of "
        "brokers' files. So the first command sets it for the cluster"
        if own
        else "min.insync.replicas of brokers' files, if there is one, is replaced by the controller's own, by default 1"
    )
    lower = f"kafka-features.sh {HOST} downgrade --feature eligible.leader.replicas.version=0"
    return Step(
        f"{'if wanted: ' * later}raise eligible leader replicas (KIP-966)",
        (*((keep + str(own.value),) if own else ()), f"{RAISE} --feature eligible.leader.replicas.version=1"),
        (
            *known.elr,
            f"every partition has a leader, all replicas are running, and {IN_SYNC}: a partition whose last replica "
            "in the ISR is down can stay without a leader, and only an unclean election helps",
            replaced,
        ),
        (f"to lower them again, while {IN_SYNC}: {lower}", *of_images(after, levels=True)),
        *searched(old, new, "features", "back"),
        later,
    )


def _raise_voters() -> Step:
    """Return the step to dynamic voters (KIP-853), as the documentation of 4.1 has it (KRaft: Upgrade)."""
    return Step(
        "if wanted: raise kraft.version, to add and remove controllers while the cluster runs (KIP-853)",
        (
            f"{RAISE} --feature kraft.version=1",
            "controller.quorum.bootstrap.servers=HOST:PORT,...  # in every file, not controller.quorum.voters",
        ),
        ("there is no way back", "a controller whose disk is replaced then has to be removed, and added again"),
        ("the file takes effect when a node starts: restart all nodes, one at a time",),
        unsearched="the searches of the metadata log have one kraft.version: that of the settings",
        later=True,
    )


def _restart(release: str, file: str = "server.properties") -> tuple[str, str]:
    stop = "kafka-server-stop.sh  # stops all brokers and controllers of the machine"
    return stop, f"kafka-server-start.sh -daemon {file}  # of {release}"


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
    if steps:
        yield Heading("the upgrade, step by step", "path")
    for number, step in enumerate(steps, start=1):
        yield Paragraph((Span(f"{number}. {step.title}", "strong"),))
        if step.before:
            yield Items(tuple(map(words, step.before)))
        yield from (Paragraph((Span(command, "code"),), "command") for command in step.commands)
        if step.checks:
            yield Items(tuple(map(words, step.checks)))
        if step.unsearched:
            yield Paragraph(words(f"not searched: {step.unsearched}"), "note")


def blocks_of_searches(steps: tuple[Step, ...]) -> Iterator[Block]:
    """Yield what searches found of the steps of an upgrade."""
    if any(step.found for step in steps):
        yield Heading("what searches found of the steps", "searches")
        yield Paragraph(words("They have two brokers and acks=all, and not the settings of the files."), "quiet")
    for number, step in enumerate(steps, start=1):
        if step.found:
            yield Paragraph(words(f"step {number}:"), "quiet")
            yield Items((*said_of(step.found),))
