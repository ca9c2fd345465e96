"""An existing cluster is recorded: whoever sends is found in requests, records are hidden, ends of brokers noticed."""

from __future__ import annotations

import json
import socket
import threading
import time
from pathlib import Path
from typing import Any

import attrs
import pytest

from leadline.brokers.attribution import sender_of
from leadline.brokers.errors import BrokerError
from leadline.brokers.frame import Frame, Party
from leadline.brokers.node_releases import NodeReleases
from leadline.brokers.recorder import Address, Recorder, settings
from leadline.brokers.recording import read_recording
from leadline.brokers.redaction import LEFT_OUT, Redaction
from leadline.brokers.releases import mixed_release
from tests.brokers import small_messages as small
from tests.brokers.test_proxy import HELLO, SECONDS, ping, receive
from tests.suite.command import call

FRAME = Frame(
    number=1, connection=1, time=0.5, source=1, target=0, request=True, api="ControlledShutdown", version=0,
    correlation=1, client_id=None, answers=None, body={"BrokerId": 1}, undecoded=None, size=10, raw=b"",
)  # fmt: skip


def recorder(path: Path) -> Recorder:
    return Recorder(small.DEFINITIONS, path / "run.jsonl", host="127.0.0.1", release="3.9.1")


def address(server: socket.socket) -> Address:
    return Address("127.0.0.1", server.getsockname()[1])


# --- who has sent a request -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("api", "client", "body", "sender"),
    [
        ("Fetch", "broker-1-fetcher-0", {"ReplicaId": 2}, 2),
        ("Fetch", "consumer", {"ReplicaId": -1}, None),
        ("Fetch", "consumer", {"MaxWaitMs": 500}, None),
        ("Fetch", "broker-1-fetcher-0", {"ReplicaState": {"ReplicaId": 3, "ReplicaEpoch": 7}}, 3),
        ("OffsetForLeaderEpoch", "broker-4-fetcher-0", {"Topics": []}, 4),
        ("OffsetForLeaderEpoch", "consumer", {"ReplicaId": -2}, None),
        ("LeaderAndIsr", "1", {"ControllerId": 1}, 1),
        ("AlterPartition", "broker-1", {"BrokerId": 1}, 1),
        ("Produce", "broker-1-fetcher-0", {"Acks": 1}, None),
        ("Fetch", "broker-1-fetcher-0", None, None),
    ],
)
def test_requests_say_which_broker_has_sent_them(
    api: str, client: str, body: dict[str, Any] | None, sender: int | None
) -> None:
    assert sender_of(api, client, body) == sender


# --- what is hidden ---------------------------------------------------------------------------------------------------


def event(api: str, body: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    return {"api": api, "source": 0, "target": 1, "body": body, "undecoded": None, **more}


def produced(*pairs: tuple[bytes | None, bytes | None]) -> dict[str, Any]:
    records = [{"offset": n, "timestamp": 5, "key": key, "value": value} for n, (key, value) in enumerate(pairs)]
    return event("Produce", {"TopicData": [{"Name": "t", "Records": {"size": 9, "batches": [{"records": records}]}}]})


def records_of(changed: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = changed["body"]["TopicData"][0]["Records"]["batches"][0]["records"]
    return found


def test_keys_and_values_are_hashed_and_equal_ones_stay_equal() -> None:
    hides = Redaction()
    changed = hides(produced((b"alice", b"secret"), (b"bob", b"secret"), (None, None)))
    assert "alice" not in str(changed)
    assert "secret" not in str(changed)
    first, second, third = records_of(changed)
    assert first["value"] == second["value"] != first["key"] != second["key"]
    assert (third["key"], third["value"]) == (None, None)
    assert [each["offset"] for each in (first, second, third)] == [0, 1, 2]
    (again,) = records_of(hides(produced((b"alice", b"other"))))
    assert again["key"] == first["key"]


def test_a_hash_cannot_be_found_again_by_hashing_likely_values() -> None:
    one, other = (records_of(Redaction()(produced((b"alice", None))))[0]["key"] for _ in range(2))
    assert one != other


@pytest.mark.parametrize("api", ["SaslAuthenticate", "DescribeGroups", "DescribeConfigs", "Metadata", "AlterConfigs"])
def test_what_conformance_does_not_read_is_left_out(api: str) -> None:
    changed = Redaction()(event(api, {"AuthBytes": b"password"}))
    assert (changed["body"], changed["undecoded"]) == (None, LEFT_OUT)
    assert changed["api"] == api


def test_the_text_in_offset_commits_is_left_out() -> None:
    body = {"GroupId": "g", "Topics": [{"Partitions": [{"PartitionIndex": 0, "CommittedMetadata": "alice"}]}]}
    changed = Redaction()(event("OffsetCommit", body))
    assert changed["body"] == {"GroupId": "g", "Topics": [{"Partitions": [{"PartitionIndex": 0}]}]}


def test_credentials_in_the_metadata_log_are_left_out() -> None:
    record = {"record": "UserScramCredentialRecord", "version": 0, "body": {"Name": "alice", "Salt": b"salt"}}
    kept = {"record": "PartitionChangeRecord", "version": 0, "body": {"Leader": 1}}
    records = [{"offset": n, "timestamp": 5, "key": None, "value": value} for n, value in enumerate([record, kept])]
    body = {"Responses": [{"Partitions": [{"Records": {"batches": [{"records": records}]}}]}]}
    changed = Redaction()(event("Fetch", body, source="controller"))
    hidden, shown = changed["body"]["Responses"][0]["Partitions"][0]["Records"]["batches"][0]["records"]
    assert "alice" not in str(changed)
    assert hidden["value"]["record"] == "UserScramCredentialRecord"
    assert shown["value"] == kept


@pytest.mark.parametrize(("name", "is_kept"), [("min.insync.replicas", True), ("ssl.keystore.password", False)])
def test_of_settings_only_what_is_read_is_kept(name: str, is_kept: bool) -> None:
    value = {"record": "ConfigRecord", "version": 0, "body": {"Name": name, "Value": "2"}}
    record = {"offset": 7, "timestamp": 0, "key": None, "value": value}
    body = {"Responses": [{"Partitions": [{"Records": {"size": 9, "batches": [{"records": [record]}]}}]}]}
    changed = Redaction()(event("Fetch", body, source="controller"))
    (kept,) = changed["body"]["Responses"][0]["Partitions"][0]["Records"]["batches"][0]["records"]
    assert kept["value"]["body"] == (value["body"] if is_kept else {})


@pytest.mark.parametrize(
    ("path", "is_kept"),
    [
        ("/brokers/topics/t/partitions/0/state", True),
        ("/brokers/ids/1", True),
        ("/config/users/alice", False),
        ("/brokers/topics/t", False),
    ],
)
def test_of_zookeeper_only_partitions_and_registrations_are_kept(path: str, is_kept: bool) -> None:
    changed = Redaction()(event("setData", {"path": path, "data": b"{}", "version": 1}, target="zookeeper"))
    assert (changed["body"] is not None) is is_kept
    many = {"operations": [{"path": path, "data": b"{}"}, {"path": "/brokers/ids/1", "data": b"{}"}]}
    assert (Redaction()(event("multi", many, target="zookeeper"))["body"] is not None) is is_kept


def test_a_frame_that_was_not_decoded_stays_as_it_is() -> None:
    assert Redaction()(event("Fetch", None, undecoded="why"))["undecoded"] == "why"


# --- listeners --------------------------------------------------------------------------------------------------------


def test_what_passes_is_recorded(tmp_path: Path) -> None:
    with recorder(tmp_path) as recording, socket.create_server(("127.0.0.1", 0)) as server:
        recording.listen([(1, address(server))], [], None)
        near = socket.create_connection(("127.0.0.1", recording.listeners[0].port), SECONDS)
        far, _ = server.accept()
        near.sendall(ping(1))
        assert receive(far, len(ping(1))) == ping(1)
        recording.run(0.01)
        near.close()
        far.close()
    read = read_recording(tmp_path / "run.jsonl")
    assert (read.about["release"], read.about["hashed"]) == ("3.9.1", True)
    (frame,) = [each for each in read.events() if each["event"] == "frame"]
    assert (frame["source"], frame["target"], frame["api"], frame["undecoded"]) == ("client", 1, "Ping", LEFT_OUT)


def test_a_listener_with_tls_is_refused(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, recorder(tmp_path) as found:
        found.listen([(1, address(server))], [], None)
        with socket.create_connection(("127.0.0.1", found.listeners[0].port), SECONDS) as near:
            near.sendall(HELLO)
            with pytest.raises(BrokerError, match=r"cannot be decoded, for example because it uses TLS .*16 03 01"):
                found.run(SECONDS)


def test_a_listener_with_sasl_is_refused(tmp_path: Path) -> None:
    with recorder(tmp_path) as found:
        found._recording.write_frame(attrs.evolve(FRAME, api="SaslHandshake", body=None), small.DEFINITIONS)
        with pytest.raises(BrokerError, match="a client of broker 0 authenticates with SASL"):
            found.run(SECONDS)


def test_a_port_in_use_is_refused(tmp_path: Path) -> None:
    with recorder(tmp_path) as found, socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(BrokerError, match=f"cannot listen on 127.0.0.1:{port}"):
            found.listen([(1, Address("127.0.0.1", 9092))], [], None, first_port=port)


@pytest.mark.parametrize("shut_down", [False, True])
def test_ends_and_starts_of_brokers_are_noticed(tmp_path: Path, shut_down: bool) -> None:
    """A broker is started when its port is open again and it has registered, but not before."""
    server = socket.create_server(("127.0.0.1", 0))
    real = address(server)
    with recorder(tmp_path) as found:
        found.listen([(1, real)], [], None)
        watching = threading.Thread(target=found.run, args=(1.8,))
        watching.start()
        time.sleep(0.3)
        if shut_down:
            found._recording.write_frame(FRAME, small.DEFINITIONS)
        server.close()
        time.sleep(0.5)
        with socket.create_server(("127.0.0.1", real.port)):
            time.sleep(0.4)
            asked = attrs.evolve(FRAME, number=7, api="BrokerRegistration")
            answer = attrs.evolve(FRAME, number=8, source=0, target=1, request=False, answers=7, body={})
            for frame in (asked, answer):
                found._recording.write_frame(frame, small.DEFINITIONS)
            watching.join()
    events = list(read_recording(tmp_path / "run.jsonl").events())
    seen = [(each["event"], each.get("number")) for each in events if "node" in each or each.get("number") == 8]
    assert seen == [("terminated" if shut_down else "killed", None), ("frame", 8), ("started", None)]


def test_a_broker_that_has_not_been_up_yet_is_not_killed(tmp_path: Path) -> None:
    with recorder(tmp_path) as found, socket.create_server(("127.0.0.1", 0)) as server:
        real = address(server)
        server.close()
        found.listen([(1, real)], [], None)
        found._recording.write_frame(FRAME, small.DEFINITIONS)
        found.run(0.3)
    assert not [each for each in read_recording(tmp_path / "run.jsonl").events() if "node" in each]


def test_settings_lead_all_connections_through_the_proxies(tmp_path: Path) -> None:
    real = Address("10.0.0.1", 9092)
    with recorder(tmp_path) as found:
        found.listen([(1, real), (2, real)], [(100, Address("10.0.0.3", 9093))], None)
        first, second, controller = (each.port for each in found.listeners)
        assert list(settings(found.listeners, "here")) == [
            "broker 1 at 10.0.0.1:9092:",
            f"  advertised.listeners=PLAINTEXT://here:{first}",
            f"  controller.quorum.voters=100@here:{controller}",
            "broker 2 at 10.0.0.1:9092:",
            f"  advertised.listeners=PLAINTEXT://here:{second}",
            f"  controller.quorum.voters=100@here:{controller}",
            "controller 100 at 10.0.0.3:9093, since Kafka 3.9:",
            f"  advertised.listeners=CONTROLLER://here:{controller}",
        ]
    with recorder(tmp_path) as found:
        found.listen([(1, real), (2, real)], [], Address("10.0.0.3", 2181))
        lines = list(settings(found.listeners, "here"))
        assert [line for line in lines if "zookeeper.connect" in line] == [
            f"  zookeeper.connect=here:{each.port}" for each in found.listeners[2:]
        ]
        assert len({each.port for each in found.listeners}) == 4


# --- which release nodes run ------------------------------------------------------------------------------------------


def of_upgrade(releases: str, told: Path | None = None) -> tuple[NodeReleases, list[tuple[object, str]]]:
    """What follows an upgrade of two brokers, and what it writes."""
    written = list[tuple[object, str]]()
    note = lambda event, node, stage: written.append((node, stage))  # noqa: E731
    return NodeReleases(mixed_release(releases), [0, 1], 1, note, told), written


def asks(broker: int, version: str | None) -> Frame:
    body = {"ClientSoftwareName": "apache-kafka-java", "ClientSoftwareVersion": version}
    return attrs.evolve(FRAME, api="ApiVersions", client_id=f"raft-client-{broker}", body=body if version else {})


def answers(source: Party, supported: int | None, level: int) -> Frame:
    most = [] if supported is None else [{"Name": "metadata.version", "MinVersion": 1, "MaxVersion": supported}]
    body = {"SupportedFeatures": most, "FinalizedFeatures": [{"Name": "metadata.version", "MaxVersionLevel": level}]}
    return attrs.evolve(FRAME, api="ApiVersions", source=source, request=False, answers=1, body=body)


def test_nodes_with_kraft_say_which_release_they_run() -> None:
    releases, written = of_upgrade("3.9.1..4.1.1")
    seen = [asks(0, "3.9.1"), asks(1, "3.9.1"), asks(1, None), answers("controller", 21, 21), asks(0, "3.9.1")]
    for frame in (*seen, asks(1, "4.1.1"), asks(7, "1.0"), answers(0, None, 21), answers("controller", 27, 27)):
        releases.see(frame)
        releases.check()
    old, new = "old release", "new release"
    assert written == [(0, old), (1, old), ("controller", old), (1, new), ("controller", new)]


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (asks(1, "4.1.0"), "broker 1 says that it runs 4.1.0, and neither of 3.9.1 and 4.1.1"),
        (answers("controller", 25, 21), r"the controller says that it runs metadata\.version up to 25, and neither"),
        (answers(0, None, 27), r"metadata\.version is 27: begin to record while it is that of 3\.9\.1, 21"),
    ],
)
def test_what_is_no_release_or_level_of_the_upgrade_is_refused(frame: Frame, says: str) -> None:
    releases, _ = of_upgrade("3.9.1..4.1.1")
    releases.see(frame)
    with pytest.raises(BrokerError, match=says):
        releases.check()


def test_a_file_says_which_release_brokers_with_zookeeper_run(tmp_path: Path) -> None:
    told = tmp_path / "told"
    told.write_text("1 new level\n", encoding="utf-8")  # of an earlier recording
    releases, written = of_upgrade("2.7.1..2.8.1", told)
    with told.open("a", encoding="utf-8") as file:
        file.write("0 new release\n1 new")
    releases.check()
    assert written == [(0, "old release"), (1, "old release"), (0, "new release")]
    with told.open("a", encoding="utf-8") as file:
        file.write(" release\n2 new level\n")
    with pytest.raises(BrokerError, match=r"told:4: '2 new level' must be the id of a broker, and one of: old release"):
        releases.check()
    assert written[3:] == [(1, "new release")]
    told.unlink()
    with pytest.raises(BrokerError, match="cannot be read"):
        releases.check()


@pytest.mark.parametrize(
    ("releases", "controllers", "says"),
    [
        ("3.9.1..4.1.1..4.3.1", 1, "is several upgrades: record each of them"),
        ("4.1.0..4.1.1", 1, r"controllers of 4\.1\.0 and 4\.1\.1 do not say which of these releases they run"),
        ("3.9.1..4.1.1", 3, "an upgrade of several controllers cannot be recorded"),
    ],
)
def test_upgrades_that_cannot_be_recorded_are_refused(releases: str, controllers: int, says: str) -> None:
    with pytest.raises(BrokerError, match=says):
        NodeReleases(mixed_release(releases), [0], controllers, lambda *_, **__: None)


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--release", "3.9.1", "--broker", "0:9092"], "'0:9092' must be ID=HOST:PORT, such as 1=127.0.0.1:9092"),
        (["--release", "3.9.1", "--broker", "0=h:1"], "Kafka 3.9.1 uses KRaft: pass --controller, and not --zookeeper"),
        (["--release", "2.8.0", "--broker", "0=h:1"], "Kafka 2.8.0 uses ZooKeeper: pass --zookeeper"),
        (["--release", "2.8.0", "--broker", "0=h:1", "--zookeeper", "h"], "'h' must be HOST:PORT"),
        (
            ["--release", "2.7.1..2.8.1", "--broker", "0=h:1", "--zookeeper", "h:2"],
            "an upgrade with ZooKeeper, and nothing else, requires --runs",
        ),
        (["--release", "17.1", "--broker", "0=h:1"], "17.1"),
    ],
)
def test_usage_errors_are_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    run = call("record", "run.jsonl", *arguments, folder=tmp_path)
    assert (run.code, run.out) == (2, "")
    assert message in run.err
    assert "Traceback" not in run.err
    assert not list(tmp_path.iterdir())


def test_a_recording_can_be_read_as_json(tmp_path: Path) -> None:
    with recorder(tmp_path) as found:
        found._recording.write_frame(FRAME, small.DEFINITIONS)
    lines = (tmp_path / "run.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line).get("event") for line in lines] == [None, "frame", "end"]
