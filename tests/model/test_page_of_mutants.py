"""The page of mutants matches the catalog; `make pages` writes it again."""

from __future__ import annotations

import html
from collections.abc import Sequence

import pytest

from leadline.checker.bounds import bounds_text
from leadline.checker.properties import Property
from leadline.invariants.catalog import find, mutations
from leadline.invariants.families.atomic import PROPERTIES as ATOMIC_PROPERTIES
from leadline.invariants.families.kafka import PROPERTIES as KAFKA_PROPERTIES
from leadline.invariants.families.txn import PROPERTIES as TXN_PROPERTIES
from leadline.reports.mutation import why_it_stays
from tests.documents.page_of_mutants import page

SPECS = (
    "kafka/4.1",
    "rpc/kip-320",
    "atomic/kip-320",
    "txn/kip-890-2",
    "txn/kip-890-1+time_out=re-initialise",
    "control/2.4",
    "control/4.1",
    "quorum/3.9.1",
)


def properties_of(spec: str) -> Sequence[Property]:
    found = find(spec)
    assert found is not None
    return found.properties


def test_the_page_has_the_specs_of_the_catalog_whose_mutants_are_known() -> None:
    assert tuple(page()) == SPECS


@pytest.mark.parametrize("spec", SPECS)
def test_every_mutant_of_the_catalog_is_killed_or_explained(spec: str) -> None:
    known, found = {each.name: each for each in mutations(spec)}, page()[spec].mutants
    assert set(found) == set(known)
    for name, row in found.items():
        assert row.bounds == (bounds_text(known[name].bounds) or "default")
        if known[name].harmless:
            assert row.result == "explained", name
            assert not row.violated
            assert row.text.endswith(f"explained: {known[name].harmless}")
        else:
            assert row.result in ("killed", "killed by an error"), name
            assert bool(row.violated) == (row.result == "killed")


@pytest.mark.parametrize("spec", SPECS)
def test_what_properties_kill_is_what_kills_mutants(spec: str) -> None:
    said = page()[spec]
    assert set(said.kills) == {item.name for item in properties_of(spec)}
    for name, count in said.kills.items():
        kills = [mutant for mutant, row in said.mutants.items() if name in row.violated]
        whole = [each for each in kills if "may be violated later" not in said.mutants[each].text]
        assert count == len(kills), name
        assert said.alone[name] == [each for each in whole if len(said.mutants[each].violated) == 1]


def test_every_property_alone_kills_a_mutant_or_says_why_it_stays() -> None:
    for item in {*KAFKA_PROPERTIES, *ATOMIC_PROPERTIES, *TXN_PROPERTIES}:
        needed = [spec for spec, said in page().items() if said.alone.get(item.name)]
        assert item.kind.is_witness or needed or why_it_stays(item), item.name


@pytest.mark.parametrize("spec", SPECS)
def test_the_page_gives_the_reasons_of_the_docstrings(spec: str) -> None:
    said = page()[spec]
    for item in properties_of(spec):
        if not item.kind.is_witness and not said.alone[item.name]:
            assert html.unescape(said.said[item.name]) == why_it_stays(item)
