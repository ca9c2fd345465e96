"""`leadline record --request-log`: the files of real clusters' request loggers, and what cannot be converted.

The files are from brokers 0 to 3 of Kafka 1.1.1 to 2.8.2, of which broker 3 is the controller, and from brokers 0 to 2
and the KRaft controller 100 of Kafka 3.9.1, with a copy of its metadata log. The leader, broker 0, is killed after
three records, broker 1 is elected, and broker 0 starts again. In 3.9.1, broker 2 is then shut down, and starts again.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from leadline.brokers.request_logs.lives import Return, returns
from leadline.brokers.request_logs.request import Request
from leadline.brokers.request_logs.states import state_writes
from leadline.brokers.request_logs.text import NotText, read_text
from leadline.reports.cli import record
from tests.conformance.metadata_definitions import metadata_definitions
from tests.suite.command import call

LOGS = Path(__file__).parent / "request_logs"
OF_2_8 = LOGS / "2.8.2"
AT = "[2026-11-27 02:25:03,491]"
NOT_JSON = "the request is not in the JSON format that kafka.request.logger has used since Kafka 2.8"
NOT_TEXT = "the request is not in the text format that kafka.request.logger has used from Kafka 1.0 to 2.7"
FETCH = next(line for line in (LOGS / "2.4.1/broker-0.log").read_text(encoding="utf-8").splitlines() if "FETCH" in line)


@pytest.fixture(autouse=True)
def _without_jars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "definitions_of", lambda _: metadata_definitions())


def options(folder: Path) -> list[str]:
    found = []
    for path in sorted(folder.glob("*.log")):
        found += ["--request-log", f"{path.stem.removeprefix('broker-')}={path}"]
    return found + (["--metadata-log", str(folder / "metadata")] if (folder / "metadata").is_dir() else [])


def convert(target: Path, release: str = "2.8.2", folder: Path | None = None, *more: str) -> Path:
    files = options(folder or LOGS / release)
    run = call("record", str(target), "--release", release, *files, *more, folder=target.parent)
    assert (run.code, run.err) == (0, "")
    return target


def refused(folder: Path, release: str, *arguments: str) -> str:
    run = call("record", str(folder / "run.jsonl"), "--release", release, *arguments, folder=folder)
    assert (run.code, run.out) == (2, "")
    assert len(run.err.splitlines()) == 1
    assert not (folder / "run.jsonl").exists()
    return run.err


def events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("release", "conforms", "rejects", "actions"),
    [
        ("1.1.1", "kafka/0.11", "kafka/0.10.2", "handle_epoch_request shrink_isr"),
        ("2.4.1", "kafka/2.4", "kafka/2.8", "handle_epoch_request shrink_isr"),
        ("2.7.2", "kafka/2.7.2", "kafka/2.6.1", "handle_epoch_request handle_alter_partition"),
        ("2.8.2", "kafka/2.8.1", "kafka/2.4", "handle_alter_partition"),
        ("3.9.1", "kafka/3.9", "kafka/3.5.1", "handle_alter_partition apply_record stop"),
    ],
)
def test_the_files_of_a_cluster_conform_to_its_release(
    release: str, conforms: str, rejects: str, actions: str, tmp_path: Path
) -> None:
    path = convert(tmp_path / "run.jsonl", release)
    run = call("conform", str(path), "--spec", conforms, folder=tmp_path)
    assert run.code == 0
    for word in f"become_leader crash restart produce {actions}".split():
        assert f"{word} " in run.out
    assert call("conform", str(path), "--spec", rejects, folder=tmp_path).code == 1


@pytest.mark.parametrize("release", ["1.1.1", "2.4.1", "2.7.2", "2.8.2", "3.9.1"])
def test_records_are_counted_by_offsets(release: str, tmp_path: Path) -> None:
    lines = events(convert(tmp_path / "run.jsonl", release))
    frames = [each for each in lines if each.get("event") == "frame"]
    produced = [each for each in frames if each["api"] == "Produce" and each["request"]]
    values = [
        record["value"]
        for each in produced
        for record in each["body"]["TopicData"][0]["PartitionData"][0]["Records"]["batches"][0]["records"]
    ]
    assert len(set(values)) == len(values) == {"2.8.2": 7, "3.9.1": 8}.get(release, 6)
    shut_down = [("terminated", 2), ("started", 2)] if release == "3.9.1" else []
    assert [(each["event"], each["node"]) for each in lines if "node" in each] == [
        *(("killed", 0), ("started", 0)),
        *shut_down,
    ]
    assert lines[0]["release"] == release
    assert lines[0]["begun"].startswith("2026-")


def test_no_record_of_the_metadata_log_that_is_not_needed_is_recorded(tmp_path: Path) -> None:
    text = convert(tmp_path / "run.jsonl", "3.9.1").read_text(encoding="utf-8")
    assert '"record": "RegisterBrokerRecord", "version": 3, "body": {}' in text
    assert '"record": "PartitionRecord", "version": 1, "body": {"PartitionId": 0' in text


@pytest.mark.parametrize(
    ("changed", "by", "reason"),
    [
        ('"fetchOffset":2', '"fetchOffset":1', "fetches from offset 1"),
        ('"highWatermark":2', '"highWatermark":3', "high watermark 3"),
        ('"newIsr":[1,2,0]', '"newIsr":[1,0]', "proposes ISR [0, 1]"),
    ],
)
def test_a_changed_number_is_noticed(changed: str, by: str, reason: str, tmp_path: Path) -> None:
    count = 0
    for path in OF_2_8.glob("*.log"):
        text = path.read_text(encoding="utf-8")
        place = -1 if count else text.find(changed)
        count += place >= 0
        (tmp_path / path.name).write_text(text if place < 0 else text[:place] + text[place:].replace(changed, by, 1))
    assert count == 1
    path = convert(tmp_path / "run.jsonl", folder=tmp_path)
    run = call("conform", str(path), "--spec", "kafka/2.8.1", folder=tmp_path)
    assert run.code == 1
    assert reason in run.out


@pytest.mark.parametrize(
    ("release", "spec", "changed", "by", "reason"),
    [
        ("1.1.1", "0.11", "partition=0,end_offset=3", "partition=0,end_offset=2", "question about epoch 0"),
        ("2.7.2", "2.7.2", "new_isr=[1,2,0]", "new_isr=[1,0]", "proposes ISR [0, 1]"),
        ("3.9.1", "3.9", '"isr":[1,2,0]', '"isr":[1,2]', "ISR"),
    ],
)
def test_a_changed_number_in_text_or_with_kraft_is_noticed(
    release: str, spec: str, changed: str, by: str, reason: str, tmp_path: Path
) -> None:
    folder = tmp_path / "logs"
    shutil.copytree(LOGS / release, folder)
    texts = {path: path.read_text(encoding="utf-8") for path in folder.glob("*.log")}
    assert any(changed in text for text in texts.values())
    for path, text in texts.items():
        path.write_text(text.replace(changed, by), encoding="utf-8")
    path = convert(tmp_path / "run.jsonl", release, folder, "--clock-error", "5")
    run = call("conform", str(path), "--spec", f"kafka/{spec}", folder=tmp_path)
    assert run.code == 1
    assert reason in run.out


def text_of(request: str, response: str = "{}", api: str = "FETCH") -> str:
    header = f"RequestHeader(apiKey={api}, apiVersion=2, clientId=a, b=(c), correlationId=1)"
    return f"{header} -- {request},response:{response} from connection 1-2-3;totalTime:1.5,a:1,sendTime:0.5,"


def test_text_is_read_as_later_releases_write_json() -> None:
    told = read_text(
        text_of(
            "{replica_id=1,topics=[{topic=7,partitions=[{partition=0,fetch_offset=5,_tagged_fields={}}]},{topic=null,"
            "partitions=[]}],epoch=3,forgetten_topics_data=[{topic=t,partitions=[0,1]}],rack_id=,is_new=true}",
            "{error_code=0,error_message=a, b,responses=[{partition_header={partition=0,high_watermark=2,"
            "aborted_transactions=null},record_set=FileRecords(size=70, file=/a,b=c/t.log, start=0, end=70)},"
            "{record_set=[]},{record_set=[(record=DefaultRecord(offset=1)), (record=DefaultRecord(offset=2))]},"
            "{record_set=org.apache.kafka.common.record.FileRecords@7a15e36c}]}",
        )
    )
    assert told["request"] == {
        "ReplicaId": 1,
        "Topics": [
            {"Topic": "7", "Partitions": [{"Partition": 0, "FetchOffset": 5}]},
            {"Topic": None, "Partitions": []},
        ],
        "SessionEpoch": 3,
        "ForgottenTopicsData": [{"Topic": "t", "Partitions": [0, 1]}],
        "RackId": "",
        "IsNew": True,
    }
    assert told["response"]["Responses"] == [
        {"Partition": 0, "HighWatermark": 2, "AbortedTransactions": None, "RecordSetSizeInBytes": 70},
        {"RecordSetSizeInBytes": 0},
        {"RecordSetSizeInBytes": 1},
        {"RecordSetSizeInBytes": 1},
    ]
    assert (told["connection"], told["totalTimeMs"], told["sendTimeMs"]) == ("1-2-3", 1.5, 0.5)


def test_a_topic_of_a_produce_request_can_have_hyphens() -> None:
    told = read_text(text_of("{acks=-1,timeout=9,partitionSizes=[a-b-0=70,a-b-12=3,c-0=1]}", "", api="PRODUCE"))
    assert [(each["Name"], each["PartitionData"]) for each in told["request"]["TopicData"]] == [
        ("a-b", [{"Index": 0, "RecordSetSizeInBytes": 70}, {"Index": 12, "RecordSetSizeInBytes": 3}]),
        ("c", [{"Index": 0, "RecordSetSizeInBytes": 1}]),
    ]
    assert told["response"] is None


@pytest.mark.parametrize(
    ("request_text", "message"),
    [
        ("{a=1", NOT_TEXT),
        ("{a=[1,2}", "expected ','"),
        ("{a=[,]}", "expected an element of a list"),
        ("{a=1}}", "follows the end of a struct"),
        ("{1}", "expected a name and '='"),
        ("{a={b=1}", "expected ','"),
        ("{acks=1,timeout=2,numPartitions=1}", "must have the level TRACE on all brokers"),
        ("{acks=1}", "the Produce request is not in the format of Kafka 1.0 to 2.7"),
        ("{acks=1,timeout=2,partitionSizes=[t=1]}", "'t=1' in a Produce request must be TOPIC-PARTITION=SIZE"),
    ],
)
def test_text_in_another_format_is_refused(request_text: str, message: str) -> None:
    with pytest.raises(NotText, match=re.escape(message)):
        read_text(text_of(request_text, api="PRODUCE" if "acks" in request_text else "FETCH"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a file of kafka.request.logger: no line contains 'Completed request:'"),
        ("hello\n", "is not a file of kafka.request.logger: no line contains 'Completed request:'"),
        ("Completed request:{}\n", ":1: there is no time such as"),
        (f"{AT} TRACE Completed request:RequestHeader(apiKey=FETCH) -- {{a=1}},response:{{}} from", f":1: {NOT_TEXT}"),
        (f"hello\n{FETCH}\n{FETCH[:400]}\n", f":3: {NOT_TEXT}"),
        (FETCH.replace("replica_id=", "id="), f":1: {NOT_TEXT}"),
        (FETCH.replace("fetch_offset=", "offset="), f":1: {NOT_TEXT}: FetchOffset is missing"),
        (FETCH.replace("high_watermark=", "high_watermark=x"), f":1: {NOT_TEXT}: HighWatermark is 'x"),
        (FETCH.replace("record_set=", "record_set=?{"), ":1: the end of the value of record_set is missing"),
        (
            f"{AT} DEBUG Completed request:{text_of('{acks=1,timeout=2,numPartitions=1}', api='PRODUCE')}",
            ":1: the sizes of partitions are missing: kafka.request.logger must have the level TRACE on all brokers",
        ),
        (
            f"{AT} TRACE Completed request:{{api_key=0,api_version=2,correlation_id=12,client_id=a}} -- "
            f"{{acks=-1,timeout=5000,partitionSizes=[t-0=70]}} from connection 127.0.0.1:1-127.0.0.1:2;totalTime:1.5,",
            ":1: the request is text without its response, as Kafka up to 0.11 writes it: record the cluster with",
        ),
        (
            f'{AT} DEBUG Completed request:{{"requestHeader":{{"requestApiKeyName":"METADATA"}}}}',
            "no file has a LEADER_AND_ISR request: pass the files of all brokers, from before the topic was created",
        ),
        (f"{AT} DEBUG Completed request:{{}}\n", f":1: {NOT_JSON}"),
        ((OF_2_8 / "broker-0.log").read_text(encoding="utf-8").splitlines()[0], "no file has a LEADER_AND_ISR request"),
    ],
)
def test_other_files_are_refused_in_one_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "some.log"
    path.write_text(text, encoding="utf-8")
    assert message in refused(tmp_path, "2.8.2", "--request-log", f"0={path}")


@pytest.mark.parametrize(
    ("release", "arguments", "message"),
    [
        ("3.9.1", options(LOGS / "3.9.1")[:-2], "add --metadata-log DIR, a copy of the directory __cluster_metadata-0"),
        ("2.8.2", options(LOGS / "3.9.1"), "this request is one of a cluster with KRaft"),
        ("3.9.1", [*options(OF_2_8), *options(LOGS / "3.9.1")[-2:]], "are those of a cluster with ZooKeeper"),
        (
            "3.9.1",
            ["--request-log", f"0={LOGS / '3.9.1/broker-0.log'}", "--metadata-log", str(LOGS / "3.9.1/metadata")],
            "no file has a BROKER_REGISTRATION or BROKER_HEARTBEAT request: pass the files of the KRaft",
        ),
        (
            "3.9.1",
            ["--request-log", f"1={LOGS / '3.9.1/broker-100.log'}", "--metadata-log", str(LOGS / "3.9.1/metadata")],
            "node 1 is a broker and a controller at once",
        ),
        ("3.9.1", [*options(LOGS / "3.9.1")[:-1], str(LOGS)], "contains no records of a metadata log"),
    ],
)
def test_files_of_another_kind_of_cluster_are_refused(
    release: str, arguments: list[str], message: str, tmp_path: Path
) -> None:
    assert message in refused(tmp_path, release, *arguments)


@pytest.mark.parametrize(
    ("end", "changed", "message"),
    [
        (-100, None, "broker-100.log:"),
        (-100, None, "ends at offset"),
        (None, 60, "a batch is damaged: its checksum is wrong"),
        (None, 16, "contains no records of a metadata log"),
    ],
)
def test_another_metadata_log_is_refused(end: int | None, changed: int | None, message: str, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    shutil.copytree(LOGS / "3.9.1", folder)
    (path,) = (folder / "metadata").glob("*.log")
    data = bytearray(path.read_bytes()[:end])
    if changed is not None:
        data[changed] ^= 1
    path.write_bytes(data)
    assert message in refused(tmp_path, "3.9.1", *options(folder))


def test_responses_that_do_not_end_with_a_batch_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    shutil.copytree(LOGS / "3.9.1", folder)
    path = folder / "broker-100.log"
    path.write_text(path.read_text(encoding="utf-8").replace('InBytes":193', 'InBytes":192'), encoding="utf-8")
    message = refused(tmp_path, "3.9.1", *options(folder))
    assert re.search(r"broker-100\.log:\d+: the response has 192 bytes of the metadata log from offset \d+", message)
    assert "it is not the log of these brokers" in message


def of_controller(node: int, at: float, connection: str, alive: str, *states: tuple[int, int, list[int]]) -> Request:
    """Return an UpdateMetadata request: the brokers that are alive, and the version, epoch and ISR of states of t-0."""
    told = [
        {"TopicName": "t", "PartitionIndex": 0, "ZkVersion": v, "LeaderEpoch": e, "Leader": isr[0], "Isr": isr}
        for v, e, isr in states
    ]
    body = {"LiveBrokers": [{"Id": int(each)} for each in alive], "UngroupedPartitionStates": told}
    return Request(node, 9, "UpdateMetadata", 4, connection, body, {}, at, at, at)


def fetch(source: int, node: int, at: float, connection: str) -> Request:
    return Request(node, source, "Fetch", 7, connection, {}, {}, at, at, at)


def test_a_broker_with_a_connection_that_lasts_has_not_started_again() -> None:
    requests = [
        of_controller(0, 1.0, "a", "01"),
        of_controller(1, 1.0, "b", "01"),
        fetch(0, 1, 1.5, "c"),
        of_controller(1, 2.0, "b", "1"),
        of_controller(1, 3.0, "b", "01"),
        of_controller(0, 3.1, "d", "01"),
    ]
    assert list(returns(requests)) == [Return(0, "killed", 3.0, 3.0)]
    assert list(returns([*requests, fetch(0, 1, 4.0, "c")])) == [Return(0, "expired", 2.0, 3.0)]


def test_a_new_connection_of_the_controller_is_not_a_start() -> None:
    assert not list(returns([of_controller(0, 1.0, "a", "01"), of_controller(0, 3.0, "b", "01")]))


def test_versions_show_what_was_written_to_zookeeper() -> None:
    requests = [
        of_controller(1, 1.0, "a", "01", (0, 0, [0, 1])),
        of_controller(1, 3.0, "a", "01", (1, 0, [0])),
        of_controller(1, 5.0, "a", "1", (2, 1, [1])),
    ]
    writes, left_out = state_writes(requests)
    assert [(each.api, each.source, each.begun, each.done) for each in writes] == [
        ("create", 9, 0.0, 1.0),
        ("setData", 0, 0.0, 3.0),
        ("setData", 9, 0.0, 5.0),
    ]
    assert not left_out
    _, left_out = state_writes([requests[0], requests[2]])
    assert left_out == {
        ("t", 0): "its state in ZooKeeper had the versions 0 and 2, and no request shows those in between"
    }


def test_a_partition_with_unknown_changes_of_the_isr_is_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    shutil.copytree(LOGS / "2.4.1", folder)
    for path in folder.glob("*.log"):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(line for line in lines if "zk_version=1," not in line), encoding="utf-8")
    run = call("record", str(tmp_path / "run.jsonl"), "--release", "2.4.1", *options(folder), folder=tmp_path)
    assert run.code == 0
    assert "t-0 is left out: its state in ZooKeeper had the versions 0 and 2, and no request shows those" in run.out
    assert call("conform", str(tmp_path / "run.jsonl"), folder=tmp_path).code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "pass --broker for each broker, or --request-log"),
        (["--request-log", "0=a", "--broker", "0=h:1"], "--request-log cannot be combined with --broker"),
        (["--request-log", "a"], "must be ID=FILE"),
        (["--metadata-log", ".", "--broker", "0=h:1"], "--metadata-log needs --request-log"),
        (["--request-log", "0=missing.log"], "missing.log cannot be read: No such file"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    run = call("record", "run.jsonl", "--release", "2.8.2", *arguments, folder=tmp_path)
    assert (run.code, run.out) == (2, "")
    assert message in run.err
