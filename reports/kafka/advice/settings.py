"""The settings of a cluster, a topic and a producer that determine which known bugs can occur."""

from __future__ import annotations

import difflib
import functools
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal

import attrs
import cattrs

from leadline.checker.errors import LeadlineError
from leadline.checker.support.files import file_text
from leadline.model.kafka.releases import KRAFT, ZOOKEEPER
from leadline.reports.kafka.advice.properties import Entry, read_properties

SHIPPED = Path(__file__).resolve().with_name("settings.toml")

MOST = 9
"""The maximum number of replicas, and the largest ``min.insync.replicas``, that the model has."""

LIKENESS = 0.85
"""How like a known name an unknown name must be to be taken for a misspelling, from 0 to 1."""

Owner = Literal["broker", "topic", "producer"]
"""Those whose settings a file gives."""

Kind = Literal["used", "abstract", "unrelated", "misplaced", "unknown"]
"""How a setting is treated, see `Remark`."""

USED: dict[Owner, tuple[str, ...]] = {
    "broker": (
        *("controller.quorum.bootstrap.servers", "controller.quorum.voters", "default.replication.factor"),
        *("inter.broker.protocol.version", "log.flush.interval.messages"),
        *("min.insync.replicas", "process.roles", "replica.selector.class", "unclean.leader.election.enable"),
        "zookeeper.connect",
    ),
    "topic": ("flush.messages", "min.insync.replicas", "unclean.leader.election.enable"),
    "producer": ("acks",),
}
"""The settings that decide what `leadline advise` says."""


@attrs.frozen(kw_only=True)
class KnownSettings:
    """The names of Kafka's settings.

    Attributes:
        prefixes: for brokers, topics and producers, the prefixes that also mark a name as one of their settings.
        abstract: the replication settings whose values the model does not need, each with the reason.
    """

    broker: list[str]
    topic: list[str]
    producer: list[str]
    prefixes: dict[Owner, list[str]]
    abstract: dict[str, str]

    def of(self, owner: Owner) -> list[str]:
        """Return the names of the settings of brokers, topics or producers."""
        return {"broker": self.broker, "topic": self.topic, "producer": self.producer}[owner]


@attrs.frozen
class Remark:
    """A remark that says how the advice uses a setting.

    Attributes:
        place: the file and line of the setting.
        kind: ``used`` if the advice depends on the setting; ``abstract`` if it concerns replication, but the model
            does not need its value; ``unrelated`` if it does not concern replication; ``misplaced`` if it belongs to
            a different kind of file; ``unknown`` if leadline does not know the setting.
        text: why the setting is of this kind. Empty if it is used or unrelated.
    """

    name: str
    value: str
    place: str
    kind: Kind
    text: str = ""


@attrs.frozen
class Given:
    """A value with its origin.

    Attributes:
        origin: the origin of the value, such as ``server.properties:12`` or an option.
        is_default: true if the value is the default of a release.
    """

    value: int | bool | str
    origin: str
    is_default: bool = False


@attrs.frozen
class Voters:
    """The controllers that the settings name.

    Attributes:
        dynamic: whether `controller.quorum.bootstrap.servers` names them, as with kraft.version 1 (KIP-853). It may
            name fewer than there are voters.
        origin: the setting, with its place in the files.
    """

    number: int
    dynamic: bool
    origin: str


@attrs.frozen
class Settings:
    """The settings from the given files. All other settings have the defaults of the release.

    Attributes:
        given: the values of ``acks``, ``min.insync.replicas``, ``unclean.leader.election.enable``,
            ``replica.selector.class``, ``inter.broker.protocol.version``, ``log.flush.interval.messages`` and
            ``replication.factor``, keyed by name.
        controllers: the kinds of controllers that the broker settings name, each with its place in the files.
        voters: KRaft's controllers, or None if the broker settings name none.
    """

    given: Mapping[str, Given]
    controllers: Mapping[str, str]
    remarks: tuple[Remark, ...]
    voters: Voters | None = None

    def written(self, name: str) -> str | None:
        """Return the value of a setting as a file has it, also of one that is not in `given`, or None."""
        return next((remark.value for remark in self.remarks if remark.name == name), None)

    def value(self, name: str) -> int | bool | str | None:
        """Return the value of a setting, or None if no file sets it."""
        return self.given[name].value if name in self.given else None


def read_settings(
    config: Path | None = None,
    topic: Path | None = None,
    producer: Path | None = None,
    replication_factor: int | None = None,
) -> Settings:
    """Read the settings of a cluster, and optionally of a topic and its producers.

    Parameters:
        config: a ``server.properties`` file, or None.
        topic: a file with the settings of a topic, which override those of the brokers, or None.
        producer: a file with the settings of producers, or None.
        replication_factor: the number of replicas, or None for ``default.replication.factor``.

    Raises:
        LeadlineError: if a file cannot be read, or if a value is not allowed.
    """
    paths: dict[Owner, Path | None] = {"broker": config, "topic": topic, "producer": producer}
    files = {owner: read_properties(path) for owner, path in paths.items() if path is not None}
    given: dict[str, Given] = {}
    for owner, entries in files.items():
        for name, entry in entries.items():
            if name in USED[owner] and name in _READERS:
                given[_SYNONYMS.get(name, name)] = Given(_READERS[name](entry), entry.place)
    if replication_factor is not None:
        given["replication.factor"] = Given(replication_factor, "--replication-factor")
    remarks = [remark for owner, entries in files.items() for remark in _remarks(owner, entries)]
    broker = files.get("broker", {})
    return Settings(given, _controllers(broker), tuple(remarks), _voters(broker))


def _controllers(entries: Mapping[str, Entry]) -> dict[str, str]:
    """Return the kinds of controllers that the settings of a broker name, each with its place in the file."""
    named = {KRAFT: "process.roles", ZOOKEEPER: "zookeeper.connect"}
    return {kind: entries[name].place for kind, name in named.items() if name in entries and entries[name].value}


def _voters(entries: Mapping[str, Entry]) -> Voters | None:
    for name in ("controller.quorum.voters", "controller.quorum.bootstrap.servers"):
        if name in entries and (listed := [each for each in entries[name].value.split(",") if each.strip()]):
            return Voters(len(listed), name.endswith("servers"), f"{name} ({entries[name].place})")
    return None


# --- values -----------------------------------------------------------------------------------------------------


def wrong(entry: Entry, expected: str) -> LeadlineError:
    """Return the error that a value is a placeholder, or that it is not one of those that are expected."""
    if entry.is_placeholder:
        return LeadlineError(
            f"{entry.place}: {entry.name}={entry.value} is a placeholder: replace it with a value, or remove the line "
            "to use the default of the release"
        )
    comment = " (write a comment on a separate line)" if "#" in entry.value else ""
    return LeadlineError(f"{entry.place}: {entry.name}={entry.value} is not allowed: expected {expected}{comment}")


def _number(entry: Entry, most: int | None = None) -> int:
    try:
        value = int(entry.value)
    except ValueError:
        raise wrong(entry, "a whole number of at least 1") from None
    if value < 1:
        raise wrong(entry, "a whole number of at least 1")
    if most is not None and value > most:
        raise LeadlineError(f"{entry.place}: {entry.name}={value} is out of range: it must be at most {most}")
    return value


def _count(entry: Entry) -> int:
    return _number(entry, MOST)


def _truth(entry: Entry) -> bool:
    if entry.value.lower() not in ("true", "false"):
        raise wrong(entry, "true or false")
    return entry.value.lower() == "true"


def _acks(entry: Entry) -> str:
    if entry.value not in ("all", "-1", "0", "1"):
        raise wrong(entry, "all, -1, 1 or 0")
    return "all" if entry.value == "-1" else entry.value


def _text(entry: Entry) -> str:
    return entry.value


_READERS: dict[str, Callable[[Entry], int | bool | str]] = {
    "acks": _acks,
    "default.replication.factor": _count,
    "flush.messages": _number,
    "inter.broker.protocol.version": _text,
    "log.flush.interval.messages": _number,
    "min.insync.replicas": _count,
    "replica.selector.class": _text,
    "unclean.leader.election.enable": _truth,
}

_SYNONYMS = {"default.replication.factor": "replication.factor", "flush.messages": "log.flush.interval.messages"}


# --- remarks ----------------------------------------------------------------------------------------------------


@functools.cache
def known_settings() -> KnownSettings:
    """Return the names of Kafka's settings."""
    converter = cattrs.Converter(forbid_extra_keys=True)
    return converter.structure(tomllib.loads(file_text(SHIPPED)), KnownSettings)


_OPTIONS: dict[Owner, str] = {"broker": "--config", "topic": "--topic-config", "producer": "--producer-config"}


def _remarks(owner: Owner, entries: Mapping[str, Entry]) -> Iterator[Remark]:
    for name, entry in entries.items():
        kind, text = _treatment(owner, name)
        yield Remark(name, entry.value, entry.place, kind, text)


def _treatment(owner: Owner, name: str) -> tuple[Kind, str]:
    known = known_settings()
    if name in USED[owner]:
        return "used", ""
    if name in known.of(owner):
        reason = known.abstract.get(name)
        return ("abstract", reason) if reason else ("unrelated", "")
    if name.startswith(tuple(known.prefixes[owner])):
        return "unrelated", ""
    for other in ("broker", "topic", "producer"):
        if name in known.of(other):
            return "misplaced", f"a setting of a {other}, which has no effect in this file: see {_OPTIONS[other]}"
    close = difflib.get_close_matches(name, known.of(owner), n=1, cutoff=LIKENESS)
    hint = f": did you mean {close[0]}?" if close else ""
    return "unknown", f"not a setting of a {owner} that leadline knows{hint}"
