"""Learn which release each node of a recorded cluster runs while it is upgraded.

With KRaft, nodes say it themselves. A client of Kafka names its release in the `ApiVersions` request with which it
begins each connection (KIP-511), also the client with which a broker fetches the metadata log. The response of a
controller has the highest `metadata.version` that it supports. With ZooKeeper, brokers say nothing of this kind, so
whoever upgrades them has to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from leadline.brokers.client import METADATA_VERSION
from leadline.brokers.errors import BrokerError
from leadline.brokers.frame import Frame
from leadline.brokers.releases import BrokerRelease
from leadline.model.kafka.mixes import STAGES
from leadline.model.kafka.rolls import NEW_LEVEL

_RAFT_CLIENT = re.compile(r"raft-client-(\d+)")
"""The client id of the requests for the metadata log (`KafkaRaftManager` in Kafka's code)."""
_STAGES = STAGES[: NEW_LEVEL + 1]
_TOLD = re.compile(rf"(\d+) ({'|'.join(_STAGES)})")


class NodeReleases:
    """Writes an event `runs` when a node begins to run another release of a mix.

    Parameters:
        release: the mix.
        brokers: the ids of the brokers. With ZooKeeper, all run the old release at first.
        controllers: the number of KRaft controllers.
        note: writes an event to the recording.
        told: the file to which lines are appended, such as ``1 new release``: what a broker runs from its next start
            on. Only with ZooKeeper.

    Raises:
        BrokerError: if nobody could say which release a controller runs, or if the file cannot be read.
    """

    def __init__(
        self,
        release: BrokerRelease,
        brokers: Sequence[int],
        controllers: int,
        note: Callable[..., None],
        told: Path | None = None,
    ) -> None:
        assert release.newer is not None
        self._release, self._brokers, self._note = release, brokers, note
        self._names = [release.number, release.newer.number]
        self._levels = [release.metadata_level, release.newer.metadata_level]
        self._runs: dict[int | str, int] = {}
        self._level: int | None = None
        self._wrong: str | None = None
        self._told, self._read = told, 0 if told is None else len(_lines(told))
        if release.newer.newer is not None:
            raise BrokerError(f"{release.name} is several upgrades: record each of them")
        if not release.kraft:
            for broker in brokers:
                self._begins(broker, 0)
        elif self._levels[0] == self._levels[1]:
            raise BrokerError(f"controllers of {' and '.join(self._names)} do not say which of these releases they run")
        elif controllers > 1:
            raise BrokerError(
                "an upgrade of several controllers cannot be recorded: they do not say which one is active"
            )

    def check(self) -> None:
        """Read what was appended to the file.

        Raises:
            BrokerError: if it cannot be read or has another line, or if the recording cannot be followed as one of this
                upgrade.
        """
        if self._told is not None:
            for line in _lines(self._told)[self._read :]:
                self._read += 1
                self._tell(line)
        if self._wrong is not None:
            raise BrokerError(self._wrong)

    def _tell(self, line: str) -> None:
        said = _TOLD.fullmatch(line.strip())
        if said is None or int(said[1]) not in self._brokers:
            raise BrokerError(
                f"{self._told}:{self._read}: {line!r} must be the id of a broker, and one of: {', '.join(_STAGES)}"
            )
        self._begins(int(said[1]), STAGES.index(said[2]))

    def see(self, frame: Frame) -> None:
        """Take what a frame says of the process that sent it."""
        if not self._release.kraft or frame.api != "ApiVersions" or frame.body is None:
            return
        if frame.request:
            client = _RAFT_CLIENT.fullmatch(frame.client_id or "")
            if client is not None and int(client[1]) in self._brokers:
                self._says(int(client[1]), frame.body.get("ClientSoftwareVersion"), self._names)
            return
        features = {each["Name"]: each for each in frame.body.get("SupportedFeatures") or ()}
        if frame.source == "controller" and METADATA_VERSION in features:
            self._says("controller", features[METADATA_VERSION]["MaxVersion"], self._levels)
        for each in frame.body.get("FinalizedFeatures") or ():
            if each["Name"] == METADATA_VERSION:
                self._check_level(each["MaxVersionLevel"])

    def _says(self, node: int | str, value: Any, of_mix: Sequence[Any]) -> None:
        if value in of_mix:
            self._begins(node, of_mix.index(value))
        elif value is not None:  # a request in a version that the receiver does not support names nothing
            name = "the controller" if node == "controller" else f"broker {node}"
            of_controller = f"{METADATA_VERSION} up to " if node == "controller" else ""
            self._wrong = f"{name} says that it runs {of_controller}{value}, and neither of {' and '.join(self._names)}"

    def _begins(self, node: int | str, stage: int) -> None:
        if self._runs.get(node) != stage:
            self._runs[node] = stage
            self._note("runs", node=node, stage=STAGES[stage])

    def _check_level(self, level: int) -> None:
        """Check that the cluster begins at the level of the old release, and rises to that of the new one."""
        if level not in self._levels[: 1 if self._level is None else 2]:
            self._wrong = (
                f"{METADATA_VERSION} is {level}: begin to record while it is that of {self._names[0]}, "
                f"{self._levels[0]}, and raise it to that of {self._names[1]}, {self._levels[1]}"
            )
        self._level = level


def _lines(path: Path) -> list[str]:
    """Return the complete lines of a file."""
    try:
        *complete, _ = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BrokerError(f"{path} cannot be read: {error}") from error
    return complete
