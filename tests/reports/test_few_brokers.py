"""The warning that a changed release was searched with too few brokers."""

from __future__ import annotations

import re
from pathlib import Path

import attrs
import pytest

from leadline.checker.errors import LeadlineError
from leadline.invariants.families.kafka import KAFKA
from leadline.model.kafka.mistakes import one_below_the_high_watermark
from leadline.model.kafka.releases import column_of
from leadline.reports.kafka.known_bugs import refuse_unclaimed, too_few_brokers
from leadline.reports.loading import load_spec
from tests.suite.command import call

COLUMN = column_of("kafka/4.3")
assert COLUMN is not None
EARLY = KAFKA.spec(COLUMN, attrs.evolve(COLUMN.protocol(), name="early", admits=one_below_the_high_watermark))
EARLY = attrs.evolve(EARLY, column=None)  # as in a file of one's own

SAID = (
    "with min_insync_replicas=2 and 2 brokers, records are acknowledged only while every replica is in the ISR: try "
    "-b brokers=3, too"
)


def test_a_changed_release_is_searched_with_more_brokers_than_min_insync_replicas() -> None:
    assert too_few_brokers(EARLY.with_bounds({"min_insync_replicas": 2})) == SAID
    assert (
        too_few_brokers(load_spec("kafka/4.3+isr_join=high-watermark").with_bounds({"min_insync_replicas": 2})) == SAID
    )
    for bounds in ({}, {"min_insync_replicas": 2, "brokers": 3}, {"min_insync_replicas": 2, "acks": "1"}):
        assert too_few_brokers(EARLY.with_bounds(bounds)) == "", bounds


def test_a_release_and_another_family_have_no_such_warning() -> None:
    assert too_few_brokers(load_spec("kafka/4.3").with_bounds({"min_insync_replicas": 2})) == ""
    assert too_few_brokers(load_spec("txn/4.0")) == ""


def test_the_warning_stands_beside_the_verdict(tmp_path: Path) -> None:
    bounds = "records=1,max_epoch=0,crashes=0,min_insync_replicas=2"
    run = call("explore", "kafka/4.3+isr_join=high-watermark", "-b", bounds, "-i", "weak_isr", folder=tmp_path)
    assert f"holds: every reachable state was searched; {SAID}" in run.out.replace("\n", " ")


@pytest.mark.parametrize(
    ("release", "added"),
    [
        ("kafka/2.4.1", "low_hw=start"),
        ("kafka/2.3", "fetch_failure=partition"),
        ("kafka/1.1.0", "retention=high-watermark+response_start=after-records+low_hw=start-of-leader"),
        ("kafka/1.1.1", "retention=high-watermark+low_hw=start-of-leader"),
    ],
)
def test_a_release_with_other_rules_for_starts_than_its_column_is_refused(release: str, added: str) -> None:
    starts = {"deletes": 1}
    with pytest.raises(LeadlineError, match=re.escape(f"add +{added}")):
        refuse_unclaimed(load_spec(release).with_bounds(starts))
    refuse_unclaimed(load_spec(f"{release}+{added}").with_bounds(starts))
    refuse_unclaimed(load_spec(release))


def test_the_first_release_of_a_column_has_its_rules_for_starts() -> None:
    for release in ("kafka/0.11", "kafka/0.11.0.0", "kafka/2.4.0", "kafka/2.2", "kafka/2.2.2", "kafka/4.4.0"):
        refuse_unclaimed(load_spec(release).with_bounds({"retentions": 1}))


def test_failed_directories_are_refused_in_a_release_that_does_more_with_them(tmp_path: Path) -> None:
    """KAFKA-16234: 3.7.0 can create a log again in another directory."""
    bounds = ("-b", "lost_directories=1", "--max-states", "10")
    run = call("explore", "kafka/3.7.0", *bounds, folder=tmp_path)
    assert (run.code, "kafka/3.7.0 with lost_directories=1: 3.7.0 can create a log again" in run.err) == (2, True)
    assert call("explore", "kafka/3.7.1", *bounds, folder=tmp_path).code == 3
    suite = '[[check]]\nname = "x"\nspec = "kafka/3.7.0"\nexpect = "holds"\nbounds = { lost_directories = 1 }\n'
    (tmp_path / "leadline.toml").write_text(suite)
    assert "lost_directories=1" in call("check", folder=tmp_path).err
