"""The partition of __consumer_offsets is one of Kafka's: group specs may keep what it has committed only where the spec
of the same release keeps it.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

from leadline.invariants.families.group import GROUP
from leadline.model.group.releases import GroupColumn
from leadline.model.kafka.published import span
from leadline.model.kafka.releases import RELEASES
from tests.reports.test_cells_and_advice import MATRIX, stored_cells

CELLS = functools.cache(lambda: stored_cells(MATRIX))
ONE_FAILURE = "acks=all; brokers crash or are cut off from the controller"
TWO_CRASHES = "acks=all, three brokers; two crashes"
DOCUMENT = Path(__file__).parents[2] / "model" / "groups.md"


def losing(column: GroupColumn, configuration: str) -> tuple[str, ...]:
    """The releases of a group spec whose partitions lose committed records, according to their own specs."""
    cells = CELLS()
    return tuple(
        version
        for version in column.versions
        if any(
            not cells[configuration, own.name]["committed_never_lost"].startswith("holds")
            for own in RELEASES
            if version in own.versions
        )
    )


@pytest.mark.parametrize("configuration", [ONE_FAILURE, TWO_CRASHES])
def test_the_document_names_the_releases_whose_coordinator_may_lose_what_it_has_committed(configuration: str) -> None:
    found = {column.name: span(versions) for column in GROUP.columns if (versions := losing(column, configuration))}
    section = (
        DOCUMENT.read_text(encoding="utf-8").partition("## The coordinator's own partition")[2].partition("\n## ")[0]
    )
    assert dict(re.findall(r"^\| `(group/\S+)` \| (.+?) \|", section, re.MULTILINE)) == found


def test_the_configurations_are_those_of_the_offsets_topic() -> None:
    """offsets.commit.required.acks is -1, and min.insync.replicas is 1 by default."""
    for configuration in MATRIX.configurations:
        if configuration.name in (ONE_FAILURE, TWO_CRASHES):
            bounds = MATRIX.bounds_of(configuration)
            assert (bounds["acks"], bounds.get("min_insync_replicas", 1)) == ("all", 1)
            assert bounds.get("unclean_elections", 0) == bounds.get("lossy_crashes", 0) == 0


def test_every_release_that_has_groups_has_a_spec_of_its_partitions() -> None:
    known = {version for column in RELEASES for version in column.versions}
    assert {version for column in GROUP.columns for version in column.versions} - known == {"0.10.1.0", "0.10.1.1"}
