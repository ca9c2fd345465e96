"""The examples in documents and docstrings work: files run, sessions print what is shown, commands and links exist."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from leadline.checker import Property
from leadline.invariants import images, raft, rolls, situations
from leadline.invariants.families import atomic, clients, control, group, kafka, quorum, txn
from leadline.reports.cli.app import app
from leadline.reports.cli.options import chosen_spec
from tests.disks.clusters import small_cluster, standard_batches
from tests.documents.blocks import DOCUMENTS, PROJECT, Block, blocks, every_block, text_of, write_files
from tests.suite.command import call, environment

SESSIONS = [block for block in every_block("") if block.text.startswith("$ leadline ")]


def without_time(line: str) -> str:
    """A line of output without the seconds at its end."""
    return re.sub(r"\d+\.\d s$", "", line.rstrip())


def write_backup(folder: Path) -> None:
    """The directories of three brokers, of which broker 3 lacks a committed record."""
    cluster = small_cluster(folder / "backup")
    log = cluster.log(3)
    log.segments, log.high_watermark, log.recovery_point = [(0, standard_batches()[:3])], 6, 6
    cluster.write()


def modules_with_examples() -> list[str]:
    """The modules whose docstrings have examples. Pytest would collect all modules to find them, in every worker."""
    folders = ("checker", "model", "invariants", "brokers", "reports")
    files = [file for folder in folders for file in sorted((PROJECT / folder).rglob("*.py"))]
    found = [file.relative_to(PROJECT).with_suffix("") for file in files if " >>> " in file.read_text(encoding="utf-8")]
    return [".".join(("leadline", *file.parts)) for file in found]


@pytest.mark.parametrize("module", modules_with_examples())
def test_the_examples_in_docstrings_are_right(module: str) -> None:
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted
    assert not result.failed


def test_the_readme_is_short() -> None:
    assert len(text_of("README.md").splitlines()) <= 150


PUBLIC = dict(re.findall(r"^\| `([\w.]+)` \| (`\w+`(?:, `\w+`)*) \|$", text_of("checker/README.md"), re.MULTILINE))


def test_the_table_of_imports_names_the_public_modules() -> None:
    assert set(PUBLIC) == {
        "leadline.checker",
        "leadline.checker.conformance",
        "leadline.checker.drawing",
        "leadline.checker.engines",
        "leadline.checker.settings",
        "leadline.checker.stateful",
        "leadline.invariants.catalog",
        "leadline.reports.testing",
    }


@pytest.mark.parametrize("module", PUBLIC)
def test_the_table_of_imports_is_what_the_modules_export(module: str) -> None:
    exported = importlib.import_module(module).__all__
    assert re.findall(r"`(\w+)`", PUBLIC[module]) == sorted(exported)


@pytest.mark.parametrize("block", every_block("python"), ids=str)
def test_every_python_block_is_a_file_that_can_be_run(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert block.file
    write_files(block.document, tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    try:
        defined = runpy.run_path(str(tmp_path / block.file))
    finally:
        for name in set(sys.modules) - before:
            if (tmp_path / f"{name}.py").exists():
                del sys.modules[name]
    assert "spec" in defined or any(name.lower().startswith("test") for name in defined)


@pytest.mark.parametrize(
    "document", [document for document in DOCUMENTS if any(it.file.startswith("test_") for it in blocks(document))]
)
def test_the_tests_that_a_document_shows_pass(document: str, tmp_path: Path) -> None:
    write_files(document, tmp_path)
    files = [block.file for block in blocks(document) if block.file.startswith("test_")]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files],
        cwd=tmp_path,
        env=environment(PYTHON_CPU_COUNT="1"),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    shown = sum(len(re.findall(r"^(?:def test_|Test)\w+(?:\(| = )", it.text, re.MULTILINE)) for it in blocks(document))
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"{shown} passed" in run.stdout


@pytest.mark.parametrize("block", SESSIONS, ids=str)
def test_a_session_is_what_the_commands_say(block: Block, tmp_path: Path) -> None:
    """Assert that the output has each line shown, in this order; ``...`` means that lines were left out."""
    write_files(block.document, tmp_path)
    if " backup" in block.text:
        write_backup(tmp_path)
    _, *commands = re.split(r"^\$ leadline ", block.text, flags=re.MULTILINE)
    for command_and_output in commands:
        line, *shown = command_and_output.rstrip("\n").split("\n")
        run = call(*shlex.split(line), folder=tmp_path)
        assert re.fullmatch(r"(leadline: .* is violated; its trace of \d+ states is shortened later\n)*", run.err)
        assert any(text.strip() not in ("", "...") for text in shown), f"{line}: nothing of what it says is shown"
        rest = iter([without_time(text) for text in run.out.split("\n")])
        for text in shown:
            if text.strip() != "...":
                assert without_time(text) in rest, f"{line}: not said, or not there: {text}"


@pytest.mark.parametrize("block", every_block("toml"), ids=str)
def test_every_suite_ends_as_expected(block: Block, tmp_path: Path) -> None:
    write_files(block.document, tmp_path)
    (tmp_path / "leadline.toml").write_text(block.text, encoding="utf-8")
    run = call("check", folder=tmp_path)
    assert run.code == 0, run.out + run.err
    assert "checks as expected" in run.out


def commands_of(document: str) -> list[str]:
    """The `leadline` commands in the blocks and sentences of a document, without those in sessions, which are run."""
    text = text_of(document)
    found = []
    for block in blocks(document, ""):
        joined = re.sub(r" \\\n +", " ", block.text)
        found += re.findall(r"^(?:spark-submit .*?submit\.py|leadline) ([a-z].*?)(?:  +#.*)?$", joined, re.MULTILINE)
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return found + re.findall(r"`leadline ([a-z][^`]*)`", prose)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_and_its_options_exist(document: str) -> None:
    for line in commands_of(document):
        name, *arguments = shlex.split(line.replace("\n", " ").replace("|", "_"))
        found = app.get_command(click.Context(app), name)
        assert found is not None
        needed = [item for item in found.params if item.required]
        if arguments or not needed:
            given = found.make_context(name, arguments).params
            for key in ("spec", "first", "second", "what"):
                if re.match("(atomic|control|group|image|kafka|quorum|rpc|txn)/", given.get(key) or ""):
                    rules = given.get("rules")  # `leadline conform --rules` is a flag
                    spec = "+".join([given[key], *(rules if isinstance(rules, tuple) else ())])
                    chosen_spec(spec, given.get("bounds", ()), given.get("names", ()), no_invariants=False)


FAMILIES = {
    "`kafka`, `rpc`": (*kafka.PROPERTIES, *kafka.OPTIONAL, *situations.SITUATIONS),
    "`kafka`": (*kafka.KRAFT_PROPERTIES, *kafka.KRAFT_OPTIONAL, *rolls.PROPERTIES, *rolls.WITNESSES),
    "`atomic`": (*atomic.PROPERTIES, *atomic.LIVENESS),
    "`txn`": (*txn.PROPERTIES, *txn.LIVENESS),
    "`group`": (*group.PROPERTIES, *group.BY_DESIGN, *group.LIVENESS),
    "`control`": (*control.PROPERTIES, *control.OPTIONAL),
    "`quorum`": (*quorum.PROPERTIES, *quorum.OPTIONAL, *raft.SITUATIONS),
    "`image`": images.PROPERTIES,
    "`clients`": clients.PROPERTIES,
}
PROPERTIES = {item.name: item for properties in FAMILIES.values() for item in properties}


@pytest.mark.parametrize("item", PROPERTIES.values(), ids=PROPERTIES)
def test_the_table_of_properties_is_that_of_the_catalog(item: Property) -> None:
    families = ", ".join(family for family, properties in FAMILIES.items() if item in properties)
    file = f"{item.function.__module__.rpartition('.')[2]}.py"
    row = f"| `{item.name}`: {item.sentence} | {item.kind.value} | {families} | [`{file}`]({file}) |"
    assert row in text_of("invariants/README.md").splitlines()


def test_the_table_of_the_audit_names_properties_that_there_are() -> None:
    (table,) = re.findall(r"^\| checks of \|.*?\n\n", text_of("invariants/README.md"), re.MULTILINE | re.DOTALL)
    names = re.findall(r"`(\w+)`", table)
    defined = {name for path in (PROJECT / "invariants").rglob("*.py") for name in defined_in(path)}
    assert len(names) > 20
    assert set(names) <= defined


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_target_of_make_exists(document: str) -> None:
    targets = re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for target in re.findall(r"(?:`|^)make ([a-z-]+)", text_of(document), re.MULTILINE):
        assert target in targets


def anchors(document: str) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", text_of(document), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_leads_somewhere(document: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(document)):
        if not target.startswith("https://"):
            path, _, anchor = target.partition("#")
            linked = (PROJECT / document).parent / path if path else PROJECT / document
            assert linked.exists(), target
            if anchor:
                assert anchor in anchors(str(linked.resolve().relative_to(PROJECT))), target


def defined_in(path: Path) -> set[str]:
    """The functions and classes of a file, methods as ``Class.method``."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
    return found


def test_every_stop_of_the_walks_is_in_the_code() -> None:
    stops = re.findall(r"\[`([\w/.]+)`\]\(([\w/.]+)\), `([\w.]+)`", text_of("CONTRIBUTING.md"))
    assert len(stops) > 20
    for shown, linked, name in stops:
        assert shown == linked
        if shown.endswith(".py"):
            assert name in defined_in(PROJECT / shown), f"{shown} has no {name}"
        else:
            assert name in (PROJECT / shown).read_text(encoding="utf-8")
