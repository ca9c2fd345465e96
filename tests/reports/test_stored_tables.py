"""The digest of stored tables: what it depends on, and what it does not depend on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import attrs
import pytest

from leadline.checker.observing.digest import _Objects
from leadline.checker.spec import Spec
from leadline.invariants.catalog import CATALOG, FAMILIES
from leadline.invariants.families.kafka import KAFKA
from leadline.model.family import Family
from leadline.reports import stored_tables
from leadline.reports.kafka.bugs import Bug, read_archive
from leadline.reports.matrix import SHIPPED, matrix_file


def test_the_digest_of_code_has_all_modules_that_a_family_imports_without_comments_and_docstrings() -> None:
    lines = stored_tables._code([KAFKA.make.__module__])
    names = [line.partition(" ")[0] for line in lines]
    assert {"leadline.invariants.families.kafka", "leadline.model.kafka.rules", "leadline.model.kafka"} <= {*names}
    assert not any("Describe a rule" in line for line in lines)
    assert not any(name.startswith(("leadline.model.txn", "leadline.checker")) for name in names)
    loaded = {name for name in sys.modules if name.startswith(("leadline.model", "leadline.invariants"))}
    assert {*names} <= loaded
    assert "leadline.model.kafka.fetch" in names


WITH_TABLES = {name: family for name, family in FAMILIES.items() if name != "clients"}
"""A property of `clients` keeps the abstract spec, with its drawing. No stored table is of this family."""


@pytest.mark.parametrize("family", WITH_TABLES.values(), ids=WITH_TABLES.keys())
def test_no_search_calls_the_views_that_the_digest_leaves_out(family: Family[Any]) -> None:
    names = {line.partition(" ")[0] for line in stored_tables._code([family.make.__module__])}
    assert not any(name.endswith(stored_tables._VIEWS) for name in names)
    for spec in CATALOG.values():
        if spec.family is family:
            assert own_code(spec) <= names


def own_code(spec: Spec[Any]) -> set[str]:
    """The modules of the model and of the properties in which the functions and classes of a spec are defined."""
    objects = _Objects()
    objects.digest([spec.initial_states, spec.bounds, spec.initials()[0], *spec.actions, *spec.properties])
    return {name for name in objects.modules if name.startswith(("leadline.model", "leadline.invariants"))}


def test_another_family_and_the_words_of_a_bug_do_not_change_the_digest_and_what_is_searched_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = {name: stored_tables.digest_of(matrix_file(Path(name))) for name in ("control", "costs")}
    archive = read_archive()
    bug = archive.about("KIP-380")[0][0]

    def now(changed: Bug) -> dict[str, str]:
        bugs = [changed if each is bug else each for each in archive.bugs]
        monkeypatch.setattr("leadline.reports.kafka.bugs.read_archive", lambda: attrs.evolve(archive, bugs=bugs))
        return {name: stored_tables.digest_of(matrix_file(Path(name))) for name in before}

    assert now(attrs.evolve(bug, sentence="Something else.")) == before
    searched = now(attrs.evolve(bug, bounds={"failovers": 1}))
    assert (searched["control"] != before["control"], searched["costs"]) == (True, before["costs"])


@pytest.mark.parametrize("name", sorted(file.stem for file in stored_tables.FOLDER.glob("*.json")))
def test_the_stored_tables_are_those_of_the_specs_that_there_are(name: str) -> None:
    assert stored_tables.stored_tables(SHIPPED.with_name(f"{name}.toml")) is not None
