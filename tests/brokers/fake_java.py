"""A Java and a cache of jars that are not real: each process of a cluster only listens on its port and says so."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

from leadline.brokers.releases import BrokerRelease

_JAVA = r"""#!{python} -IS
import pathlib, socket, sys, time

if sys.argv[1:] == ["-version"]:
    print('openjdk version "{version}.0.1"')
    sys.exit()
if "kafka.tools.StorageTool" in sys.argv:
    file = next(each for each in sys.argv if each.startswith("--config=")).removeprefix("--config=")
else:
    file = sys.argv[-1]
lines = pathlib.Path(file).read_text().replace("\\:", ":").splitlines()
properties = dict(line.split("=", 1) for line in lines)
data = pathlib.Path(properties.get("log.dirs") or properties["dataDir"])
data.mkdir(exist_ok=True)
if "kafka.tools.StorageTool" in sys.argv:
    (data / "meta.properties").touch()
    sys.exit()
for option in sys.argv:
    if option.startswith("-XX:ArchiveClassesAtExit="):
        pathlib.Path(option.partition("=")[2]).write_text("archive")
if "{hangs}":
    pathlib.Path("{hangs}").touch()
    time.sleep(600)
if "fail" in properties:
    sys.exit("12:00:00.000 ERROR Exiting Kafka due to fatal exception (kafka.Kafka$)\n" + properties["fail"])
with socket.socket() as server:
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    port = properties.get("clientPort") or properties["listeners"].rpartition(":")[2]
    server.bind(("127.0.0.1", int(port)))
    server.listen()
    print("12:00:00.000 INFO The broker has been unfenced. (kafka.server.BrokerLifecycleManager)", flush=True)
    if "silent" not in properties:
        print("12:00:00.000 INFO Kafka Server started (kafka.server.KafkaRaftServer)", flush=True)
    time.sleep(600)
"""


def install(folder: Path, release: BrokerRelease, version: int = 17, hangs: Path | None = None) -> dict[str, str]:
    """Write a Java home and a cache with one jar of a release.

    Parameters:
        folder: where.
        release: the release.
        version: the version that this Java says it has.
        hangs: a file that its processes create before they do nothing more. By default, they start.

    Returns:
        The environment variables that name them.
    """
    java = folder / "java-home" / "bin" / "java"
    java.parent.mkdir(parents=True, exist_ok=True)
    values = {"{python}": sys.executable, "{version}": str(version), "{hangs}": str(hangs or "")}
    java.write_text(functools.reduce(lambda text, name: text.replace(name, values[name]), values, _JAVA))
    java.chmod(0o755)
    jars = folder / "cache" / "leadline" / "brokers" / release.number
    jars.mkdir(parents=True, exist_ok=True)
    (jars / "kafka.jar").write_bytes(b"jar")
    (jars / "class-path.txt").write_text("3 kafka.jar\n")
    return {"JAVA_HOME": str(folder / "java-home"), "XDG_CACHE_HOME": str(folder / "cache"), "PATH": "/usr/bin:/bin"}
