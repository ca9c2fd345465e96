"""`leadline show` and `leadline replay`: saved counterexamples, shown, re-executed, and found stale."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.suite.command import ESCAPE, STAIRS, call, on_terminal, run_leadline, write

LOSS = "loss.itf.json"
"""The loss of committed data before 0.11, in ten states."""

CLIMB = "stairs.py-spec-top3-third_step_free.itf.json"
"""Three steps up the stairs."""

Edit = Callable[[Any], object]
"""Changes the content of a trace file."""


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The trace file of the loss, as `explore` writes it."""
    folder = tmp_path_factory.mktemp("saved")
    saved = call("explore", "atomic/hw-truncation", "-i", "strong_isr", "--trace-out", ".", folder=folder)
    assert saved.code == 1
    return (folder / "atomic-hw-truncation-strong_isr.itf.json").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, content: str) -> Path:
    """A folder with the trace of the loss."""
    (tmp_path / LOSS).write_text(content, encoding="utf-8")
    return tmp_path


@pytest.fixture
def climb(tmp_path: Path) -> Path:
    """A folder with the stairs and a trace on them."""
    assert (
        call("explore", "stairs.py", "-b", "top=3", "--trace-out", ".", folder=write(tmp_path, stairs=STAIRS)).code == 1
    )
    return tmp_path


def edit(file: Path, change: Edit) -> None:
    """Change a trace file."""
    content = json.loads(file.read_text(encoding="utf-8"))
    change(content)
    file.write_text(json.dumps(content), encoding="utf-8")


# Shown


def test_a_trace_shows_every_step_what_it_changed_the_logs_and_the_end(folder: Path) -> None:
    run = call("show", LOSS, folder=folder)
    assert (run.code, run.err) == (0, "")
    text = "\n".join(run.lines)
    assert text.startswith(
        """\
atomic/hw-truncation  brokers=2,log_size=2,records=2,max_epoch=1
m0@1: record m0, written in leader epoch 1; ┃ the high watermark (HW); LEO log end offset; ISR: as
known in that row; a → b: on its way from a to b; * changed

what happened
 step 8  committed  m0, at offset 0, is committed: the high watermark is above it
step 10  lost       broker 1 follows broker 0 and truncates its log to 0 (hw-truncation's rule
                    truncates_to: own high watermark), and loses m0, committed in step 8, which its
                    own high watermark does not cover yet
step 10  violated   offset 0 is below the high watermark 1 of broker 0, which has m0@1 there; broker
                    1 of the quorum's ISR has no record there

 1/10  the initial state
                   role        epoch   ISR   log      HW   LEO
       controller  no leader   -       0 1
       broker 0    -           -       -     ┃        0    0
       broker 1    -           -       -     ┃        0    0

 2/10  the controller elects broker 0
       controller_elects(broker=0)
                   role        epoch   ISR   log      HW   LEO
       controller  leader: 0*  0*      0 1
       broker 0    -           -       -     ┃        0    0
       broker 1    -           -       -     ┃        0    0
       controller → broker 0, broker 1: LeaderAndIsr, epoch 0 (leader 0, ISR 0 1)*
"""
    )
    assert text.endswith(
        """
 7/10  broker 1 fetches the next record from broker 0
       replicate(leader=0, follower=1)
                   role        epoch   ISR   log      HW   LEO
       controller  leader: 0   1       0
       broker 0    leads       1       0     ┃ m0@1   0    1
       broker 1    follows 0   0       0 1   ┃ m0@1*  0    1*
       controller → broker 1: LeaderAndIsr, epoch 1 (leader 0, ISR 0)

 8/10  broker 0 raises its high watermark: every member of its own ISR has the record  [committed]
       advance_high_watermark(leader=0)
                   role        epoch   ISR   log      HW   LEO
       controller  leader: 0   1       0
       broker 0    leads       1       0     m0@1 ┃*  1*   1
       broker 1    follows 0   0       0 1   ┃ m0@1   0    1
       controller → broker 1: LeaderAndIsr, epoch 1 (leader 0, ISR 0)

 9/10  broker 0 adds broker 1 to the ISR
       leader_expands_isr(leader=0, joining=1)
                   role        epoch   ISR   log      HW   LEO
       controller  leader: 0   1       0 1*
       broker 0    leads       1       0 1*  m0@1 ┃   1    1
       broker 1    follows 0   0       0 1   ┃ m0@1   0    1
       controller → broker 1: LeaderAndIsr, epoch 1 (leader 0, ISR 0)

10/10  broker 1 follows the leader of epoch 1, truncating by its protocol's rule  [lost]  [violated]
       become_follower(broker=1, epoch=1)
       broker 1 loses m0 from offset 0
                   role        epoch   ISR   log      HW   LEO
       controller  leader: 0   1       0 1
       broker 0    leads       1       0 1   m0@1 ┃   1    1
       broker 1    follows 0   1*      0*    ┃*       0    0*

strong_isr is violated: it requires that for each broker that believes it leads, all members of the
quorum's ISR, from which leaders are elected, have the same records below its high watermark
    offset 0 is below the high watermark 1 of broker 0, which has m0@1 there; broker 1 of the
    quorum's ISR has no record there
    source: seed 004: a leader elected from the ISR has every record below HW; TLA+ specification,
    StrongIsr (seeds are articles: invariants/README.md)
"""
    )


def test_every_step_is_numbered_in_words_and_as_an_action_instance(folder: Path) -> None:
    run = call("show", LOSS, folder=folder)
    recorded = json.loads((folder / LOSS).read_text(encoding="utf-8"))["states"]
    for number, state in enumerate(recorded[1:], start=2):
        meta = state["#meta"]
        values = ", ".join(f"{name}={value['#bigint']}" for name, value in meta["parameters"].items())
        (index,) = (at for at, line in enumerate(run.lines) if line.startswith(f"{number:>2}/10  "))
        assert run.lines[index + 1].strip() == f"{meta['action']}({values})"
        assert f"({values})" not in run.lines[index]  # the words come first


def test_on_a_terminal_of_80_columns_only_what_changed_is_coloured(folder: Path) -> None:
    run = on_terminal("show", LOSS, folder=folder)
    assert run.code == 0
    assert run.width <= 80
    coloured = re.findall(r"\x1b\[1;33m([^\x1b]*)", run.out)
    plain = call("show", LOSS, folder=folder)
    starred = re.findall(r"(?:(?<=  )|(?<=^))(\S+(?: \S+)*)\*(?=  |$)", "\n".join(plain.lines[4:]), re.MULTILINE)
    assert " ".join(" ".join(coloured).split()) == " ".join(starred)  # a message may be wrapped
    assert len(starred) == 24
    assert "no leader" not in coloured
    assert "\x1b[1;31mstrong_isr is violated" in run.out


def test_no_color_on_a_terminal_is_plain(folder: Path) -> None:
    run = on_terminal("show", LOSS, folder=folder, NO_COLOR="1")
    assert ESCAPE.sub("", run.out) == run.out
    assert "m0@1 ┃*" in run.out


def test_a_trace_on_an_own_spec_shows_the_offending_value_and_the_source(climb: Path) -> None:
    run = call("show", CLIMB, "--spec", "stairs.py", folder=climb)
    assert (run.code, run.err) == (0, "")
    assert run.lines[:1] == ["stairs.py:spec  top=3"]
    assert run.lines[-13:] == [
        " 3/4  the climber sets its left foot one step higher",
        "       up(foot=left)",
        "              height   top",
        "       state  2*       3",
        "",
        " 4/4  the climber sets its left foot one step higher  [violated]",
        "       up(foot=left)",
        "              height   top",
        "       state  3*       3",
        "",
        "third_step_free is violated: it requires that nobody is on the third step",
        "    the climber is on step 3",
        "",
    ]


# Shown as recorded


def test_a_trace_of_an_own_spec_is_shown_as_recorded_with_the_line_to_type_to_replay_it(climb: Path) -> None:
    run = run_leadline("show", CLIMB, folder=climb)
    assert run.code == 0
    assert run.err == (
        "leadline: the trace is shown as recorded, not replayed: stairs.py:spec is a Python file, and leadline "
        "runs such a file only if you pass it with --spec. "
        f"To replay the trace, type: leadline show {CLIMB} --spec stairs.py:spec\n"
    )
    assert run.lines == [
        "stairs.py:spec  top=3",
        "",
        " 1/4  the initial state",
        "              height   top",
        "       state  0        3",
        "",
        " 2/4  up(foot=left)",
        "              height   top",
        "       state  1*       3",
        "",
        " 3/4  up(foot=left)",
        "              height   top",
        "       state  2*       3",
        "",
        " 4/4  up(foot=left)",
        "              height   top",
        "       state  3*       3",
        "",
        "about third_step_free: nobody is on the third step",
        "",
    ]


def test_a_stale_trace_is_shown_as_recorded_with_the_reason_in_one_line_however_long(folder: Path) -> None:
    def other_value(content: Any) -> None:
        content["states"][4]["next_value"] = {"#bigint": "7"}

    edit(folder / LOSS, other_value)
    for run in (run_leadline("show", LOSS, folder=folder), call("show", LOSS, folder=folder)):
        assert run.code == 1
        difference = "next_value is 1 in the model, but 7 in the file"
        reason = f"step 4: leader_writes(leader=0) leads to a different state: {difference}"
        assert run.err == f"leadline: the trace is stale, so it is shown as recorded: {reason}\n"
        assert " 5/10  leader_writes(leader=0)" in run.lines
        assert any(line.split()[:2] == ["state", "7*"] for line in run.lines)
        assert "         log: Log(records=(Record(value=0, epoch=1),))*" in run.lines


def test_a_trace_of_another_tool_is_shown_although_it_names_no_spec_and_no_actions(tmp_path: Path) -> None:
    states = [{"#meta": {"index": 0}, "pc": "start", "seen": {"#set": []}}, {"pc": "end", "seen": {"#set": [1, 2]}}]
    (tmp_path / "apalache.itf.json").write_text(
        json.dumps({"vars": ["pc", "seen"], "states": states}), encoding="utf-8"
    )
    run = call("show", "apalache.itf.json", folder=tmp_path)
    assert run.code == 0
    assert run.err.count("\n") == 1
    assert "the file does not name its spec: pass it with --spec" in run.err
    assert " 2/2  ?" in run.lines
    assert "       state  end*    {1, 2}*" in run.lines
    replayed = call("replay", "apalache.itf.json", folder=tmp_path)
    assert replayed.complaint == "the file does not name its spec: pass it with --spec"


# Which spec


@pytest.mark.parametrize("command", ["show", "replay"])
def test_spec_says_where_the_spec_is_now(climb: Path, command: str) -> None:
    (climb / "stairs.py").rename(climb / "elsewhere.py")
    run = call(command, CLIMB, "--spec", "elsewhere.py:spec", folder=climb)
    assert (run.code, run.err) == (0, "")
    assert "elsewhere.py:spec" in run.lines[0]
    if command == "replay":
        assert call(command, CLIMB, "--spec", "stairs.py", folder=climb).complaint == "there is no file stairs.py"


def test_with_a_spec_of_another_kind_show_and_replay_say_where_it_departs(folder: Path) -> None:
    reason = "step 5: become_follower(broker=1, epoch=0) is not enabled in the previous state"
    replayed = call("replay", LOSS, "--spec", "atomic/kip-320", folder=folder)
    assert (replayed.code, replayed.out, replayed.err) == (1, f"stale: {reason}\n", "")
    shown = call("show", LOSS, "--spec", "atomic/kip-320", folder=folder)
    assert (shown.code, shown.err) == (1, f"leadline: the trace is stale, so it is shown as recorded: {reason}\n")


def test_replay_says_what_it_re_executed(folder: Path) -> None:
    run = run_leadline("replay", LOSS, folder=folder)
    assert (run.code, run.err) == (0, "")
    assert run.out == "as recorded: atomic/hw-truncation, 10 states, which violates strong_isr\n"


# Stale and broken files


def action_of(state: int, name: str) -> Edit:
    return lambda content: content["states"][state]["#meta"].update(action=name)


def parameter_of(state: int, **values: str) -> Edit:
    encoded = {name: {"#bigint": value} for name, value in values.items()}
    return lambda content: content["states"][state]["#meta"]["parameters"].update(encoded)


def meta(**values: Any) -> Edit:
    return lambda content: content["#meta"].update(values)


def bounds(**values: Any) -> Edit:
    return lambda content: content["#meta"]["bounds"].update(values)


STALE: dict[str, tuple[Edit, str]] = {
    "a value of the first state": (
        lambda content: content["states"][0].update(next_value={"#bigint": "1"}),
        "the recorded initial state is not an initial state of the spec: "
        "next_value is 0 in the model, but 1 in the file",
    ),
    "a value deep in a later state": (
        lambda content: content["states"][7]["replicas"]["#tup"][0].update(high_watermark={"#bigint": "2"}),
        "step 7: advance_high_watermark(leader=0) leads to a different state: "
        "replicas[0].high_watermark is 1 in the model, but 2 in the file",
    ),
    "an action that is not enabled": (
        lambda content: content["states"][5].update(content["states"][5] | {"#meta": content["states"][6]["#meta"]}),
        "step 5: replicate(leader=0, follower=1) is not enabled in the previous state",
    ),
    "an action that there is not": (
        action_of(6, "replicates"),
        "step 6: atomic/hw-truncation has no action 'replicates': did you mean 'replicate'?",
    ),
    "another parameter": (
        parameter_of(1, broker="1"),
        "step 1: controller_elects(broker=1) leads to a different state: "
        "quorum.leader is 1 in the model, but 0 in the file",
    ),
    "an impossible parameter": (
        parameter_of(1, broker="7"),
        "step 1: controller_elects(broker=7) is not possible with brokers=2,log_size=2,records=2,max_epoch=1",
    ),
    "no action": (
        lambda content: content["states"][3].pop("#meta"),
        'step 3 does not name its action: "#meta" lacks "action" or "parameters"',
    ),
    "a state left out": (
        lambda content: content["states"].pop(8),
        "step 8: become_follower(broker=1, epoch=1) leads to a different state: quorum.isr is",
    ),
    "the end left out": (
        lambda content: content["states"].pop(),
        "every step is as recorded, but the last state no longer violates strong_isr: for each broker that believes",
    ),
    "another bound": (
        bounds(brokers=3),
        "the recorded initial state is not an initial state of the spec: quorum.isr is",
    ),
    "another property": (
        meta(property="hw_within_log"),
        "every step is as recorded, but the last state no longer violates hw_within_log: on each replica,",
    ),
    "a property that there is not": (
        meta(property="strong_irs"),
        "atomic/hw-truncation has no property 'strong_irs': did you mean 'strong_isr'?",
    ),
}


def test_show_replay_and_specs_write_what_they_show_as_an_object(folder: Path) -> None:
    (trace,) = call("show", LOSS, "--json", "-", folder=folder).json["traces"]
    assert trace == {
        "property": "strong_isr",
        "note": None,
        **call("show", LOSS, "--format", "json", folder=folder).json,
    }
    assert call("replay", LOSS, "--json", "-", folder=folder).json == {
        "trace": LOSS,
        "spec": "atomic/hw-truncation",
        "states": len(trace["states"]),
        "stale": None,
        "brokers": None,
        "exit_code": 0,
    }
    found = call("specs", "atomic/kip-320", "--json", "-", folder=folder).json["specs"][0]
    assert found["bounds"][0]["bound"] == "brokers"
    assert {"rule", "question", "decided_by", "has", "is_changed", "values"} == set(found["rules"][0])
    refused = call("show", LOSS, "--json", "-", "--format", "dot", folder=folder)
    assert refused.complaint == "--format cannot be used with --html or --json"


@pytest.mark.parametrize("what", STALE)
def test_replay_of_a_stale_trace_ends_in_1_with_one_line_that_says_where_it_departs(folder: Path, what: str) -> None:
    change, reason = STALE[what]
    edit(folder / LOSS, change)
    run = call("replay", LOSS, folder=folder)
    assert (run.code, run.err, run.out.count("\n")) == (1, "", 1)
    assert run.out.startswith(f"stale: {reason}"), run.out


BROKEN: dict[str, tuple[Edit, str]] = {
    "a bound out of range": (bounds(brokers=99), "bound brokers=99 is out of range: it must be an integer from 1 to 9"),
    "a bound that is no number": (
        bounds(brokers="many"),
        "bound brokers=many is out of range: it must be an integer from 1 to 9",
    ),
    "a bound that there is not": (bounds(broker=2), "unknown bound 'broker': did you mean 'brokers'?"),
    "a spec that there is not": (
        meta(spec="atomic/kip-1O1"),
        "unknown spec 'atomic/kip-1O1': did you mean 'atomic/kip-101'",
    ),
    "a variable that is missing": (
        lambda content: content["states"][3].pop("quorum"),
        "loss.itf.json is not an ITF trace: state 3 lacks the variable 'quorum'",
    ),
    "a value that is not ITF": (
        lambda content: content["states"][3].update(quorum={"#bigint": "three"}),
        "loss.itf.json is not an ITF trace: state 3: ",
    ),
    "a state that is no object": (
        lambda content: content["states"].__setitem__(3, 3),
        "loss.itf.json is not an ITF trace: state 3 is not a JSON object",
    ),
    "no states": (
        lambda content: content["states"].clear(),
        "loss.itf.json is not an ITF trace: the trace has no states",
    ),
    "no vars": (
        lambda content: content.pop("vars"),
        'loss.itf.json is not an ITF trace: "vars" or "states" is missing',
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_replay_of_a_broken_trace_ends_in_2_with_one_line_that_says_what_is_wrong(folder: Path, what: str) -> None:
    change, reason = BROKEN[what]
    edit(folder / LOSS, change)
    assert call("replay", LOSS, folder=folder).complaint.startswith(reason)


@pytest.mark.parametrize("command", ["show", "replay"])
def test_a_file_cut_in_half_ends_in_2_with_the_line_where_it_ends(folder: Path, content: str, command: str) -> None:
    half = content[: len(content) // 2]
    (folder / LOSS).write_text(half, encoding="utf-8")
    complaint = run_leadline(command, LOSS, folder=folder).complaint
    assert complaint.startswith("loss.itf.json is not valid JSON: ")
    (line,) = re.findall(r"at line (\d+)$", complaint)
    assert abs(int(line) - half.count("\n") - 1) <= 1


@pytest.mark.parametrize("command", ["show", "replay"])
@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (b"", "is not valid JSON: Expecting value at line 1"),
        (b"\xff\xfe\x00", "is not a trace file: it is not UTF-8 text"),
        (b"[1, 2]", 'is not an ITF trace: "vars" or "states" is missing'),
        (b"[" * 100_000, "is not a trace file: "),
    ],
    ids=["empty", "binary", "a list", "too deep"],
)
def test_a_file_that_is_no_trace_ends_in_2(tmp_path: Path, command: str, made: bytes, reason: str) -> None:
    (tmp_path / "x.itf.json").write_bytes(made)
    assert call(command, "x.itf.json", folder=tmp_path).complaint.startswith(f"x.itf.json {reason}")


@pytest.mark.parametrize("command", ["show", "replay"])
def test_a_file_that_cannot_be_read_ends_in_2(tmp_path: Path, command: str) -> None:
    absent = call(command, "absent.itf.json", folder=tmp_path)
    assert absent.complaint == "cannot read absent.itf.json: No such file or directory"
    of_a_folder = {"show": "there is no .itf.json file in .", "replay": "cannot read .: Is a directory"}
    assert call(command, ".", folder=tmp_path).complaint == of_a_folder[command]
