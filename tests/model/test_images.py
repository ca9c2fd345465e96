"""Images of the metadata log: each rule makes the difference that its ticket says, in the releases that it names."""

from __future__ import annotations

import attrs
import pytest

from leadline.checker.engines import explore
from leadline.checker.properties import Property, invariant
from leadline.checker.result import Verdict
from leadline.model.image.rules import DIRECTORIES, OLD
from leadline.model.image.state import Cluster
from leadline.reports.loading import load_spec

ALL = {"image_writable", "snapshot_keeps_image", "same_image"}


@pytest.mark.parametrize(
    ("spec", "bounds", "violated"),
    [
        ("image/3.6.2", {}, set()),
        ("image/3.7.0", {}, {"image_writable"}),
        ("image/3.7.0", {"other": "3.3"}, {"image_writable"}),
        ("image/3.9.1", {}, set()),
        ("image/3.9.1", {"other": "3.3"}, set()),
        ("image/3.9.1", {"other": "3.7"}, {"image_writable", "same_image"}),
        ("image/3.9.1", {"other": "4.0"}, set()),
        ("image/4.1.1", {"reassignments": 0}, {"snapshot_keeps_image", "same_image"}),
        ("image/4.1.1", {"reassignments": 0, "levels": 2}, set()),
        ("image/4.1.1", {"shrinks": 0}, set()),
        ("image/4.1.1+elr=kept", {"reassignments": 0}, set()),
    ],
)
def test_what_holds(spec: str, bounds: dict[str, int | str], violated: set[str]) -> None:
    found: dict[str, Verdict] = {}
    for name in ALL:
        searched = load_spec(spec).with_bounds(bounds).with_properties([name])
        found[name] = explore(searched).verdict
    assert found == {name: Verdict.VIOLATED if name in violated else Verdict.HOLDS for name in ALL}


@invariant("the level has never changed, or only to 3.7-IV2")
def below_elr(state: Cluster) -> bool:
    return all(node.image.level in (OLD, DIRECTORIES) for node in state.nodes)


@invariant("the level has never changed")
def unchanged(state: Cluster) -> bool:
    return all(node.image.level == OLD for node in state.nodes)


@pytest.mark.parametrize(("other", "kept", "violated"), [("3.3", unchanged, None), ("3.7.1", below_elr, unchanged)])
def test_a_level_that_a_node_does_not_support_is_not_reached(
    other: str, kept: Property, violated: Property | None
) -> None:
    """A node of 3.6 or older knows nothing of 3.7-IV2, and one of 3.9 nothing of the ELR."""
    spec = load_spec("image/4.0").with_bounds({"other": other, "reassignments": 0})
    assert explore(attrs.evolve(spec, properties=[kept])).verdict is Verdict.HOLDS
    if violated is not None:
        assert explore(attrs.evolve(spec, properties=[violated])).verdict is Verdict.VIOLATED
