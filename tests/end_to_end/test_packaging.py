"""The wheel, installed in a new environment, behaves like the checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from email.message import Message
from email.parser import HeaderParser
from importlib.metadata import metadata as metadata_of
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from leadline.reports.suite import SHIPPED, read_suite
from tests.suite.command import environment
from tests.suite.samples import sampled

PROJECT = Path(__file__).parents[2]


def run(*command: str | Path, folder: Path) -> str:
    """Run a command that must succeed, and return its standard output."""
    process = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, encoding="utf-8", check=False)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def share_dependencies(python: Path, folder: Path) -> None:
    """Make the packages of this environment importable in another one, but not this environment's editable install."""
    packages = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", folder=folder).strip()
    Path(packages, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the checkout as pip builds it anywhere: with the build system it asks for."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, PROJECT, folder=folder)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of a fresh environment with the wheel in it; the dependencies are this environment's."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, symlinks=True, with_pip=False)
    python = folder / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", wheel, folder=folder)
    share_dependencies(python, folder)
    return python.parent


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    """The metadata of the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return HeaderParser().parsestr(archive.read(name).decode("utf-8"))


def test_the_wheel_has_the_packages_whole_the_suite_and_the_licence(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    packages = ("brokers", "checker", "invariants", "model", "reports")
    sources = {path.relative_to(PROJECT) for package in packages for path in (PROJECT / package).rglob("*.py")}
    assert {f"leadline/{source}" for source in sources} | {"leadline/__init__.py", "leadline/__main__.py"} <= names
    data = ("suite.toml", "html/page.html", "html/page.css", "html/page.js")
    assert {f"leadline/reports/{name}" for name in data} <= names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"leadline"}


def test_the_wheel_says_what_it_needs_and_what_it_is(metadata: Message) -> None:
    assert metadata["Name"] == "leadline"
    assert metadata["Requires-Python"] == "<3.15,>=3.11"
    assert metadata["License-Expression"] == "Apache-2.0"
    requirements = metadata.get_all("Requires-Dist") or []
    assert {text for text in requirements if text.startswith("pyspark")} == {
        f"pyspark<5,>=4.0; extra == '{extra}'"
        for extra in ("spark", "test")  # which names the first
    }
    assert any(text.startswith("pytest") and text.endswith("; extra == 'test'") for text in requirements)
    needed = [text for text in requirements if "extra ==" not in text]
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    assert {re.split("[<>]", text)[0] for text in needed} == {re.split("[<>]", text)[0] for text in declared}
    assert all("<" in text and ">=" in text for text in needed)  # pinned by ranges


def test_what_is_installed_is_imported_and_not_the_checkout(installed: Path, tmp_path: Path) -> None:
    names = ("leadline", *(f"leadline.{name}" for name in ("brokers", "checker", "invariants", "model", "reports")))
    code = f"import sys, {', '.join(names)}; print(*(sys.modules[name].__file__ for name in {names}))"
    files = run(installed / "python", "-c", code, folder=tmp_path).split()
    assert len(files) == 6
    assert all(Path(file).is_relative_to(installed.parent) for file in files)


def test_the_installed_command_lists_the_specs(installed: Path, metadata: Message, tmp_path: Path) -> None:
    listed = run(installed / "leadline", "specs", folder=tmp_path)
    assert [line.split()[0] for line in listed.splitlines() if line.startswith("atomic/")] == [
        "atomic/hw-truncation",
        "atomic/kip-101",
        "atomic/kip-279",
        "atomic/kip-320-first-try",
        "atomic/kip-320",
    ]
    version = metadata["Version"]
    assert run(installed / "leadline", "--version", folder=tmp_path) == f"leadline, version {version}\n"


def test_the_installed_command_checks_a_suite_in_another_folder(installed: Path, tmp_path: Path) -> None:
    suite = '[[check]]\nspec = "atomic/kip-101"\nexpect = "holds"\ndistinct_states = 1177\n'
    (tmp_path / "leadline.toml").write_text(suite, encoding="utf-8")
    assert run(installed / "leadline", "check", folder=tmp_path).endswith("1 of 1 checks as expected\n")


def test_the_installed_command_finds_the_shipped_suite(installed: Path, tmp_path: Path) -> None:
    code = "from leadline.reports.suite import SHIPPED, read_suite; print(len(read_suite(SHIPPED)))"
    assert run(installed / "python", "-c", code, folder=tmp_path) == f"{len(read_suite(SHIPPED))}\n"


@pytest.fixture(scope="module")
def wheel_of_sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is built from the sdist."""
    (requirement,) = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    backend, folder = tmp_path_factory.mktemp("backend"), tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-m", "pip", "install", "--quiet", "--target", backend, requirement, folder=folder)
    build = (
        f"import sys; sys.path.insert(0, {str(backend)!r}); import hatchling.build as b; b.build_sdist({str(folder)!r})"
    )
    run(sys.executable, "-c", build, folder=PROJECT)
    (sdist,) = folder.iterdir()
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, sdist, folder=folder)
    (built,) = folder.glob("*.whl")
    return built


def contents(wheel: Path) -> dict[str, int]:
    """The checksum of each file of a wheel."""
    return {item.filename: item.CRC for item in zipfile.ZipFile(wheel).infolist()}


def test_the_sdist_builds_the_same_wheel(wheel: Path, wheel_of_sdist: Path) -> None:
    assert wheel_of_sdist.name == wheel.name
    assert contents(wheel_of_sdist) == contents(wheel)


def test_the_top_level_of_the_wheel_is_leadline_and_its_metadata(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in contents(wheel)}
    assert tops == {"leadline", f"leadline-{wheel.name.split('-')[1]}.dist-info"}


THEIRS = """
\"\"\"A module of another project, which has the name that one of ours has in its package.\"\"\"

OURS = False
"""

THEIR_SPEC = """
from collections.abc import Iterator

import checker
import invariants
import model
import reports
from attrs import evolve, frozen

from leadline.checker import Spec, action, invariant

assert not any(module.OURS for module in (checker, invariants, model, reports))


@frozen
class Light:
    on: bool = False


@action("the light is switched")
def switch(state: Light) -> Iterator[Light]:
    yield evolve(state, on=not state.on)


@invariant("the light is on or off")
def on_or_off(state: Light) -> bool:
    return state.on in (True, False)


spec = Spec(name="light", initial_states=lambda _: [Light()], actions=[switch], properties=[on_or_off])
"""

THEIR_TEST = """
import checker
import invariants
import model
import reports
from light import spec

import leadline.checker
import leadline.reports.testing
from leadline.reports.testing import assert_holds


def test_the_light():
    assert assert_holds(spec).statistics.distinct == 2
    assert assert_holds("atomic/kip-101").statistics.distinct == 1177


def test_no_module_is_taken_for_another():
    assert not any(module.OURS for module in (checker, invariants, model, reports))
    assert not hasattr(leadline.checker, "OURS")
    assert not hasattr(leadline.reports, "OURS")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with modules named as ours are in their package, a spec that imports them, and a test."""
    for name in ("checker.py", "model.py", "invariants.py", "reports/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(THEIRS, encoding="utf-8")
    (tmp_path / "light.py").write_text(THEIR_SPEC, encoding="utf-8")
    (tmp_path / "test_light.py").write_text(THEIR_TEST, encoding="utf-8")
    return tmp_path


def test_the_command_works_beside_a_project_with_modules_of_our_names(installed: Path, project: Path) -> None:
    commands: list[list[str | Path]] = [[installed / "leadline"], [installed / "python", "-m", "leadline"]]
    for command in commands:
        assert "2 distinct states" in run(*command, "explore", "light.py", folder=project)
        assert "1,177 distinct states" in run(*command, "explore", "atomic/kip-101", folder=project)


@pytest.mark.parametrize("mode", sampled(["prepend", "append", "importlib"], 2))
def test_pytest_works_beside_a_project_with_modules_of_our_names(installed: Path, project: Path, mode: str) -> None:
    options = ("-q", "-p", "no:cacheprovider", f"--import-mode={mode}")
    assert "2 passed" in run(installed / "python", "-m", "pytest", *options, folder=project)


@pytest.mark.parametrize(
    ("statement", "module"),
    sampled(
        [
            ("from checker import Spec", "checker"),
            ("import checker.bag", "checker"),
            ("from invariants.catalog import CATALOG", "invariants"),
            ("from reports.testing import assert_holds", "reports"),
        ],
        2,
    ),
)
def test_a_spec_in_the_old_form_ends_in_one_line(installed: Path, tmp_path: Path, statement: str, module: str) -> None:
    (tmp_path / "old.py").write_text(f"{statement}\n", encoding="utf-8")
    (tmp_path / "leadline.toml").write_text('[[check]]\nspec = "old.py"\nexpect = "holds"\n', encoding="utf-8")
    for arguments in (["explore", "old.py"], ["check"]):
        command = [str(installed / "leadline"), *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
        assert "old.py, line 1: " in done.stderr
        assert f"there is no module '{module}'; write \"from leadline.{module} import ...\"" in done.stderr


READ_ONLY = """
mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" "$0" && HOME=/proc XDG_CACHE_HOME=/proc exec "$@"
"""

CACHE = """
import logging, os, sys
logging.basicConfig(format="%(message)s")
import leadline.checker.engines.compiled.kernel
import numba
folder = numba.config.CACHE_DIR
print(os.stat(folder).st_mode & 0o777 == 0o700, folder == os.environ["NUMBA_CACHE_DIR"], folder)
"""


def test_compiled_code_is_kept_for_a_run_where_it_cannot_be_kept_for_longer(tmp_path: Path) -> None:
    """As in a container with a read-only root and no home, in which Numba refuses to compile."""
    copied = tmp_path / "copied"
    shutil.copytree(PROJECT / "src", copied, ignore=shutil.ignore_patterns("__pycache__"))
    command = ["unshare", "-m", "sh", "-c", READ_ONLY, str(copied), sys.executable, "-c", CACHE]
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no process may be given another view of the file system here")
    changes = {"PYTHONPATH": str(copied), "PYTHONDONTWRITEBYTECODE": "1", "PATH": os.environ["PATH"]}
    done = subprocess.run(command, cwd=copied, env=changes, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    private, for_others, folder = done.stdout.split()
    assert (private, for_others) == ("True", "True")
    assert not Path(folder).exists()
    assert "NUMBA_CACHE_DIR" in done.stderr


def test_what_spark_submit_runs_is_the_command(tmp_path: Path) -> None:
    """As a script: Python looks for modules in its folder first."""
    script = Path(__file__).parents[2] / "reports" / "submit.py"
    shown = subprocess.run(
        [sys.executable, str(script), "explore", "atomic/kip-101", "--engine", "oracle"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "holds: every reachable state was searched" in shown.stdout


@pytest.mark.parametrize("links", ["missing, as in an sdist", "text files, as in a clone without symbolic links"])
def test_a_copy_without_links_can_be_installed_as_editable(tmp_path: Path, links: str) -> None:
    build = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    copy = tmp_path / "copy"
    packages = [path for path in build["targets"]["sdist"]["only-include"] if path != "tests"]
    for name in ("pyproject.toml", *packages):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        if (PROJECT / name).is_dir():
            shutil.copytree(PROJECT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(PROJECT / name, copy / name)
    if links.startswith("text"):
        for link in (path for path in (PROJECT / "src" / "leadline").iterdir() if path.is_symlink()):
            (copy / "src" / "leadline" / link.name).write_text(str(link.readlink()), encoding="utf-8")

    venv.create(tmp_path / "fresh", symlinks=True, with_pip=False)
    python = tmp_path / "fresh" / "bin" / "python"
    install = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--editable", copy)
    run(*install, folder=tmp_path)
    share_dependencies(python, tmp_path)
    where = run(python, "-c", "import leadline.reports as it; print(it.__file__)", folder=tmp_path).strip()
    assert Path(where).is_relative_to(copy)
    assert "atomic/kip-320" in run(python, "-m", "leadline", "specs", folder=tmp_path)


ALLOWED = re.compile("MIT|BSD|Apache|PSF|Python Software Foundation|MPL-2.0")
"""The licences of packages that a program with the licence Apache-2.0 may install."""


def test_each_package_that_is_installed_by_default_has_a_licence_that_fits() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    todo, licences = [Requirement(text) for text in project["dependencies"]], dict[str, str]()
    while todo:
        requirement = todo.pop()
        name = canonicalize_name(requirement.name)
        is_needed = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if is_needed and name not in licences:
            data = metadata_of(name)
            named = [text for text in data.get_all("Classifier") or () if text.startswith("License")]
            licences[name] = data["License-Expression"] or " ".join(named) or data["License"]
            todo += map(Requirement, requires(name) or ())
    assert {name: licence for name, licence in licences.items() if not ALLOWED.search(licence)} == {}
    document = (PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = document.partition("## Licences of packages")[2].partition("\n## ")[0]
    assert [name for name in licences if f"`{name}`" not in listed] == []
