"""Download the jars of a release once, and keep them in the user's cache.

For each release, the cache contains a folder with the jars and a list of the jars. The jars are downloaded into a
temporary folder, which is renamed when the download is complete. Therefore, a download never leaves an incomplete
folder. If the folder of a release exists, no network access is needed.
"""

from __future__ import annotations

import logging
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from leadline.brokers.errors import BrokerError
from leadline.brokers.releases import BrokerRelease

if TYPE_CHECKING:
    from jgo.maven import Artifact, MavenContext

_Artifacts: TypeAlias = "Callable[[MavenContext], list[Artifact]]"

_LIST = "class-path.txt"
"""The file in the folder of a release that lists its jars: the size in bytes and the path in the folder."""

_DOWNLOADS = 8
"""The number of jars that are downloaded at once."""


def class_path(release: BrokerRelease) -> tuple[Path, ...]:
    """Return the jars of a release. If they are not in the cache, they are downloaded.

    Raises:
        BrokerError: if the repository cannot be reached or does not contain the release, if the package `jgo` is not
            installed, or if the cache cannot be written.
    """
    return _jars(f"Kafka {release.number}", release.number, partial(_of_release, release))


def single_jar(coordinates: str) -> Path:
    """Return the jar of an artifact, without its dependencies. If the jar is not in the cache, it is downloaded.

    Parameters:
        coordinates: the Maven coordinates, group:artifact:version.

    Raises:
        BrokerError: see `class_path`.
    """
    _, artifact, version = coordinates.split(":")
    (jar,) = _jars(f"{artifact} {version}", f"{artifact}-{version}", partial(_single, coordinates))
    return jar


def _jars(what: str, name: str, artifacts: _Artifacts) -> tuple[Path, ...]:
    """Return the jars in a folder of the cache.

    Parameters:
        what: a description of the jars, for error messages.
        artifacts: a function that returns the artifacts to download. It is called only if the folder does not exist or
            is incomplete.
    """
    folder = cache_folder() / name
    if ":" in str(folder):
        raise BrokerError(
            f"the path of the cache {folder} must not contain a colon, because Java uses colons to separate jars"
        )
    found = _listed(folder)
    if found is None:
        _download(what, folder, artifacts)
        found = _listed(folder)
    if found is None:
        raise BrokerError(f"the jars of {what} were downloaded, but are not in {folder}: try again")
    return found


def is_cached(release: BrokerRelease) -> bool:
    """Return whether the cache contains the jars of a release."""
    return _listed(cache_folder() / release.number) is not None


def cache_folder() -> Path:
    """Return the cache folder. Its location follows the XDG Base Directory Specification."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
    return home / "leadline" / "brokers"


def _listed(folder: Path) -> tuple[Path, ...] | None:
    """Return the jars that the given folder's list names. Return None if the list or a jar is missing, or if the size
    of a jar differs from its size in the list.
    """
    jars = []
    try:
        for line in (folder / _LIST).read_text(encoding="utf-8").splitlines():
            size, _, name = line.partition(" ")
            jar = folder / name
            if jar.stat().st_size != int(size):
                return None
            jars.append(jar)
    except (OSError, ValueError):
        return None
    return tuple(jars) or None


def _download(what: str, folder: Path, artifacts: _Artifacts) -> None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as name:
            new = Path(name) / "jars"
            jars = _resolved(what, new, artifacts)
            lines = [f"{jar.stat().st_size} {jar.relative_to(new)}\n" for jar in jars]
            (new / _LIST).write_text("".join(lines), encoding="utf-8")
            if folder.exists():  # incomplete: `_listed` has refused it
                folder.rename(Path(name) / "incomplete")
            try:
                new.rename(folder)
            except OSError:
                if _listed(folder) is None:  # another process was not faster
                    raise
    except OSError as error:
        raise BrokerError(f"cannot write the jars of {what} to {folder}: {error.strerror or error}") from error


def _resolved(what: str, folder: Path, artifacts: _Artifacts) -> list[Path]:
    """Download jars to a folder, and return their paths."""
    try:
        from jgo.config import GlobalSettings
        from jgo.maven import MavenContext
    except ImportError as error:
        raise BrokerError("downloading Kafka requires the package jgo: run pip install 'leadline[brokers]'") from error
    context = MavenContext(repo_cache=folder)
    context.remote_repos |= GlobalSettings.load().repositories  # a user's `central` is a mirror
    with _as_broker_errors(what), ThreadPoolExecutor(_DOWNLOADS) as pool:
        jars = list(pool.map(lambda each: Path(each.resolve()), artifacts(context)))
    for jar in jars:
        _check(jar)
    return jars


def _of_release(release: BrokerRelease, context: MavenContext) -> list[Artifact]:
    found = {(each.groupId, each.artifactId): each for each in _with_dependencies(context, release.artifact)}
    for coordinates in release.others:
        other = context.create_dependency(coordinates).artifact
        found[other.groupId, other.artifactId] = other
    return list(found.values())


def _single(coordinates: str, context: MavenContext) -> list[Artifact]:
    return [context.create_dependency(coordinates).artifact]


def _with_dependencies(context: MavenContext, coordinates: str) -> list[Artifact]:
    inputs, transitive = context.resolver.resolve([context.create_dependency(coordinates)])
    needed = [each for each in transitive if each.scope in ("compile", "runtime") and each.type == "jar"]
    return [each.artifact for each in (*inputs, *needed)]


def _check(jar: Path) -> None:
    """Read an entire jar, and verify its checksums.

    Raises:
        BrokerError: if the jar is damaged.
    """
    try:
        with zipfile.ZipFile(jar) as archive:
            damaged = archive.testzip()
    except zipfile.BadZipFile as error:
        raise BrokerError(f"the download of {jar.name} is damaged ({error}): try again") from error
    if damaged is not None:
        raise BrokerError(f"the download of {jar.name} is damaged (at {damaged}): try again")


@contextmanager
def _as_broker_errors(what: str) -> Iterator[None]:
    """Return a context manager that converts each exception from jgo to a `BrokerError` with a one-line message."""
    import requests

    silenced = logging.getLogger("jgo")
    level = silenced.level
    silenced.setLevel(logging.CRITICAL)
    try:
        yield
    except requests.RequestException as error:
        raise BrokerError(
            f"cannot download {what}: the Maven repository cannot be reached ({type(error).__name__})"
        ) from error
    except (RuntimeError, ValueError, SyntaxError) as error:  # the last one: a POM is not XML
        raise BrokerError(f"cannot download {what}: {' '.join(str(error).split())}") from error
    finally:
        silenced.setLevel(level)
