"""The explorer: pages of a state space, one step at a time, from a server on the loopback interface."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from leadline.checker import LeadlineError, Trace, TraceError
from leadline.checker.engines import ENGINES
from leadline.invariants.catalog import CATALOG
from leadline.reports.explorer import LOOPBACK, answer, path_of, server, trace_of
from leadline.reports.loading import load_spec
from tests.suite.command import COMMAND, STAIRS, call, environment, write

SPEC = CATALOG["atomic/hw-truncation"].with_properties(["strong_isr", "record_committed"])


def test_a_path_and_its_trace_are_the_same_behaviour() -> None:
    (trace, *_) = ENGINES["compiled"](SPEC).properties[0].traces
    followed = trace_of(SPEC, path_of(trace))
    assert (followed.states, followed.instances) == (trace.states, trace.instances)
    assert followed.about is not None
    assert followed.about.name == "strong_isr"


def test_a_page_has_a_link_for_each_step_that_is_enabled() -> None:
    found = answer(SPEC, "/?path=0")
    assert found.status == 200
    (start,) = SPEC.initials()
    links = re.findall(r'href="/\?path=0,(\d+)"', found.content)
    assert links == [str(number) for number in range(len(list(SPEC.successors(start))))]
    assert "<details><summary>In the last state, all properties are true</summary>" in found.content
    assert 'strong_isr <span class="holds">true</span>' in found.content


def test_a_page_at_a_violation_says_so_and_leads_back() -> None:
    (trace, *_) = ENGINES["compiled"](SPEC).properties[0].traces
    path = ",".join(map(str, path_of(trace)))
    found = answer(SPEC, f"/?path={path}").content
    before, _, others = found.partition("<details><summary>In the last state, the other properties are true</summary>")
    assert 'strong_isr <span class="violated">violated</span>' in before
    assert "violated</span>" not in others.partition("</details>")[0]
    assert f'href="/?path={path.rpartition(",")[0]}">undo' in found


def test_the_way_is_saved_as_a_trace_that_replays(tmp_path: Path) -> None:
    found = answer(SPEC, "/trace.itf.json?path=0,1,0")
    assert len(json.loads(found.content)["states"]) == 3
    (tmp_path / "walk.itf.json").write_text(found.content, encoding="utf-8")
    run = call("replay", "walk.itf.json", folder=tmp_path)
    assert (run.code, run.out) == (0, "as recorded: atomic/hw-truncation, 3 states\n")


@pytest.mark.parametrize(
    ("target", "status", "text"),
    [
        ("/?path=0,99", 400, "choice 99 in the path does not exist"),
        ("/?path=0,-1", 400, "a path must consist of at most 1,000 numbers"),
        ("/?path=" + "0," * 1000 + "0", 400, "a path must consist of at most 1,000 numbers"),
        ("/?path=0," + "1" * 5000, 400, "a path must consist of at most 1,000 numbers"),
        ("http://[/", 400, "this is not an address"),
        ("/etc/passwd", 404, "there is no page at this address"),
    ],
)
def test_other_addresses_are_refused_in_a_line(target: str, status: int, text: str) -> None:
    found = answer(SPEC, target)
    assert (found.status, found.kind) == (status, "text/plain")
    assert text in found.content


def test_a_release_with_a_rule_changed_is_explored_and_its_trace_replays(tmp_path: Path) -> None:
    found = answer(load_spec("kafka/3.7+elr=on"), "/trace.itf.json?path=0,0,0")
    (tmp_path / "walk.itf.json").write_text(found.content, encoding="utf-8")
    run = call("replay", "walk.itf.json", folder=tmp_path)
    assert (run.code, run.out) == (0, "as recorded: kafka/3.7+elr=on, 3 states\n")


def test_a_long_way_goes_on(tmp_path: Path) -> None:
    spec = load_spec("stairs.py", folder=write(tmp_path, stairs=STAIRS))
    path = "0" + ",0,2" * 40  # up and down again
    assert f'href="/?path={path},0"' in answer(spec, f"/?path={path}").content


def test_a_trace_that_is_longer_than_an_address_is_refused() -> None:
    (start,) = SPEC.initials()
    (instance, _), *_ = SPEC.successors(start)
    with pytest.raises(TraceError, match=r"a trace of 1,001 states cannot be explored: the limit is 1,000"):
        path_of(Trace(SPEC, [start] * 1001, [instance] * 1000))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ("x.itf.json", "--rule", "elr=on", "-b", "brokers=3"),
            "--rule, -b requires a SPEC, but x.itf.json is a trace",
        ),
        (("rpc/kip-320", "--spec", "rpc/kip-101"), "--spec requires a TRACE, a file whose name ends with .itf.json"),
        (("atomic/kip-320", "--rule", "elr=on"), "atomic/kip-320"),
        (("kafka/3.7", "--rule", "elr=maybe"), "elr"),
    ],
)
def test_what_cannot_be_explored_ends_in_2(tmp_path: Path, arguments: tuple[str, ...], complaint: str) -> None:
    assert complaint in call("serve", *arguments, folder=tmp_path).complaint


def test_ctrl_c_ends_the_server(tmp_path: Path) -> None:
    command = [COMMAND, "serve", "kafka/3.7+elr=on", "-i", "strong_isr"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    ) as process:
        assert process.stdout is not None
        said = re.fullmatch(r"exploring kafka/3.7\+elr=on at (http://\S+) until Ctrl-C\n", process.stdout.readline())
        assert said is not None
        with urllib.request.urlopen(said[1]) as response:
            assert 'strong_isr <span class="holds">true</span>' in response.read().decode()
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == 0


@pytest.fixture
def address() -> Iterator[str]:
    """The address of a server that runs."""
    with server(SPEC, 0) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://{LOOPBACK}:{running.server_address[1]}/"
        running.shutdown()
        thread.join()


def test_the_server_answers_whoever_asks_for_it_on_this_machine(address: str) -> None:
    with urllib.request.urlopen(address) as response:
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert "what can happen next" in response.read().decode()
    elsewhere = urllib.request.Request(address, headers={"Host": "example.org"})
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(elsewhere)
    with pytest.raises(urllib.error.HTTPError, match="501"):
        urllib.request.urlopen(address, data=b"")


def test_a_port_that_is_taken_is_named(address: str) -> None:
    port = int(address.rstrip("/").rpartition(":")[2])
    with pytest.raises(LeadlineError, match=f"cannot listen on port {port}"):
        server(SPEC, port)


def test_a_trace_that_the_spec_does_not_have_has_no_path() -> None:
    (trace, *_) = ENGINES["compiled"](SPEC).properties[0].traces
    other = CATALOG["atomic/kip-320"].with_bounds({"brokers": 3})
    with pytest.raises((TraceError, ValueError)):
        path_of(type(trace)(other, trace.states, trace.instances))


PROMISES = """
@always_eventually("the climber comes down again and again")
def comes_down(state: Climber) -> bool:
    return state.height == 0


@eventually("the climber gets to the top")
def arrives(state: Climber) -> bool:
    return state.height == state.top


@recoverable("the climber can come down")
def can_come_down(state: Climber) -> bool:
    return state.height == 0


"""


def promised(folder: Path) -> Path:
    """A folder with the stairs and what has to happen on them."""
    source = STAIRS.replace("import Spec,", "import Spec, always_eventually, eventually, recoverable,")
    source = source.replace("spec = Spec", f"{PROMISES}spec = Spec").replace(
        '@action("the climber goes one step down")', '@action("the climber goes one step down", fair="weak")'
    )
    return write(folder, stairs=source.replace("properties=[", "properties=[comes_down, arrives, can_come_down, "))


def liveness(found: str) -> dict[str, str]:
    """The verdicts of the liveness properties on a page."""
    names = "comes_down|arrives|can_come_down"
    return dict(re.findall(rf"<li>({names}) <span class=\"[a-z]*\">([^<]*)</span>", found))


def test_a_page_judges_the_endless_behaviour_that_its_end_begins(tmp_path: Path) -> None:
    spec = load_spec(str(promised(tmp_path) / "stairs.py"))
    undecided = "not decided here"
    at_start = liveness(answer(spec, "/?path=0").content)
    assert at_start == {
        "comes_down": undecided,
        "arrives": "violated for ever from state 1 on",
        "can_come_down": undecided,
    }, "nothing has to happen at the foot of the stairs"
    up = liveness(answer(spec, "/?path=0,0").content)
    assert up["arrives"] == undecided, "going down is fair, so the climber does not stay there"
    down = next(
        number
        for number, (step, _) in enumerate(spec.successors(trace_of(spec, (0, 0)).states[1]))
        if step.action.name == "down"
    )
    again = answer(spec, f"/?path=0,0,{down}").content
    assert liveness(again)["arrives"] == "violated for ever from state 1 on"
    assert "arrives is violated" in again


def test_a_saved_lasso_is_opened_with_its_loop(tmp_path: Path) -> None:
    spec = load_spec(str(promised(tmp_path) / "stairs.py"))
    item = ENGINES["compiled"](spec.with_properties(["arrives"])).of("arrives")
    (trace,) = item.traces
    opened = trace_of(spec, path_of(trace))
    assert opened.about is not None
    assert (opened.about.name, opened.loop, opened.states) == ("arrives", trace.loop, trace.states)
