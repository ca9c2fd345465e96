"""Imports go one way, as the design has it: checker, model, invariants or brokers, reports."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

PROJECT = Path(__file__).parents[2]
PACKAGES = ("checker", "model", "invariants", "brokers", "reports")
MAY_IMPORT = {
    "checker": {"checker"},
    "model": {"checker", "model"},
    "invariants": {"checker", "model", "invariants"},
    "brokers": {"checker", "model", "brokers"},
    "reports": {"checker", "model", "invariants", "brokers", "reports"},
}
FOR_PEOPLE = {"cattrs", "click", "rich"}
FOR_SEARCHING = {"hypothesis", "networkx"}
MAY_NOT_USE = {
    "checker": FOR_PEOPLE,
    "model": FOR_PEOPLE | FOR_SEARCHING,
    "invariants": FOR_PEOPLE | FOR_SEARCHING,
    "brokers": FOR_PEOPLE | FOR_SEARCHING,
    "reports": FOR_SEARCHING,
}


def module_name(path: Path) -> str:
    """The name a file is imported by."""
    parts = ("leadline", *path.relative_to(PROJECT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(module: str) -> str:
    """The package of ours that a module belongs to; the top-level name of any other."""
    names = module.split(".")
    return names[1] if names[0] == "leadline" and len(names) > 1 else names[0]


FILES = {module_name(path): path for package in PACKAGES for path in sorted((PROJECT / package).rglob("*.py"))}


def imports_in(text: str, names: set[str] | None = None) -> Iterator[tuple[str, bool | None]]:
    """Every module that a text imports, and whether that happens while the text itself is imported.

    What is imported inside a function does not happen then; for what is imported for type checking only, the answer is
    None, as it never happens. A name that is itself a module counts as that module, not as the package it is imported
    from.
    """

    def walk(node: ast.AST, at_once: bool | None) -> Iterator[tuple[str, bool | None]]:
        match node:
            case ast.Import(names=aliases):
                yield from ((alias.name, at_once) for alias in aliases)
            case ast.ImportFrom(module=module, names=aliases, level=level):
                assert level == 0, "relative imports are not used"
                for alias in aliases:
                    whole = f"{module}.{alias.name}"
                    yield (whole if whole in (names or set()) else str(module)), at_once
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body, orelse=otherwise):
                for inner in body:
                    yield from walk(inner, None)
                for inner in otherwise:
                    yield from walk(inner, at_once)
            case _:
                later = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                for child in ast.iter_child_nodes(node):
                    yield from walk(child, at_once and not later)

    yield from walk(ast.parse(text), True)


@functools.cache
def imports_of(module: str) -> tuple[tuple[str, bool | None], ...]:
    """What `imports_in` finds in one of our files."""
    return tuple(imports_in(FILES[module].read_text(encoding="utf-8"), set(FILES)))


def test_every_package_was_found() -> None:
    assert {package_of(name) for name in FILES} == set(PACKAGES)
    assert {
        "leadline.checker.engines.oracle",
        "leadline.model.atomic.actions",
        "leadline.invariants.catalog",
        "leadline.reports.cli.app",
    } <= set(FILES)


def test_imports_are_found_wherever_they_are() -> None:
    text = (
        "import a, b.c\nfrom d import e\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import f\n"
        "else:\n    import g\ndef h():\n    from i import j\nclass K:\n    import l\n"
    )
    assert list(imports_in(text, {"d.e"})) == [
        ("a", True),
        ("b.c", True),
        ("d.e", True),
        ("typing", True),
        ("f", None),
        ("g", True),
        ("i", False),
        ("l", True),
    ]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_of_ours_only_what_is_below_it(package: str) -> None:
    ours = {*PACKAGES, "tests"}
    wrong = [
        f"{module} imports {imported}"
        for module in FILES
        if package_of(module) == package
        for imported, _ in imports_of(module)
        if package_of(imported) in ours - MAY_IMPORT[package]
    ]
    assert wrong == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_does_not_do_the_work_of_another(package: str) -> None:
    used = {
        package_of(imported) for module in FILES if package_of(module) == package for imported, _ in imports_of(module)
    }
    assert used & MAY_NOT_USE[package] == set()


def test_no_files_import_each_other_in_a_circle() -> None:
    """Also not late, inside functions."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for module in FILES:
        graph.add_edges_from(
            (module, imported) for imported, at_once in imports_of(module) if at_once is not None and imported in FILES
        )
    assert graph.number_of_edges() > 50
    assert [sorted(circle) for circle in nx.strongly_connected_components(graph) if len(circle) > 1] == []
    assert list(nx.selfloop_edges(graph)) == []


FLOORS = (
    *("support", "source", "observing", "liveness", "traces", "engines", "learning", "compiled", "random", "spark"),
    *("conformance", "mutation"),
)
"""The folders of `checker`, from below. Its own modules are beside `source`."""

OTHER_FLOORS = {
    "leadline.checker.errors": 0,
    "leadline.checker.refinement": 3,
    "leadline.checker.engines": 9.5,
    "leadline.checker.stateful": 12,
    "leadline.checker": 12,
}
"""The floors of modules that are not on that of their folder, and of the interfaces, which hand on what is above it."""


def floor_of(module: str) -> float:
    """The floor of a module of `checker`, from 0."""
    folder = FILES[module].parent.name
    return OTHER_FLOORS.get(module, 1 if folder == "checker" else FLOORS.index(folder))


def test_no_folder_of_the_checker_imports_one_above_it() -> None:
    ours = [module for module in FILES if package_of(module) == "checker"]
    upward = [
        (module, imported)
        for module in ours
        for imported, at_once in imports_of(module)
        if imported in ours and at_once is not None and floor_of(imported) > floor_of(module)
    ]
    assert upward == []


def test_only_the_command_line_and_the_loader_know_the_catalog() -> None:
    knowing = {
        module for module in FILES for imported, _ in imports_of(module) if imported == "leadline.invariants.catalog"
    }
    assert knowing == {"leadline.reports.loading", "leadline.reports.cli.completion", "leadline.reports.cli.specs"}


FAMILIES = ("atomic", "control", "group", "image", "kafka", "quorum", "raft", "rpc", "txn")


def constants_in(module: str) -> Iterator[str]:
    """Every string in a file, except docstrings and helps, which may have examples."""
    tree = ast.parse(FILES[module].read_text(encoding="utf-8"))
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    helps = {id(part) for node in ast.walk(tree) if isinstance(node, ast.keyword) for part in ast.walk(node.value)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone | helps:
            yield node.value


def test_reports_know_no_family_outside_their_folder_of_kafka() -> None:
    own = tuple(f"leadline.model.{name}" for name in FAMILIES)
    outside = [
        module
        for module in FILES
        if package_of(module) == "reports" and not module.startswith("leadline.reports.kafka")
    ]
    assert len(outside) > 80
    families = (*own, "leadline.invariants.families")
    assert [(module, name) for module in outside for name, _ in imports_of(module) if name.startswith(families)] == []
    prefixes = tuple(f"{name}/" for name in FAMILIES)
    assert [(module, text) for module in outside for text in constants_in(module) if text.startswith(prefixes)] == []


def test_only_the_commands_of_brokers_import_them_and_only_when_they_run() -> None:
    importing = {
        (module, at_once)
        for module in FILES
        for imported, at_once in imports_of(module)
        if package_of(imported) == "brokers" and package_of(module) != "brokers"
    }
    commands = {f"leadline.reports.cli.{name}" for name in ("conform", "record", "reproduce")}  # imported when they run
    folders = ("leadline.reports.kafka.broker_", "leadline.reports.kafka.conformance")
    needing = commands | {module for module in FILES if module.startswith(folders)}
    assert [module for module, at_once in importing if at_once and module not in needing] == []
    outside = {module: imports_of(module) for module in FILES if module not in needing}
    assert [
        module for module, imports in outside.items() if any(now and name in needing for name, now in imports)
    ] == []
