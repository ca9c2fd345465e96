"""`leadline advise` on KRaft's controllers: what their metadata log can lose, and what that costs partitions."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import jsonschema
import pytest

from leadline.checker.errors import LeadlineError
from leadline.reports.document.markdown import markdown
from leadline.reports.kafka.advice.advice import advise
from leadline.reports.kafka.advice.cluster import clusters
from leadline.reports.kafka.advice.decisions import Decider, Status
from leadline.reports.kafka.advice.document import advice_document
from leadline.reports.kafka.advice.json_advice import SCHEMA, advice_object
from leadline.reports.kafka.advice.quorum import QuorumAdvice, advise_quorum
from leadline.reports.kafka.advice.settings import Settings, read_settings
from leadline.reports.kafka.bugs import Archive
from leadline.reports.origin import Origin

KRAFT = "process.roles=broker,controller\n"
STATIC = KRAFT + "controller.quorum.voters=1@a:9093\n"
DYNAMIC = KRAFT + "controller.quorum.bootstrap.servers=a:9093,b:9093,c:9093\n"


def decider(seconds: float = 600) -> Decider:
    return Decider(Archive(bugs=[]), seconds, lambda _: nullcontext(lambda _: None))


def read(folder: Path, text: str) -> Settings:
    file = folder / "server.properties"
    file.write_text(text)
    return read_settings(file)


def advised(folder: Path, text: str, release: str, seconds: float = 600) -> QuorumAdvice | None:
    settings = read(folder, text)
    _, after = clusters(release, release, settings)
    return advise_quorum(after, settings.voters, decider(seconds))


def test_one_controller_loses_what_is_committed_with_its_disk_but_not_with_power(tmp_path: Path) -> None:
    advice = advised(tmp_path, STATIC, "3.9")
    assert advice is not None
    assert (advice.voters.number, advice.voters.dynamic) == (1, False)
    assert advice.voters.origin == "controller.quorum.voters (server.properties:2)"
    possible, avoided = Status.POSSIBLE, Status.AVOIDED
    assert [each.decision.status for each in advice.losses] == [possible, possible, avoided, avoided]
    assert [each.decision.status for each in advice.costs] == [possible] * 3
    assert "the disk of node 0 is replaced by an empty one" in advice.losses[0].steps
    for each in advice.costs:
        assert "the metadata log loses its newest 1 committed records" in each.steps
        assert "metadata_rolls_back=1" in each.decision.command


def test_a_dynamic_voter_is_known_by_its_directory(tmp_path: Path) -> None:
    advice = advised(tmp_path, DYNAMIC, "3.9")
    assert advice is not None
    disk, cut, *_ = advice.losses
    assert (disk.decision.status, cut.decision.status) == (Status.AVOIDED, Status.POSSIBLE)
    assert "dynamic=true" in disk.decision.command


def test_releases_before_3_9_have_no_dynamic_voters(tmp_path: Path) -> None:
    with pytest.raises(LeadlineError, match=r"Kafka 3\.8 needs controller\.quorum\.voters"):
        advised(tmp_path, DYNAMIC, "3.8")


def test_nothing_is_said_of_controllers_that_no_file_names(tmp_path: Path) -> None:
    assert advised(tmp_path, KRAFT, "4.1") is None
    assert advised(tmp_path, "zookeeper.connect=a:2181\n", "3.8") is None


def test_a_search_that_takes_too_long_decides_nothing(tmp_path: Path) -> None:
    advice = advised(tmp_path, DYNAMIC, "4.1", seconds=0.001)
    assert advice is not None
    assert advice.is_undecided
    assert {each.decision.status for each in advice.losses} == {Status.UNDECIDED}


def test_the_object_and_the_document_have_what_is_said_of_controllers(tmp_path: Path) -> None:
    settings = read(tmp_path, STATIC)
    advice = advise(*clusters("3.9", "3.9", settings), settings, Archive(bugs=[]), decider())
    assert advice.quorum is not None
    content = advice_object(advice, Origin("", "", ""))
    jsonschema.validate(content, json.loads(SCHEMA.read_text()))
    page = markdown(advice_document(advice))
    assert "the metadata log: 1 static voter" in page
    for each in (*advice.quorum.losses, *advice.quorum.costs):
        assert each.what in page
        assert each.decision.command in page
        assert each.decision.command in json.dumps(content)
