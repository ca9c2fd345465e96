"""A cluster before or after an upgrade: a release with settings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import attrs

from leadline.checker.bounds import change_bounds
from leadline.checker.errors import LeadlineError
from leadline.checker.support.messages import counted
from leadline.invariants.promises import not_promised
from leadline.model.kafka.bounds import Bounds
from leadline.model.kafka.published import PUBLISHED, known_like, minor
from leadline.model.kafka.releases import CAVEATS, KRAFT, ZOOKEEPER, Column, column_of
from leadline.model.kafka.rules import RULES
from leadline.model.txn.releases import column_of as transactions_of
from leadline.reports.kafka.advice.settings import Given, Settings
from leadline.reports.kafka.bugs import SETTINGS
from leadline.reports.loading import shipped_spec

SUFFIXES = ("", "-zk", "-kraft")
"""What follows the version in the names of releases."""

_OF_CONTROLLER = {
    ZOOKEEPER: ("zookeeper.connect", "3.9 or earlier"),
    KRAFT: ("process.roles", "3.0 or later"),
}
"""For each kind of controller, the setting that names it, and the releases that are modelled with it."""


@attrs.frozen(eq=False)
class Cluster:
    """A cluster: its release and its settings.

    Attributes:
        version: the release as the user wrote it, such as ``2.8``.
        column: the rules of the release. Eligible leader replicas are disabled unless the user enabled them.
        with_features: the rules of the release with the features that are enabled by default in new clusters.
        settings: the effective value of each bound that users configure, with its origin.
        replicas: the number of replicas, or None if it is unknown.
        follower_reads: true if consumers read from followers.
        flushes_each: true if each record is flushed to disk when it is written.
        ignores_unclean_election: true if the files allow unclean leader elections, but the release makes them only if
            an operator requests them (KAFKA-12670).
        older: the rules of the older release whose protocol version the cluster uses, or None.
        notes: remarks for users about the settings.
    """

    version: str
    column: Column
    with_features: Column
    settings: dict[str, Given]
    replicas: int | None
    follower_reads: bool
    flushes_each: bool
    ignores_unclean_election: bool
    older: Column | None
    notes: tuple[str, ...]

    @property
    def shared(self) -> str:
        """The older minor version with the same rules, such as ``4.3`` for 4.4.0. Empty if there is none."""
        named = re.sub("[-+].*", "", self.with_features.same_as.partition("/")[2])
        return named if named and minor(named) != minor(re.sub("[-+].*", "", self.version)) else ""

    @property
    def bounds(self) -> dict[str, int | bool | str]:
        """The bounds that users configure, with their effective values."""
        return {name: given.value for name, given in self.settings.items()}

    @property
    def rules(self) -> dict[str, str]:
        """The values of the rules that the settings change, keyed by rule. The only such rule is whether consumers can
        read from followers.
        """
        reads = self.column.values["follower_reads"] == "yes" and not self.follower_reads
        return {"follower_reads": "no"} if reads else {}

    @property
    def is_changed(self) -> bool:
        """True if the user has changed rules of the release, as in ``4.0+elr=on``."""
        return "+" in self.column.name

    def chooses(self, values: Mapping[str, int | bool | str]) -> bool:
        """Return whether the files set all the given values. Values that are only defaults of the release do not count.

        Parameters:
            values: values of bounds that users configure, keyed by name.
        """
        return all(
            self.settings[name].value == value and not self.settings[name].is_default for name, value in values.items()
        )

    @property
    def title(self) -> str:
        """The version and the kind of controller, as text."""
        return f"Kafka {self.version} with {self.column.controller}"

    @property
    def not_promised(self) -> list[str]:
        """A sentence for each guarantee that the settings do not give."""
        return not_promised(change_bounds(Bounds(), self.bounds))


def clusters(before: str, after: str, settings: Settings) -> tuple[Cluster, Cluster]:
    """Return the cluster before and after an upgrade.

    Parameters:
        before, after: the names of the releases, such as ``2.8``, ``3.6.1-zk``, ``kafka/4.0`` or ``4.1+elr=on``.

    Raises:
        LeadlineError: if a release is unknown, if the settings do not determine the kind of controller or contradict
            the release, or if the second release is older than the first.
    """
    old = _chosen("--from", _releases("--from", before), settings.controllers)
    news = _releases("--to", after)
    new = next((each for each in news if each.controller == old.controller), news[0])
    if _number(after) < _number(before):
        raise LeadlineError(f"--to {after} is older than --from {before}: choose a newer release")
    if old.controller == KRAFT and new.controller == ZOOKEEPER:
        raise LeadlineError(f"--to {after} uses ZooKeeper, but the cluster uses KRaft: choose a release with KRaft")
    has_elr = "+" in before and old.values["elr"] != "off"
    return _cluster(before, old, settings, True), _cluster(after, new, settings, False, has_elr)


def _releases(option: str, text: str) -> list[Column]:
    """Return the releases with this name. There are two if the release exists both with ZooKeeper and with KRaft."""
    name, plus, rules = text.removeprefix("kafka/").partition("+")
    found = [column_of(f"kafka/{name}{suffix}{plus}{rules}") for suffix in SUFFIXES]
    columns = [column for column in found if column is not None]
    if not columns:
        try:
            shipped_spec(f"kafka/{name}")
        except LeadlineError as error:
            raise LeadlineError(f"{option} {text}: {error}") from None
    return columns


def _chosen(option: str, columns: list[Column], controllers: Mapping[str, str]) -> Column:
    """Choose the release with the kind of controller that the settings name."""
    fitting = [column for column in columns if column.controller in controllers]
    version = columns[0].name.removeprefix("kafka/")
    if len(columns) == 1 and (fitting or not controllers):
        return columns[0]
    if not fitting and controllers:
        (kind, place), *_ = controllers.items()
        setting, releases = _OF_CONTROLLER[kind]
        raise LeadlineError(
            f"{place}: {setting} is a setting for clusters with {kind}, but leadline models {version} only with "
            f"{columns[0].controller}: pass {option} with a release that uses {kind}, {releases}"
        )
    if len(fitting) == 1:
        return fitting[0]
    if not controllers:
        why = "no zookeeper.connect or process.roles says whether the cluster uses ZooKeeper or KRaft (--config)"
    else:
        why = "the --config file names both ZooKeeper and KRaft"
    names = " or ".join(f"{option} {column.name.removeprefix('kafka/')} ({column.controller})" for column in columns)
    raise LeadlineError(f"{why}: write {names}")


def _number(text: str) -> tuple[int, ...]:
    """Convert a version to a tuple of integers. A minor version stands for its first release."""
    (name,) = re.findall(r"^(?:kafka/)?([\d.]+)", text)
    return (
        tuple(map(int, known_like(name)[0].split("."))) if name not in PUBLISHED else tuple(map(int, name.split(".")))
    )


def _cluster(text: str, column: Column, settings: Settings, is_before: bool, has_elr: bool = False) -> Cluster:
    """Return a cluster. An upgrade does not change whether eligible leader replicas are enabled."""
    version = text.removeprefix("kafka/")
    with_features = column
    if column.values["elr"] == "on" and "+" not in text and not has_elr:
        column = column.with_rules({"elr": "off"})
    values = _values(version, column, settings)
    older = _older(text, column, settings) if is_before else None
    notes = _notes_before(older, settings) if is_before else _notes_after(version, column, settings)
    return Cluster(
        version,
        column,
        with_features,
        values,
        _replicas(settings),
        bool(settings.value("replica.selector.class")),
        settings.value("log.flush.interval.messages") == 1,
        column.values["unclean_election"] == "on-request" and settings.value("unclean.leader.election.enable") is True,
        older,
        (*_notes(text, column, with_features, settings), *notes),
    )


def _values(version: str, column: Column, settings: Settings) -> dict[str, Given]:
    defaults = f"the default of Kafka {version}"
    values = {
        name: settings.given.get(kafka_name, Given(getattr(column.bounds, name), defaults, is_default=True))
        for name, kafka_name in SETTINGS.items()
    }
    if column.values["unclean_election"] == "on-request" and values["unclean_leader_election"].value:
        origin = values["unclean_leader_election"].origin
        values["unclean_leader_election"] = Given(False, f"KRaft ignores {origin} before 3.9 (KAFKA-12670)")
    return values


def _replicas(settings: Settings) -> int | None:
    value = settings.value("replication.factor")
    return value if isinstance(value, int) else None


def _older(text: str, column: Column, settings: Settings) -> Column | None:
    """Return the release that ``inter.broker.protocol.version`` names, if its rules differ from those of `column`."""
    given = settings.given.get("inter.broker.protocol.version")
    if given is None or column.controller != ZOOKEEPER:
        return None
    name = re.sub(r"-IV\d+$", "", str(given.value))
    named = [each for each in _named_like(name) if each.controller == ZOOKEEPER]
    if not named:
        raise LeadlineError(
            f"{given.origin}: inter.broker.protocol.version={given.value} is not allowed: expected version "
            f"{PUBLISHED[0]} or later, such as 2.8"
        )
    if _number(name)[:2] > _number(text)[:2]:
        raise LeadlineError(
            f"{given.origin}: inter.broker.protocol.version={given.value} is newer than --from {text}: expected that "
            "version or an older one"
        )
    is_older = _number(name)[:2] < _number(text)[:2]
    return named[0] if is_older and named[0].values != column.values else None


def _named_like(name: str) -> Iterator[Column]:
    versions = known_like(name) or (known_like(name.rpartition(".")[0]) if re.fullmatch(r"[\d.]+", name) else ())
    for suffix in SUFFIXES:
        for version in versions[:1]:
            if (column := column_of(f"kafka/{version}{suffix}")) is not None:
                yield column


# --- notes ------------------------------------------------------------------------------------------------------


def _notes(text: str, column: Column, with_features: Column, settings: Settings) -> Iterator[str]:
    version = text.removeprefix("kafka/")
    full = ".".join(map(str, _number(text)))
    if full != re.sub(r"[-+].*", "", version) and len(_alike(full, column)) > 1:
        yield f"{version} stands for {full}. Later patch releases have other rules: write the one that the brokers run"
    if full in CAVEATS and column.controller == KRAFT:
        yield CAVEATS[full]
    if "acks" not in settings.given:
        yield "acks is taken to be the default of producers of the same release: pass --producer-config if it is not"
    if column.controller == KRAFT:
        yield (
            "metadata.version is taken to be that of the release. It is a feature of the cluster and not in the files "
            "(kafka-features.sh describe); with an older one, the cluster behaves in part like that release"
        )
    if with_features is not column:
        yield (
            f"eligible.leader.replicas.version is taken to be 0: it is 1 by default in new clusters of {version} only. "
            f"If it is 1, write {version}+elr=on"
        )


def _alike(version: str, column: Column) -> list[Column]:
    """Return the releases that have the same minor version and kind of controller, but different rules."""
    found: list[Column] = []
    for name in (f"kafka/{known}{suffix}" for known in known_like(version) for suffix in SUFFIXES):
        other = column_of(name)
        if other is not None and other.controller == column.controller:
            found += [] if any(each.values == other.values for each in found) else [other]
    return found


def _notes_before(older: Column | None, settings: Settings) -> Iterator[str]:
    if older is not None:
        given = settings.given["inter.broker.protocol.version"]
        value = f"inter.broker.protocol.version={given.value} ({given.origin})"
        yield f"{value}: the cluster behaves in part like {older.name}"
    replicas, least = settings.value("replication.factor"), settings.value("min.insync.replicas")
    if isinstance(replicas, int) and isinstance(least, int) and least > replicas:
        yield (
            f"min.insync.replicas={least} is more than the {replicas} replicas: writes with acks=all are refused "
            f"before Kafka 3.7, and need {counted(replicas, 'member')} of the ISR since then (KAFKA-15583)"
        )
    if replicas == 1:
        yield "with one replica, nothing is replicated: the loss of the end of its log is a loss of records"


def _notes_after(version: str, column: Column, settings: Settings) -> Iterator[str]:
    if column.controller == KRAFT and ZOOKEEPER in settings.controllers and KRAFT not in settings.controllers:
        yield (
            f"{version} is taken to have KRaft. The migration from ZooKeeper is not modelled, and has to be done "
            "before 4.0"
        )
    if (given := settings.given.get("inter.broker.protocol.version")) and column.controller == ZOOKEEPER:
        yield (
            f"the upgrade is taken to be finished: until inter.broker.protocol.version={given.value} ({given.origin}) "
            f"is raised, the cluster behaves in part like {given.value}"
        )
    yield from _notes_on_transactions(version, settings)


def _notes_on_transactions(version: str, settings: Settings) -> Iterator[str]:
    """Yield a note if producers use transactions, whose bugs depend on the clients and the application, too."""
    brokers = ".".join(map(str, _number(version)))
    column = transactions_of(f"txn/{brokers}")
    if column is None or not any(remark.name == "transactional.id" for remark in settings.remarks):
        return
    said = "transactional.id is set, and bugs of transactions are not listed here: "
    command = f"leadline explore txn/{brokers}"
    if column.values["transaction_version"] == "2":
        yield (
            f"{said}with clients before 4.0, a late request can end the next transaction, so that records are read "
            f"that nobody has committed (KIP-890): {command}-client-3.9 -i no_aborted_read. Clients since 4.0 prevent "
            "it, once transaction.version is 2"
        )
        return
    yield (
        f"{said}a late request can end the next transaction, so that records are read that nobody has committed "
        f"(KIP-890): {command} -i no_aborted_read"
    )
    cure = "an application that replaces its producer after a transaction in which a request timed out"
    if column.values["verification"] == "asks":
        yield f"{cure} prevents this: {command}+time_out=re-initialise"
    else:
        yield f"{cure} does not prevent this before 3.6: {command}+time_out=re-initialise -i no_aborted_read"


def changed_rules(before: Cluster, after: Cluster) -> list[tuple[str, str, str, str]]:
    """Return the replication rules that an upgrade changes.

    Returns:
        For each changed rule, its question, the answers before and after the upgrade, and the source of the later
        answer.
    """
    changed = []
    for rule in RULES:
        old, new = rule.value(before.column.values[rule.name]), rule.value(after.column.values[rule.name])
        if old is not new:
            changed.append((rule.question, old.sentence, new.sentence, new.source))
    return changed
