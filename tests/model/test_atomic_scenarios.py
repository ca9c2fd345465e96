"""The literature's five counterexamples, told step by step: how each loses data, and what stops it.

The TLA+ specification's run under TLC says how many states each has. Its brokers b1, b2, b3 are 0, 1, 2.
"""

from __future__ import annotations

import attrs
import pytest

from leadline.checker import Spec
from leadline.invariants.catalog import CATALOG
from leadline.invariants.families.atomic import ATOMIC
from leadline.model.atomic.protocols import KIP_279, high_watermark_in_own_epoch
from leadline.model.atomic.state import Partition
from tests.specs.scenario import Scenario


@attrs.frozen
class Chapter:
    """Some steps of a scenario, and the expected state after them.

    Attributes:
        text: what happens, in words.
        steps: the steps.
        logs: each broker's log, with ``┃`` at its high watermark.
        isr: the quorum's ISR.
    """

    text: str
    steps: tuple[str, ...]
    logs: tuple[str, ...]
    isr: set[int]


@attrs.frozen
class Story:
    """A counterexample.

    Attributes:
        protocol: the protocol it breaks.
        bounds: brokers, log size, records and last leader epoch.
        states: how many states it has, the initial one included.
        violates: the invariants that its last state violates.
        complaint: what the last of them says.
        chapters: what happens.
    """

    protocol: str
    bounds: tuple[int, int, int, int]
    states: int
    violates: tuple[str, ...]
    complaint: str
    chapters: tuple[Chapter, ...]

    def under(self, spec: Spec[Partition]) -> Spec[Partition]:
        """A spec with the story's bounds."""
        return spec.with_bounds(dict(zip(("brokers", "log_size", "records", "max_epoch"), self.bounds, strict=True)))

    @property
    def steps(self) -> list[str]:
        return [step for chapter in self.chapters for step in chapter.steps]


STALE_HIGH_WATERMARK = Story(
    protocol="hw-truncation",
    bounds=(2, 1, 1, 1),
    states=10,
    violates=("weak_isr", "strong_isr"),
    complaint="broker 0, which has m0@1 there; broker 1 of the quorum's ISR has no record there",
    chapters=(
        Chapter(
            "0 is elected in epoch 0; the controller removes 1 in epoch 1; 0 leads in epoch 1 and writes a record",
            (
                "controller_elects(broker=0)",
                "controller_shrinks_isr(broker=1)",
                "become_leader(broker=0, epoch=1)",
                "leader_writes(leader=0)",
            ),
            logs=("┃ m0@1", "┃"),
            isr={0},
        ),
        Chapter(
            "1 hears only the old request, follows 0, and is let in at high watermark 0",
            ("become_follower(broker=1, epoch=0)", "leader_expands_isr(leader=0, joining=1)"),
            logs=("┃ m0@1", "┃"),
            isr={0, 1},
        ),
        Chapter(
            "1 fetches the record, and 0 commits it; 1's high watermark is one fetch behind",
            ("replicate(leader=0, follower=1)", "advance_high_watermark(leader=0)"),
            logs=("m0@1 ┃", "┃ m0@1"),
            isr={0, 1},
        ),
        Chapter(
            "1 hears of epoch 1, becomes a follower again and truncates to its stale high watermark",
            ("become_follower(broker=1, epoch=1)",),
            logs=("m0@1 ┃", "┃"),
            isr={0, 1},
        ),
    ),
)

UNKNOWN_EPOCH = Story(
    protocol="kip-101",
    bounds=(2, 2, 2, 2),
    states=12,
    violates=("weak_isr", "strong_isr"),
    complaint="broker 0, which has m0@0 there; broker 1 of the quorum's ISR has no record there",
    chapters=(
        Chapter(
            "three quick elections",
            ("controller_elects(broker=0)", "controller_elects(broker=1)", "controller_elects(broker=0)"),
            logs=("┃", "┃"),
            isr={0, 1},
        ),
        Chapter(
            "in epoch 0, 0 leads and writes, 1 follows and fetches, 0 commits",
            (
                "become_leader(broker=0, epoch=0)",
                "leader_writes(leader=0)",
                "become_follower(broker=1, epoch=0)",
                "replicate(leader=0, follower=1)",
                "advance_high_watermark(leader=0)",
            ),
            logs=("m0@0 ┃", "┃ m0@0"),
            isr={0, 1},
        ),
        Chapter(
            "in epoch 1, 1 leads and writes",
            ("become_leader(broker=1, epoch=1)", "leader_writes(leader=1)"),
            logs=("m0@0 ┃", "┃ m0@0 m1@1"),
            isr={0, 1},
        ),
        Chapter(
            "1 hears that 0 leads in epoch 2; 0, still in epoch 0, knows no end of epoch 1: 1 falls back",
            ("become_follower(broker=1, epoch=2)",),
            logs=("m0@0 ┃", "┃"),
            isr={0, 1},
        ),
    ),
)

STALE_NEW_LEADER = Story(
    protocol="kip-279",
    bounds=(3, 1, 1, 1),
    states=12,
    violates=("strong_isr",),
    complaint="broker 0, which has m0@0 there; broker 1 of the quorum's ISR has no record there",
    chapters=(
        Chapter(
            "0 leads in epoch 0 and drops 1 from the ISR; the controller elects 2 in epoch 1",
            (
                "controller_elects(broker=0)",
                "become_leader(broker=0, epoch=0)",
                "leader_shrinks_isr(leader=0, member=1)",
                "controller_elects(broker=2)",
            ),
            logs=("┃", "┃", "┃"),
            isr={0, 2},
        ),
        Chapter(
            "0, a zombie now, writes; 2, following it in epoch 0 still, fetches; 0 commits",
            (
                "leader_writes(leader=0)",
                "become_follower(broker=2, epoch=0)",
                "replicate(leader=0, follower=2)",
                "advance_high_watermark(leader=0)",
            ),
            logs=("m0@0 ┃", "┃", "┃ m0@0"),
            isr={0, 2},
        ),
        Chapter(
            "2 leads in epoch 1 with high watermark 0, which 1 has reached with an empty log: 1 joins the ISR",
            (
                "become_leader(broker=2, epoch=1)",
                "become_follower(broker=1, epoch=1)",
                "leader_expands_isr(leader=2, joining=1)",
            ),
            logs=("m0@0 ┃", "┃", "┃ m0@0"),
            isr={0, 1, 2},
        ),
    ),
)

ASKING_WHO_DOES_NOT_LEAD = Story(
    protocol="kip-279",
    bounds=(3, 1, 1, 2),
    states=11,
    violates=("weak_isr", "strong_isr"),
    complaint="broker 0, which has m0@2 there; broker 2 of the quorum's ISR has no record there",
    chapters=(
        Chapter(
            "three quick elections; 0 jumps to epoch 2, drops 1 from the ISR and writes",
            (
                "controller_elects(broker=0)",
                "controller_elects(broker=1)",
                "controller_elects(broker=0)",
                "become_leader(broker=0, epoch=2)",
                "leader_shrinks_isr(leader=0, member=1)",
                "leader_writes(leader=0)",
            ),
            logs=("┃ m0@2", "┃", "┃"),
            isr={0, 2},
        ),
        Chapter(
            "2 hears only of epoch 0, where 0 leads too, and fetches; it counts, so 0 commits",
            (
                "become_follower(broker=2, epoch=0)",
                "replicate(leader=0, follower=2)",
                "advance_high_watermark(leader=0)",
            ),
            logs=("m0@2 ┃", "┃", "┃ m0@2"),
            isr={0, 2},
        ),
        Chapter(
            "2 hears of epoch 1 and asks 1, which does not lead anything and has an empty log",
            ("become_follower(broker=2, epoch=1)",),
            logs=("m0@2 ┃", "┃", "┃"),
            isr={0, 2},
        ),
    ),
)

FOLLOWING_AN_OLD_EPOCH = Story(
    protocol="kip-320-first-try",
    bounds=(3, 1, 1, 2),
    states=13,
    violates=("weak_isr", "strong_isr"),
    complaint="broker 0, which has m0@2 there; broker 2 of the quorum's ISR has no record there",
    chapters=(
        *ASKING_WHO_DOES_NOT_LEAD.chapters[:2],
        Chapter(
            "2 hears of epoch 1, and keeps its log until it fetches",
            ("become_follower(broker=2, epoch=1)",),
            logs=("m0@2 ┃", "┃", "┃ m0@2"),
            isr={0, 2},
        ),
        Chapter(
            "1 leads in epoch 1 at last; 2 fetches from it, finds itself longer, and truncates",
            ("become_leader(broker=1, epoch=1)", "truncate(leader=1, follower=2)"),
            logs=("m0@2 ┃", "┃", "┃"),
            isr={0, 2},
        ),
    ),
)

STORIES = {
    "stale high watermark": STALE_HIGH_WATERMARK,
    "unknown epoch": UNKNOWN_EPOCH,
    "stale new leader": STALE_NEW_LEADER,
    "asking who does not lead": ASKING_WHO_DOES_NOT_LEAD,
    "following an old epoch": FOLLOWING_AN_OLD_EPOCH,
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_story_ends_in_its_violation_and_in_no_state_before(story: Story) -> None:
    scenario = Scenario(story.under(CATALOG[f"atomic/{story.protocol}"]))
    for chapter in story.chapters:
        for step in chapter.steps:
            assert not scenario.violations()
            scenario.play([step])
        assert logs(scenario) == chapter.logs, chapter.text
        assert scenario.state.quorum.isr == chapter.isr, chapter.text
    assert len(scenario) == story.states
    violations = scenario.violations()
    assert tuple(violations) == story.violates
    assert violations[story.violates[-1]] == f"offset 0 is below the high watermark 1 of {story.complaint}"


KIP_279_WITH_THE_EXPANSION_RULE = ATOMIC.spec(
    ATOMIC.columns[-1], attrs.evolve(KIP_279, admits=high_watermark_in_own_epoch)
)


@pytest.mark.parametrize(
    ("story", "spec", "step"),
    [
        # The new follower need not follow yet: the request names a leader that does not lead in that epoch.
        (STALE_HIGH_WATERMARK, CATALOG["atomic/kip-320"], "become_follower(broker=1, epoch=0)"),
        (UNKNOWN_EPOCH, CATALOG["atomic/kip-320"], "become_follower(broker=1, epoch=2)"),
        (ASKING_WHO_DOES_NOT_LEAD, CATALOG["atomic/kip-320"], "become_follower(broker=2, epoch=0)"),
        (FOLLOWING_AN_OLD_EPOCH, CATALOG["atomic/kip-320"], "become_follower(broker=2, epoch=0)"),
        # The new leader's high watermark must reach its own epoch before anyone joins the ISR.
        (STALE_NEW_LEADER, CATALOG["atomic/kip-320"], "leader_expands_isr(leader=2, joining=1)"),
        (STALE_NEW_LEADER, CATALOG["atomic/kip-320-first-try"], "leader_expands_isr(leader=2, joining=1)"),
        (STALE_NEW_LEADER, KIP_279_WITH_THE_EXPANSION_RULE, "leader_expands_isr(leader=2, joining=1)"),
    ],
)
def test_mended_protocol_does_not_take_the_step(story: Story, spec: Spec[Partition], step: str) -> None:
    scenario = Scenario(story.under(spec))
    assert scenario.stopped_at(story.steps) == step
    assert not scenario.violations()


@pytest.mark.parametrize(
    ("story", "protocol", "kept"),
    [
        (STALE_HIGH_WATERMARK, "kip-101", ("m0@1 ┃", "┃ m0@1")),
        (STALE_HIGH_WATERMARK, "kip-279", ("m0@1 ┃", "┃ m0@1")),
        (UNKNOWN_EPOCH, "kip-279", ("m0@0 ┃", "┃ m0@0")),
        (ASKING_WHO_DOES_NOT_LEAD, "kip-320-first-try", ("m0@2 ┃", "┃", "┃ m0@2")),
    ],
)
def test_mended_protocol_takes_every_step_and_keeps_the_record(
    story: Story, protocol: str, kept: tuple[str, ...]
) -> None:
    scenario = Scenario(story.under(CATALOG[f"atomic/{protocol}"])).play(story.steps)
    assert len(scenario) == story.states
    assert logs(scenario) == kept
    assert not scenario.violations()


def test_a_broker_that_lost_a_committed_record_leads_next_and_the_logs_stay_different() -> None:
    """What becomes of the first story: leaders come from the ISR, and the high watermark hides the difference."""
    spec = STALE_HIGH_WATERMARK.under(CATALOG["atomic/hw-truncation"]).with_bounds({"max_epoch": 2, "records": 2})
    scenario = Scenario(spec).play(STALE_HIGH_WATERMARK.steps)
    scenario.play(("controller_elects(broker=1)", "become_leader(broker=1, epoch=2)", "leader_writes(leader=1)"))
    scenario.play(("become_follower(broker=0, epoch=2)", "advance_high_watermark(leader=1)"))
    assert logs(scenario) == ("m0@1 ┃", "m1@2 ┃")
    assert scenario.violations()["logs_prefix_consistent"] == (
        "at offset 0, below both high watermarks, broker 0 has m0@1 and broker 1 has m1@2"
    )


def logs(scenario: Scenario[Partition]) -> tuple[str, ...]:
    """Each broker's log, with ``┃`` at its high watermark."""
    return tuple(replica.log.drawn(replica.high_watermark) for replica in scenario.state.replicas)


def test_scenario_refuses_a_step_that_is_not_enabled() -> None:
    scenario = Scenario(CATALOG["atomic/kip-320"])
    with pytest.raises(AssertionError, match=r"step 1, leader_writes\(leader=0\), is not enabled"):
        scenario.play(["leader_writes(leader=0)"])
    assert len(scenario) == 1


def test_scenario_refuses_a_step_that_the_spec_does_not_have() -> None:
    with pytest.raises(AssertionError, match=r"atomic/kip-320 has no step leader_writes\(leader=7\)"):
        Scenario(CATALOG["atomic/kip-320"]).enabled("leader_writes(leader=7)")
