"""Start a Java process with KafkaRaftClients of a release, and keep the files of its nodes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from leadline.brokers.artifacts import class_path
from leadline.brokers.driver.waiting import StepFailed
from leadline.brokers.errors import BrokerError
from leadline.brokers.java import java_for
from leadline.brokers.power_loss import cut_log
from leadline.brokers.processes import java_environment
from leadline.brokers.releases import BrokerRelease

SOURCE = Path(__file__).with_name("Controllers.java")
TOPIC = "__cluster_metadata"

OLDEST_JAVA = 17
"""`Controllers.java` is compiled when it is started, and is written for this version."""


class Controllers:
    """The nodes of a quorum, each with its folder.

    Parameters:
        folder: the folder to create, with a folder for each node and the output of the process.

    Raises:
        BrokerError: if the process cannot be started.
    """

    def __init__(self, release: BrokerRelease, folder: Path) -> None:
        self.release, self.folder = release, folder
        self._java, jars = java_for(release, OLDEST_JAVA), class_path(release)
        folder.mkdir(parents=True)
        self._directories: dict[int, str] = {}
        self._log = folder / "controllers.log"
        command = [str(self._java.path), "-Xmx512m", "-cp", os.pathsep.join(map(str, jars)), str(SOURCE)]
        try:  # it ends at the end of its input, also when this process is killed
            with self._log.open("wb") as log:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    env=java_environment(),
                )
        except OSError as error:
            raise BrokerError(f"cannot start {self._java.path}: {error.strerror or error}") from error
        try:
            self.ask("observe")
        except BrokerError:
            self.close()
            raise

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def ask(self, command: str, **arguments: object) -> dict[str, Any]:
        """Send a command of `Controllers.java`, and return its result.

        Raises:
            StepFailed: if the nodes cannot execute the command.
            BrokerError: if the process has ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": command, **arguments}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            raise BrokerError(self._why_ended())
        found: dict[str, Any] = json.loads(line)
        if "error" in found:
            raise StepFailed(found["error"])
        return found

    def _why_ended(self) -> str:
        said = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        if any("jdk.compiler not found" in line for line in said):
            return f"{self._java.source} has no compiler, which KafkaRaftClients need: set JAVA_HOME to a JDK"
        reason = next((line for line in said if "rror" in line), said[-1] if said else "it said nothing")
        return f"the Java process with nodes of Kafka {self.release.number} has ended: {' '.join(reason.split())}"

    def start(self, node: int, voters: Sequence[int], servers: Sequence[int] = ()) -> str:
        """Start a node on what is in its folder. Return why it refuses to start, or an empty string.

        Parameters:
            voters: the voters in its configuration or, with kraft.version 1, with which it is formatted.
            servers: with kraft.version 1, the nodes in controller.quorum.bootstrap.servers.
        """
        found = self.ask(
            "start",
            node=node,
            folder=str(self.folder_of(node)),
            directory=self.directory_of(node),
            voters=[(each, self.directory_of(each)) for each in voters],
            servers=list(servers),
        )
        return str(found.get("refused", ""))

    def directory_of(self, node: int) -> str:
        """Return the directory id of a node."""
        return self._directories.setdefault(node, _new_directory())

    def clear(self) -> None:
        """End all nodes, and remove their files."""
        for node in self.observed():
            self.stop(node)
        for node in list(self._directories):
            self.replace_disk(node)

    def stop(self, node: int) -> None:
        """End a node. Its files stay as they are."""
        self.ask("stop", node=node)

    def folder_of(self, node: int) -> Path:
        """Return the folder of a node, with its log and its quorum-state file."""
        return self.folder / f"node-{node}"

    def replace_disk(self, node: int) -> None:
        """Empty the folder of a node that does not run."""
        shutil.rmtree(self.folder_of(node))
        del self._directories[node]

    def cut_log(self, node: int, end: int) -> None:
        """Cut the log of a node that does not run to a number of records."""
        cut_log(self.folder_of(node), TOPIC, 0, end)

    def spoil_file(self, node: int) -> None:
        """Make the quorum-state file of a node that does not run unreadable."""
        (self.folder_of(node) / "quorum-state").write_text("{", encoding="utf-8")

    def observed(self) -> Mapping[int, dict[str, Any]]:
        """Return what is observed of each node that has not ended, keyed by node."""
        return {int(node): seen for node, seen in self.ask("observe").items()}


def _new_directory() -> str:
    return urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
