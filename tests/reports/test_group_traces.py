"""Traces of consumer groups: what happened names who believes what, and who waits for whom."""

from __future__ import annotations

from typing import Any

from leadline.checker.engines import ENGINES
from leadline.checker.result import Limits
from leadline.checker.settings import CompiledSettings
from leadline.checker.trace import Trace
from leadline.reports.loading import load_spec
from leadline.reports.traces.spacetime import losses
from leadline.reports.traces.story import story_of


def violated(reference: str, name: str, **bounds: object) -> Trace[Any]:
    """Return a shortest trace to the violation of a property."""
    spec = load_spec(reference).with_bounds(bounds).with_properties([name])
    return ENGINES["compiled"](spec, Limits(), None, CompiledSettings(workers=1)).properties[0].traces[0]


def test_a_lost_response_leaves_a_belief_that_is_named() -> None:
    story = story_of(violated("group/4.4-consumer", "owned_by_one_member"))
    told = {(event.state + 1, event.label): event.text for event in story.happened}
    assert told[5, "revoke"] == "member 0 shall revoke [1] first"
    belief = "Consumer 0 goes on to take [1], as it was told before"
    assert told[6, "stale"] == f"member 0 reports []: the coordinator takes [1] for revoked. {belief}"
    assert told[7, "stale"] == "consumer 0 takes partition 1, which is assigned to nobody"
    assert told[8, "stale"] == "consumer 0 still reads [1]"
    waits = [frame.rows["coordinator"].columns["waits"] for frame in story.frames]
    assert waits == ["-", "-", *["m1 for p1 of m0"] * 3, *["m1 for p1"] * 2, *["-"] * 3]


def test_a_static_member_that_restarts_takes_its_place_without_a_rebalance() -> None:
    others: dict[str, object] = dict.fromkeys(("pauses", "leaves", "failovers", "mutes", "rejoins"), 0)
    story = story_of(violated("group/3.4.1", "stable_at_rest", static=True, cooperative=True, **others))
    told = {event.label: event.text for event in story.happened}
    assert told["stable"].endswith("[0] to member 0, [] to member 1; [1] is assigned to nobody")
    assert told["replaced"] == (
        "member 2 takes the place of member 0, which has the same group.instance.id, without a rebalance; "
        "[1] is assigned to nobody"
    )
    steps = zip(story.frames, story.frames[1:], strict=False)
    assert [text for was, now in steps for text in losses(was.rows, now.rows)] == [], "partitions have no offsets"


def test_a_revocation_is_said_to_be_ignored_only_if_it_is() -> None:
    none: dict[str, object] = dict.fromkeys(("crashes", "pauses", "failovers", "mutes"), 0)
    ignored = violated("group/3.7-consumer", "revocation_seen", leaves=0, **none)
    assert "ignored" in {event.label for event in story_of(ignored).happened}
    both: dict[str, object] = {"perturbations": 2, "delayed": 1, "any_target": True, "leaves": 0, **none}
    noticed = {event.label for event in story_of(violated("group/4.4-consumer", "commit_by_holder", **both)).happened}
    assert ("revoked" in noticed, "ignored" in noticed) == (True, False)
