"""`leadline conform`: what it prints and writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from leadline.reports.kafka.conformance.objects import SCHEMA
from tests.conformance.long import long_recording
from tests.conformance.test_recordings import RECORDINGS
from tests.suite.command import call
from tests.suite.page_text import text_of_html


def recording(name: str) -> str:
    return str(RECORDINGS / f"{name}.jsonl")


def test_without_a_spec_all_releases_are_followed(tmp_path: Path) -> None:
    run = call("conform", recording("KAFKA-13141-2.8.0"), "--json", "result.json", "--html", "p.html", folder=tmp_path)
    assert (run.code, run.err) == (0, "")
    assert "the recording conforms to kafka/2.8: 30 observations, " in run.out
    rejected = "does not conform at observation 20: broker 1 proposes ISR [0, 1] to the controller"
    assert f"kafka/2.8.1 to kafka/3.9-zk  {rejected}" in [line.strip() for line in run.out.splitlines()]
    result = json.loads((tmp_path / "result.json").read_text())
    assert [spec["spec"] for spec in result["specs"] if spec["answer"] == "conforms"] == ["kafka/2.8"]
    assert "broker 1 handles the fetch response" in (tmp_path / "p.html").read_text()


def test_a_rejection_is_explained(tmp_path: Path) -> None:
    path = recording("KAFKA-13141-2.8.0")
    run = call(
        "conform", path, "--spec", "kafka/2.8.1", "--junit", "report.xml", "--html", "page.html", folder=tmp_path
    )
    assert (run.code, run.err) == (1, "")
    lines = [line.strip() for line in run.out.splitlines()]
    assert "broker 1 proposes ISR [0, 1] to the controller" in lines
    assert any(
        line.startswith("- broker 1 cannot propose broker 0: it has learned no log end offset") for line in lines
    )
    assert any(line.startswith(">   543") and "AlterPartition request, 1 to 2" in line for line in lines)
    assert "diverging_fetch: what a leader does with the offset of a diverging fetch" in lines
    assert "kafka/2.8.1 has 'ignored': it ignores the offset" in lines
    assert any(line.endswith("but the answer never reaches broker 0 [frames 539, 540]") for line in lines)
    assert "(up to Kafka 3.1, AlterPartition requests are called AlterIsr)" in lines
    assert any(line.startswith("these brokers behaved as with 'counted': ") and "KAFKA-13141" in line for line in lines)
    (case,) = ElementTree.parse(tmp_path / "report.xml").iter("testcase")
    (failure,) = case.iter("failure")
    assert "broker 1 proposes ISR [0, 1]" in failure.attrib["message"]
    page = (tmp_path / "page.html").read_text()
    assert "the logs diverge: on the leader, epoch 0 ends at offset 0" in page
    steps = page.count("<section ")
    assert f'data-start="t1-s{steps}"' in page  # it opens at the step that is not possible
    last = page[page.index(f'<section id="t1-s{steps}"') :]
    assert "broker 1 proposes ISR [0, 1] to the controller" in last.split("</h2>")[0]
    assert "the last step is not possible in kafka/2.8.1</strong>: broker 1 cannot propose broker 0" in last
    shown = text_of_html(page)
    missing = [line for line in run.out.splitlines() if " ".join(line.split()) not in shown]
    assert missing == ["saved report.xml", "saved page.html"]


def test_a_rejection_that_no_rule_explains_says_so(tmp_path: Path) -> None:
    """The high watermark in one answer is one higher than brokers of any release could have told."""
    text = Path(recording("KIP-101-0.11.0.3")).read_text(encoding="utf-8")
    answer = '"HighWatermark": 1'
    assert answer in text
    (tmp_path / "run.jsonl").write_text(text.replace(answer, '"HighWatermark": 2', 1), encoding="utf-8")
    run = call("conform", "run.jsonl", "--spec", "kafka/0.11", "--json", "result.json", folder=tmp_path)
    assert run.code == 1
    assert "no other value of a single rule explains it" in run.out
    assert json.loads((tmp_path / "result.json").read_text())["explained_by"] == []


def test_rules_are_not_tried_in_long_recordings(tmp_path: Path) -> None:
    long_recording(tmp_path / "run.jsonl", 150)
    lines = (tmp_path / "run.jsonl").read_text(encoding="utf-8").splitlines()
    last = json.loads(lines[-2])
    last["body"]["Responses"][0]["Partitions"][0]["HighWatermark"] += 1
    lines[-2] = json.dumps(last)
    (tmp_path / "run.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    run = call("conform", "run.jsonl", "--spec", "kafka/3.9", "--json", "result.json", folder=tmp_path)
    assert run.code == 1
    assert "single rule" not in run.out
    assert json.loads((tmp_path / "result.json").read_text())["explained_by"] is None


def test_rules_are_confirmed_if_every_other_value_is_rejected(tmp_path: Path) -> None:
    run = call(
        "conform", recording("KAFKA-14617-3.5.0"), "--spec", "kafka/3.5", "--rules", "--json", "-", folder=tmp_path
    )
    assert (run.code, run.err) == (0, "")
    rules = {rule["rule"]: rule for rule in json.loads(run.out)["rules"]}
    assert rules["isr_eligibility"]["confirmed"]
    assert rules["shrink_epoch"]["confirmed"]
    assert not rules["list_offsets"]["confirmed"]


def test_a_limit_leaves_a_recording_undecided(tmp_path: Path) -> None:
    path = recording("KAFKA-13141-2.8.0")
    run = call("conform", path, "--spec", "kafka/2.8", "--max-states", "1", folder=tmp_path)
    assert run.code == 3
    assert "more than 1 states are possible at one observation" in run.out


@pytest.mark.parametrize(
    ("arguments", "answers", "code"),
    [
        (["KAFKA-13141-2.8.0"], {"conforms", "does not conform"}, 0),
        (["KAFKA-13141-2.8.0", "--spec", "kafka/2.8.1"], {"does not conform"}, 1),
        (["KAFKA-13141-2.8.0", "--spec", "kafka/2.8", "--max-states", "1"], {"undecided"}, 3),
        (["KAFKA-14617-3.5.0", "--spec", "kafka/3.5", "--rules"], {"conforms"}, 0),
    ],
    ids=["releases", "rejected", "undecided", "rules"],
)
def test_the_json_object_follows_its_schema(arguments: list[str], answers: set[str], code: int, tmp_path: Path) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    run = call("conform", recording(arguments[0]), *arguments[1:], "--json", "-", folder=tmp_path)
    content = json.loads(run.out)
    jsonschema.validate(content, schema)
    assert (content["format"], content["format_version"]) == ("leadline conform", 1)
    assert run.code == content["exit_code"] == code
    assert {spec["answer"] for spec in content["specs"]} == answers
    assert bool(content["rules"]) is ("--rules" in arguments)
    described = {"": content, "spec": content["specs"][-1], "rejection": content["specs"][-1]["rejection"]}
    described["rule"] = content["rules"][0] if content["rules"] else None
    for name, part in described.items():
        if part is not None:
            assert set(part) == set((schema["$defs"][name] if name else schema)["properties"]), name
            for field in part:
                lacking = {other: value for other, value in part.items() if other != field}
                with pytest.raises(jsonschema.ValidationError, match=f"'{field}' is a required property"):
                    jsonschema.validate(lacking, {**schema, **schema["$defs"][name]} if name else schema)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            '"FetchOffset": ',
            '"Offset": ',
            "frame 539: FetchOffset is missing; see brokers/recording.md",
        ),
        ('"Isr": [0, 1]', '"Isr": [0, 7]', "an ISR names broker 7, which has no replica"),
        ('"event": "end"', '"event": "other"', "is not a complete recording"),
    ],
    ids=["field", "broker", "cut"],
)
def test_what_cannot_be_followed_is_one_line(before: str, after: str, message: str, tmp_path: Path) -> None:
    text = Path(recording("KAFKA-13141-2.8.0")).read_text()
    assert before in text
    (tmp_path / "changed.jsonl").write_text(text.replace(before, after))
    run = call("conform", "changed.jsonl", "--spec", "kafka/2.8", folder=tmp_path)
    assert (run.code, run.out) == (2, "")
    assert message in run.err
    assert len(run.err.strip().splitlines()) == 1


@pytest.mark.parametrize("release", ["9.9.9", "4.1.1", "2.8.0+elr=on", 28])
def test_a_release_that_the_model_does_not_have_is_refused(release: object, tmp_path: Path) -> None:
    """Any other release could be taken for it. 4.1.1 is known, but not with ZooKeeper."""
    first, *others = Path(recording("KAFKA-13141-2.8.0")).read_text(encoding="utf-8").splitlines()
    header = json.dumps(json.loads(first) | {"release": release})
    (tmp_path / "r.jsonl").write_text("\n".join([header, *others, ""]), encoding="utf-8")
    run = call("conform", "r.jsonl", folder=tmp_path)
    assert (run.code, run.out) == (2, "")
    assert run.complaint == (
        f"r.jsonl:1: the model has no release {release!r} with ZooKeeper: pass --spec with the release to check "
        "against, such as kafka/3.9-zk"
    )
    assert call("conform", "r.jsonl", "--spec", "kafka/2.8", folder=tmp_path).code == 0


def test_a_recording_of_a_mix_has_to_say_which_release_runs_where(tmp_path: Path) -> None:
    first, *others = Path(recording("KAFKA-13141-2.8.0")).read_text(encoding="utf-8").splitlines()
    header = json.dumps(json.loads(first) | {"release": "2.7.1..2.8.1"})
    (tmp_path / "r.jsonl").write_text("\n".join([header, *others, ""]), encoding="utf-8")
    run = call("conform", "r.jsonl", folder=tmp_path)
    assert (run.code, run.out) == (2, "")
    assert run.complaint == "r.jsonl: no event 'runs' says which release node 0 runs: see brokers/recording.md"


def test_lines_are_wrapped_between_words_on_a_terminal(tmp_path: Path) -> None:
    arguments = ("conform", recording("KAFKA-13141-2.8.0"), "--spec", "kafka/2.8.1")
    whole = call(*arguments, folder=tmp_path).out
    assert max(map(len, whole.splitlines())) > 80
    wrapped = call(*arguments, folder=tmp_path, COLUMNS="80").out
    path = arguments[1]
    assert max(len(line) for line in wrapped.splitlines() if path not in line) <= 80
    assert wrapped.split() == whole.split()
    assert "    these brokers behaved as with 'counted': it takes the offset as the\n      follower's log" in wrapped


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.jsonl"], "missing.jsonl cannot be read"),
        (["other.jsonl"], "other.jsonl is not a recording"),
        (
            [recording("KAFKA-13141-2.8.0"), "--spec", "kafka/3.9"],
            "was recorded with ZooKeeper: pass a release with ZooKeeper, such as kafka/3.9-zk",
        ),
        ([recording("KAFKA-13141-2.8.0"), "--spec", "kafka/2.8.7"], "'kafka/2.8.7' is not a known release"),
        ([recording("KAFKA-13141-2.8.0"), "--spec", "rpc/kip-320"], "'rpc/kip-320' is not a known release"),
        ([recording("KAFKA-13141-2.8.0"), "--partition", "u-0"], "has no partition 'u-0': choose from t-0"),
    ],
    ids=["missing", "other", "controller", "unknown", "design", "partition"],
)
def test_mistakes_are_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_text('{"format": "other"}\n')
    run = call("conform", *arguments, folder=tmp_path)
    assert (run.code, run.out) == (2, "")
    assert message in run.err
    assert len(run.err.strip().splitlines()) == 1
