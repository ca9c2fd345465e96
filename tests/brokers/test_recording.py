"""A recording has what passed the proxy, and is complete or not there."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from google_crc32c import value as crc32c

from leadline.brokers.frame import Frame, Rule
from leadline.brokers.messages.batches import write_batch
from leadline.brokers.messages.requests import RequestHeader, write_request
from leadline.brokers.proxy import Proxy
from leadline.brokers.recording import RecordingError, RecordingWriter, frame_event, plain, read_recording
from tests.brokers import small_messages as small
from tests.brokers.test_proxy import HELLO, SECONDS, Network, is_closed, ping, pong, receive

PROJECT = Path(__file__).parents[2]


def test_what_passes_is_recorded_in_its_order(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with RecordingWriter(path, release="2.8.0") as writer, Proxy(small.DEFINITIONS, writer) as proxy:
        network = Network(proxy)
        ends = network.connect()
        hold = proxy.hold(Rule(request=True, where=lambda body: body["Small"] == 1))
        ends.near.sendall(ping(1) + ping(2, small_number=1))
        receive(ends.far, len(ping(1)))
        ends.far.sendall(pong(1))
        receive(ends.near, 10)
        proxy.note("killed", node=1)
        hold.drop(hold.wait(timeout=SECONDS))
        is_closed(ends.far)
        stranger = network.connect(2)
        stranger.near.sendall(HELLO)
        receive(stranger.far, len(HELLO))
        for each in network.sockets:
            each.close()
    recording = read_recording(path)
    assert recording.about["release"] == "2.8.0"
    events = [event for event in recording.events() if event["event"] != "closed"]
    assert sorted(event["event"] for event in events) == ["connected", "connected", "frame", "frame", "frame", "killed"]
    first, answer, dropped = (event for event in events if event["event"] == "frame")
    assert (first["number"], first["source"], first["target"], first["api"]) == (1, "client", 1, "Ping")
    assert first["arrived"] <= first["passed"] <= first["time"]
    assert first["body"]["Word"] == ""
    assert (answer["answers"], answer["body"]) == (1, {"ErrorCode": 0})
    assert (dropped["number"], dropped["passed"]) == (2, None)
    closed = [event for event in recording.events() if event["event"] == "closed"]
    assert [(event["plain"], event["plain_bytes"]) for event in closed] == [
        (None, 0),
        ("a request of another protocol begins with 16 03 01 02", len(HELLO)),
    ]
    times = [event["time"] for event in recording.events()]
    assert times == sorted(times)


def event_of(body: dict[str, Any], source: str = "client") -> Any:
    """The body of a frame's event, as it is read again."""
    frame = Frame(1, 1, 0.0, source, 1, False, "Fetch", 0, 0, None, None, body, None, 9, b"")  # type: ignore[arg-type]
    return json.loads(json.dumps(plain(frame_event(frame, small.DEFINITIONS))))["body"]


def test_records_are_told_batch_by_batch() -> None:
    told = event_of({"Topics": [{"Records": write_batch([b"r0", None], 5), "UnalignedRecords": None}]})
    records = told["Topics"][0]["Records"]
    assert records["size"] == len(write_batch([b"r0", None], 5))
    (batch,) = records["batches"]
    assert (batch["first"], batch["last"], batch["leader_epoch"], batch["magic"]) == (0, 1, -1, 2)
    assert [(r["offset"], r["value"]) for r in batch["records"]] == [(0, "r0"), (1, None)]
    assert event_of({"Records": bytes(20)})["Records"] == {
        "size": 20,
        "undecoded": "invalid batch header: magic 0, 12 bytes",
    }
    big = event_of({"Records": write_batch([bytes(2**20)], 5)})["Records"]
    assert [batch["records"] for batch in big["batches"]] == [None]


def test_records_of_the_metadata_log_are_decoded() -> None:
    change = bytes.fromhex("01 05 01 02 74 02 00000003 00")
    body = {"Records": write_batch([change, b"\1\6\0"], 5)}
    decoded, unknown = event_of(body, "controller")["Records"]["batches"][0]["records"]
    assert decoded["value"] == {"record": "ChangeRecord", "version": 1, "body": {"Topic": "t", "Isr": [3]}}
    assert unknown["undecoded"] == "no record with key 6 is defined"
    assert event_of(body)["Records"]["batches"][0]["records"][0]["value"] == change.decode()


def test_values_that_json_lacks() -> None:
    assert plain({1: b"text", "ids": (UUID(int=1),), "set": {3, 1}, "odd": b"\xff", "nan": float("inf")}) == {
        "1": "text", "ids": ["AAAAAAAAAAAAAAAAAAAAAQ"], "set": [1, 3], "odd": {"base64": "/w=="}, "nan": "inf",
    }  # fmt: skip
    assert plain(b"a" * 2000) == {"size": 2000, "crc32c": crc32c(b"a" * 2000)}


def test_an_interrupted_run_says_so(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with pytest.raises(KeyboardInterrupt), RecordingWriter(path):
        raise KeyboardInterrupt
    assert json.loads(path.read_text().splitlines()[-1])["interrupted_by"] == "KeyboardInterrupt"
    assert list(read_recording(path).events()) == []


KILLED = """
import sys, time
from pathlib import Path
from leadline.brokers.recording import RecordingWriter
writer = RecordingWriter(Path(sys.argv[1]))
writer.write("begun")
print("ready", flush=True)
time.sleep(60)
"""


def test_sigkill_leaves_only_a_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert [each.name for each in tmp_path.iterdir()] == [f"run.jsonl.{process.pid}.partial"]
    partial = next(tmp_path.iterdir())
    assert [json.loads(line).get("event") for line in partial.read_text().splitlines()] == [None, "begun"]  # streamed
    with pytest.raises(RecordingError, match="is not a complete recording: its last line is missing"):
        list(read_recording(partial).events())


def test_a_recording_that_cannot_be_written_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"absent/run.jsonl cannot be written: No such file"):
        RecordingWriter(tmp_path / "absent" / "run.jsonl")
    (tmp_path / "run.jsonl").write_text("old")
    full = RecordingWriter(tmp_path / "run.jsonl")
    full._file.close()
    full._file = Path("/dev/full").open("w", buffering=1)  # noqa: SIM115
    full.write("lost")
    full.write("lost too")
    with pytest.raises(RecordingError, match=r"run.jsonl cannot be written: No space left"):
        full.close()
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("run.jsonl", "old")]
    full.close()


def test_a_frame_that_cannot_be_recorded_makes_the_recording_fail(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "run.jsonl")
    frame = Frame(1, 1, 0.0, "client", 1, True, "Ping", 0, 0, None, None, {"Small": object()}, None, 9, b"")
    writer.write_frame(frame, small.DEFINITIONS)
    writer.write("later")
    with pytest.raises(RecordingError, match="cannot be written: TypeError: Object of type object is not JSON"):
        writer.close()
    assert list(tmp_path.iterdir()) == []


def test_writing_after_the_end_is_ignored(tmp_path: Path) -> None:
    with RecordingWriter(tmp_path / "run.jsonl") as writer:
        pass
    writer.write("late")
    assert list(read_recording(tmp_path / "run.jsonl").events()) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is not a recording: it is empty"),
        ('{"a": 1}\n', "is not a recording: its first line does not contain 'leadline recording'"),
        ("{}\n", "is not a recording"),
        ("[]\n", ":1: this line is not in the format of a recording"),
        ("\x00\n", ":1: this line is not in the format of a recording"),
        ('{"format": "leadline recording", "version": 2}\n', "has version 2; expected 1"),
        ('{"format": "leadline recording", "version": 1}\n{"event": "a", "time": 1}\n', "its last line is missing"),
        ('{"format": "leadline recording", "version": 1}\n{"event": "end", "lines": 9, "time": 1}\n', "it has 2 lines"),
        ('{"format": "leadline recording", "version": 1}\n{"even', ":2: this line is not in the format of a recording"),
    ],
)
def test_what_is_no_recording_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "file.jsonl"
    path.write_text(text)
    with pytest.raises(RecordingError, match=says):
        list(read_recording(path).events())


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="cannot be read"):
        read_recording(tmp_path / "absent")


def test_a_request_too_long_to_list_is_recorded_by_its_size(tmp_path: Path) -> None:
    body = {"Acks": 1, "Records": write_batch([bytes(5000)], 1)}
    request = write_request(small.DEFINITIONS, RequestHeader(0, 0, 1), body)
    with RecordingWriter(tmp_path / "run.jsonl") as writer, Proxy(small.DEFINITIONS, writer) as proxy:
        network = Network(proxy)
        ends = network.connect()
        ends.near.sendall(request)
        receive(ends.far, len(request))
        for each in network.sockets:
            each.close()
    (frame,) = [e for e in read_recording(tmp_path / "run.jsonl").events() if e["event"] == "frame"]
    (batch,) = frame["body"]["Records"]["batches"]
    assert batch["records"][0]["value"]["size"] == 5000
    assert frame["size"] == len(request) - 4


def test_the_document_names_every_event_and_field() -> None:
    text = (PROJECT / "brokers" / "recording.md").read_text(encoding="utf-8")
    sources = [path.read_text(encoding="utf-8") for path in (PROJECT / "brokers").rglob("*.py")]
    noted = {name for source in sources for name in re.findall(r'\.note\(\s*"(\w+)"', source)}
    assert {"connected", "closed", "killed"} <= noted
    frame = Frame(1, 1, 0.0, 0, 1, True, "Ping", 0, 0, None, None, {}, None, 9, b"")
    (batch,) = event_of({"Records": write_batch([b"v"], 1)})["Records"]["batches"]
    names = (
        {"frame", "end"} | noted | set(frame_event(frame, small.DEFINITIONS)) | set(batch) | set(batch["records"][0])
    )
    assert {name for name in names if f"`{name}`" not in text and f'"{name}"' not in text} == set()
