"""Jars come from a registry once. The registry here is a folder that a server of this machine serves."""

from __future__ import annotations

import functools
import io
import os
import threading
import zipfile
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest import mock

import attrs
import pytest

from leadline.brokers.artifacts import cache_folder, class_path, is_cached
from leadline.brokers.errors import BrokerError
from leadline.brokers.releases import broker_release

pytest.importorskip("jgo")

RELEASE = broker_release("4.1.1")


class Quiet(SimpleHTTPRequestHandler):
    """A handler that does not write a line for each request."""

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@attrs.define
class Registry:
    """A Maven repository with the artifacts of one release.

    Attributes:
        folder: where its files are.
        server: what serves them.
    """

    folder: Path
    server: ThreadingHTTPServer

    def add(self, coordinates: str, *dependencies: str) -> Path:
        """Add an artifact with a POM, and return its jar."""
        group, name, version = coordinates.split(":")
        folder = self.folder / group.replace(".", "/") / name / version
        folder.mkdir(parents=True)
        needed = "".join(
            "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>".format(
                *each.split(":")
            )
            for each in dependencies
        )
        (folder / f"{name}-{version}.pom").write_text(
            f"<project><modelVersion>4.0.0</modelVersion><groupId>{group}</groupId><artifactId>{name}</artifactId>"
            f"<version>{version}</version><dependencies>{needed}</dependencies></project>"
        )
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            archive.writestr("content", coordinates * 100)
        jar = folder / f"{name}-{version}.jar"
        jar.write_bytes(content.getvalue())
        return jar


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    """A registry, which is the only one that jgo knows, and an empty cache."""
    folder = tmp_path / "registry"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=functools.partial(server.serve_forever, 0.02))
        thread.start()
        (tmp_path / "jgo.conf").write_text(f"[repositories]\ncentral = http://127.0.0.1:{server.server_port}\n")
        variables = {"JGO_CONFIG_FILE": str(tmp_path / "jgo.conf"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
        with mock.patch.dict(os.environ, variables):
            yield Registry(folder, server)
        server.shutdown()
        thread.join()


@pytest.fixture
def whole(registry: Registry) -> Registry:
    """The registry with all that the release needs."""
    registry.add(RELEASE.artifact, "org.apache.kafka:kafka-clients:4.1.1", "org.apache.logging.log4j:log4j-api:2.0")
    registry.add("org.apache.kafka:kafka-clients:4.1.1")
    registry.add("org.apache.logging.log4j:log4j-api:2.0")
    for other in RELEASE.others:
        registry.add(other, "not:there:1")  # others come without their dependencies
    return registry


def names() -> set[str]:
    """The names of the jars of the release."""
    return {jar.name for jar in class_path(RELEASE)}


def test_a_release_is_downloaded_once_with_its_dependencies(whole: Registry) -> None:
    assert not is_cached(RELEASE)
    found = names()
    assert {"kafka_2.13-4.1.1.jar", "kafka-clients-4.1.1.jar"} < found
    assert [name for name in found if name.startswith("log4j-api")] == ["log4j-api-2.24.3.jar"]
    assert is_cached(RELEASE)
    whole.server.server_close()
    assert names() == found


def test_jars_that_were_removed_are_downloaded_again(whole: Registry) -> None:
    class_path(RELEASE)[0].unlink()
    assert not is_cached(RELEASE)
    assert all(jar.exists() for jar in class_path(RELEASE))
    class_path(RELEASE)[0].write_bytes(b"short")
    assert not is_cached(RELEASE)
    assert all(jar.stat().st_size > 100 for jar in class_path(RELEASE))
    assert os.listdir(cache_folder()) == [RELEASE.number]


def test_without_a_registry_one_line_says_so_and_nothing_is_left(whole: Registry) -> None:
    whole.server.server_close()
    with pytest.raises(
        BrokerError, match=r"cannot download Kafka 4\.1\.1: the Maven repository cannot be reached"
    ) as caught:
        class_path(RELEASE)
    assert "\n" not in str(caught.value)
    assert os.listdir(cache_folder()) == []


def test_an_artifact_that_the_registry_lacks_is_named(registry: Registry) -> None:
    with pytest.raises(BrokerError, match=r"cannot download Kafka 4\.1\.1: .*kafka_2\.13") as caught:
        class_path(RELEASE)
    assert "\n" not in str(caught.value)
    assert os.listdir(cache_folder()) == []


@pytest.mark.parametrize("damage", ["cut", "changed", "not a jar"])
def test_a_damaged_jar_is_refused(whole: Registry, damage: str) -> None:
    jar = next(whole.folder.rglob("kafka-clients*.jar"))
    content = jar.read_bytes()
    position = content.index(RELEASE.number.encode())
    damaged = {"cut": content[:-50], "changed": content[:position] + b"5" + content[position + 1 :], "not a jar": b"x"}
    jar.write_bytes(damaged[damage])
    with pytest.raises(BrokerError, match=r"the download of kafka-clients-4\.1\.1\.jar is damaged"):
        class_path(RELEASE)
    assert not is_cached(RELEASE)


def test_a_cache_that_java_cannot_read_is_refused(tmp_path: Path) -> None:
    with (
        mock.patch.dict(os.environ, {"XDG_CACHE_HOME": f"{tmp_path}/a:b"}),
        pytest.raises(BrokerError, match=r"a:b.* must not contain a colon"),
    ):
        class_path(RELEASE)


def test_without_jgo_the_extra_is_named(tmp_path: Path) -> None:
    with (
        mock.patch.dict("sys.modules", {"jgo.maven": None}),
        mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(tmp_path)}),
        pytest.raises(BrokerError, match=r"pip install 'leadline\[brokers\]'"),
    ):
        class_path(RELEASE)
