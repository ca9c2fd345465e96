"""Hunts: causes are found one after another, and none hides the next."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import attrs
import pytest

from leadline.checker import action, eventually, invariant
from leadline.checker.errors import LeadlineError
from leadline.checker.result import Limits, Result, Verdict
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace
from leadline.checker.traces.replay import executed
from leadline.reports.diagnosis import allows
from leadline.reports.differences import nearest_release
from leadline.reports.hunt import cures
from leadline.reports.hunt.cures import (
    CAUSES,
    EARLIER,
    KNOWN,
    LATER,
    NEW,
    SHARED,
    UNEXPLAINED,
    Cure,
    World,
    base_spec,
    cures_of,
)
from leadline.reports.hunt.deciding import OutOfTime, is_allowed, lowered_bounds, with_possible
from leadline.reports.hunt.engines import on_this_machine
from leadline.reports.hunt.hunt import Hunt, prepared, renewed
from leadline.reports.hunt.plan import Failure, Plan, Setting, read_plan, shipped_plan
from leadline.reports.hunt.report import Cause, HuntReport, SpecHunt, read_hunt
from leadline.reports.hunt.together import Together
from leadline.reports.kafka.bugs import Archive, Bug, read_archive
from leadline.reports.kafka.kept_behaviours import kept_steps
from leadline.reports.loading import load_spec, mixed_in
from leadline.reports.toml_files import Values
from tests.bench.bench_hunt import matching, pairs
from tests.suite.command import call, run_leadline
from tests.suite.samples import EVERY

BOILER = """\
from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, invariant


@frozen
class Bounds:
    heats: int = bound(0, "how often it is heated", at_least=0, at_most=9)
    leaks: int = bound(0, "how often it leaks", at_least=0, at_most=9)
    thermostat: bool = bound(False, "whether heating stops in time")


@frozen
class Boiler:
    bounds: Bounds
    heat: int = 0
    leaked: int = 0
    doors: int = 0


@action("it is heated")
def heating(state: Boiler) -> Iterator[Boiler]:
    stops = state.bounds.thermostat and state.heat == 1
    if state.heat < state.bounds.heats and not stops:
        yield evolve(state, heat=state.heat + 1)


@action("it leaks")
def leaking(state: Boiler) -> Iterator[Boiler]:
    if state.leaked < state.bounds.leaks:
        yield evolve(state, leaked=state.leaked + 1)


@action("its door opens")
def opening(state: Boiler) -> Iterator[Boiler]:
    if state.doors < 1:
        yield evolve(state, doors=state.doors + 1)


@invariant("it is neither too hot nor too dry")
def safe(state: Boiler) -> bool:
    return state.heat < 2 and state.leaked < 2


spec = Spec(
    name="boiler",
    initial_states=lambda bounds: [Boiler(bounds)],
    actions=[heating, leaking, opening],
    properties=[safe],
    bounds=Bounds(),
)
"""

PLAN = """\
most = 4

[[failures]]
name = "heat"
bounds = { heats = 1 }
most = 2

[[failures]]
name = "leak"
bounds = { leaks = 1 }
most = 2
"""

CURES = """
[[cures]]
name = "thermostat"
bounds = { thermostat = true }
ticket = "HEAT-1"

[[cures]]
name = "seal"
without = ["leaking"]
"""


def hunted(folder: Path, *arguments: str, plan: str = PLAN + CURES) -> tuple[int, dict[str, Any], str]:
    (folder / "boiler.py").write_text(BOILER)
    (folder / "plan.toml").write_text(plan)
    base_spec.cache_clear()  # a new command reads its spec again
    run = call("hunt", "boiler.py", "--plan", "plan.toml", "--json", "hunt.json", *arguments, folder=folder)
    assert not _without_findings(run.err) or run.code == 3, run.err
    return run.code, json.loads((folder / "hunt.json").read_text()), run.out


def made(plan: Plan, reference: str, seconds: float = 600, workers: int | None = 1) -> SpecHunt:
    """Make a hunt of one spec without the command line, and return what it found."""
    report = HuntReport(plan="own", digest="", specs=prepared(plan, [reference]))
    Hunt(
        plan=plan,
        report=report,
        until=time.monotonic() + seconds,
        watch=lambda _: lambda _: None,
        save=lambda: None,
        explore=on_this_machine(workers=workers),
        workers=workers,
    ).run()
    (own,) = report.specs
    return own


def _without_findings(err: str) -> str:
    """Return what a hunt writes to stderr without the causes, which are shown when they are found."""
    return "".join(line for line in err.splitlines(keepends=True) if not line.startswith("leadline: found in "))


def test_one_cause_does_not_hide_the_next(tmp_path: Path) -> None:
    code, found, out = hunted(tmp_path)
    (own,) = found["specs"]
    assert [(cause["name"], cause["ticket"], cause["length"]) for cause in own["causes"]] == [
        ("thermostat", "HEAT-1", 3),
        ("seal", "", 3),
    ]
    assert [cause["decided"] for cause in own["causes"]] == [True, True]
    assert own["causes"][0]["bounds"] == {"heats": 2, "leaks": 0, "thermostat": False}
    assert own["causes"][0]["steps"] == ["it is heated", "it is heated"]
    assert [cause["search"] in own["planned"] for cause in own["causes"]] == [True, True]
    assert 0 <= own["causes"][0]["cpu_seconds"] <= own["causes"][1]["cpu_seconds"] <= own["cpu_seconds"]
    assert [search["verdict"] for search in own["searches"]] == ["holds"] * len(own["planned"])
    assert own["searches"][-1]["cures"] == ["thermostat", "seal"]
    assert code == 1, "a cause has no name"
    assert "safe holds with thermostat" in out
    assert "leadline explore boiler.py:spec -i safe -b heats=2" in out


def test_a_known_cause_that_is_not_decided_is_named_before_others_are_tried(tmp_path: Path) -> None:
    """It is named by its ticket, because it makes the trace impossible. But nothing shows that this is the cause."""
    heat = CURES.split('[[cures]]\nname = "seal"')[0]
    plan = "deciding_seconds = 1e-9\nrandom_seconds = 0\n" + PLAN.split('[[failures]]\nname = "leak"')[0] + heat
    code, found, out = hunted(tmp_path, plan=plan)
    (cause,) = found["specs"][0]["causes"]
    assert (cause["name"], cause["ticket"], cause["decided"]) == ("thermostat", "HEAT-1", False)
    assert "safe has a trace that is impossible (nothing more was decided) with thermostat" in out
    assert [search["verdict"] for search in found["specs"][0]["searches"]] == ["holds"] * 3
    assert code == 3, "every search is complete, but a cause is not decided"


def test_a_violation_that_is_found_as_the_time_ends_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = iter([1.0] * 4)  # the fourth search finds it, and there is no time to decide its cause

    def within(*_: object) -> float:
        for seconds in limits:
            return seconds
        raise OutOfTime

    monkeypatch.setattr("leadline.reports.hunt.hunt._SpecSearch._within", within)
    code, found, out = hunted(tmp_path, plan=PLAN + CURES)
    (own,) = found["specs"]
    assert [(cause["name"], cause["decided"], cause["length"]) for cause in own["causes"]] == [("thermostat", False, 3)]
    assert found["left"]["boiler.py"]
    assert "a shortest trace of 3 states" in out
    assert code == 3


def test_every_cause_with_a_name_is_as_expected(tmp_path: Path) -> None:
    code, found, _ = hunted(tmp_path, plan=PLAN + CURES.replace("without", 'by_design = "boilers leak"\nwithout'))
    assert code == 0
    assert found["specs"][0]["causes"][1]["by_design"] == "boilers leak"


def test_two_causes_within_the_same_bounds(tmp_path: Path) -> None:
    """The first search allows both, so that no cure is enough by itself."""
    plan = '[[settings]]\nname = "both"\nbounds = { heats = 2, leaks = 2 }\n' + CURES
    _, found, _ = hunted(tmp_path, plan=plan)
    causes = {cause["name"]: cause for cause in found["specs"][0]["causes"]}
    assert set(causes) == {"thermostat", "seal"}
    assert all(cause["decided"] for cause in causes.values())


def test_a_cause_without_a_cure_is_not_found_again(tmp_path: Path) -> None:
    plan = PLAN + CURES.split('[[cures]]\nname = "seal"')[0]
    code, found, _ = hunted(tmp_path, plan=plan)
    (own,) = found["specs"]
    assert [cause["name"] for cause in own["causes"]] == ["thermostat", "no cure (safe)"]
    blocked = [search["name"] for search in own["searches"] if search["not_searched"]]
    assert blocked
    assert all("2 x leak" in name for name in blocked)
    assert code == 1


def test_a_spec_without_named_cures_has_its_actions_left_out(tmp_path: Path) -> None:
    _, found, said = hunted(tmp_path, plan=PLAN)
    causes = found["specs"][0]["causes"]
    assert [cause["name"] for cause in causes] == ["thermostat=true", "without leaking"]
    assert "safe holds with thermostat=true" in said


EARLY = """
import attrs

from leadline.invariants.families.kafka import KAFKA
from leadline.model.kafka.broker import Replica
from leadline.model.kafka.releases import column_of


def nearly(leader: Replica, offset: int) -> bool:
    return offset >= leader.high_watermark - 1


column = column_of("kafka/4.3")
protocol = attrs.evolve(column.protocol(), name="early", admits=nearly)
spec = KAFKA.spec(column, protocol).with_properties(["leader_candidates_complete"])
"""


def test_a_hunt_of_a_changed_release_names_the_changed_rule(tmp_path: Path) -> None:
    """Leaving out actions, such as the production of records, would explain nothing."""
    (tmp_path / "early.py").write_text(EARLY)
    run = call("hunt", "early.py", folder=tmp_path)
    assert run.code == 1, run.err
    assert run.lines[2:6] == [
        "early.py",
        "changed rule: admits as in kafka/4.3",
        "  the nearest release has another rule admits: nearly → at the start of the epoch",
        "  leader_candidates_complete holds with admits as in kafka/4.3",
    ]


@pytest.mark.parametrize("name", ["kafka/0.10.2", "kafka/2.8", "kafka/3.3-zk", "kafka/4.1"])
def test_the_nearest_release_of_a_release_is_itself(name: str) -> None:
    assert nearest_release(base_spec(name)) == (name, [])
    assert nearest_release(base_spec("atomic/kip-320")) is None


def test_a_saved_hunt_is_resumed(tmp_path: Path) -> None:
    code, first, _ = hunted(tmp_path, "--save", "saved.json", "--minutes", "0.00001")
    assert code == 3
    assert first["left"]["boiler.py"] == first["specs"][0]["planned"]
    code, second, _ = hunted(tmp_path, "--save", "saved.json")
    assert (code, second["left"]["boiler.py"]) == (1, [])
    saved = read_hunt(tmp_path / "saved.json")
    assert [cause.name for cause in saved.specs[0].causes] == ["thermostat", "seal"]
    _, third, _ = hunted(tmp_path, "--save", "saved.json")
    assert third["specs"] == second["specs"], "nothing was searched again"


def test_a_spec_that_has_changed_is_searched_again(tmp_path: Path) -> None:
    """What was saved of the old spec would be an exit code 0 for a spec that is violated."""
    for most, code in ((9, 0), (1, 1)):
        spec = BOILER.replace("heat < 2 and state.leaked < 2", f"doors <= {most}").replace("doors < 1", "doors < 2")
        (tmp_path / "boiler.py").write_text(spec)
        base_spec.cache_clear()
        run = call("hunt", "boiler.py", "--save", "saved.json", folder=tmp_path)
        assert run.code == code, run.err
    assert _without_findings(run.err) == (
        "leadline: the code or the data of boiler.py has changed since saved.json was written: "
        "all its searches are made again\n"
    )
    base_spec.cache_clear()
    assert call("hunt", "boiler.py", "--save", "saved.json", folder=tmp_path).err == "", "nothing has changed"


READS = {
    "open": "int(open('most').read())",
    "builtins": "builtins.leadline_most",
    "leadline_most": "leadline_most",
    "environ": "int(os.environ['MOST'])",
    "globals": "globals()['mo' + 'st']()",
}


@pytest.mark.parametrize("read", READS)
def test_a_spec_that_may_read_data_that_has_changed_is_searched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    """The code and all data that it can reach before a call are the same."""
    spec = BOILER.replace("heat < 2 and state.leaked < 2", f"doors <= {READS[read]}").replace("doors < 1", "doors < 2")
    (tmp_path / "boiler.py").write_text(f"import builtins, os\ndef most(): return {READS['environ']}\n{spec}")
    for most, code in ((9, 0), (1, 1)):
        (tmp_path / "most").write_text(str(most))
        monkeypatch.setenv("MOST", str(most))
        monkeypatch.setattr("builtins.leadline_most", most, raising=False)
        base_spec.cache_clear()
        run = call("hunt", "boiler.py", "--save", "saved.json", folder=tmp_path)
        assert run.code == code, run.err
    assert run.err.startswith("leadline: boiler.py uses ")
    assert _without_findings(run.err).endswith(
        ", so that what it reads may have changed since saved.json was written: all its searches are made again\n"
    )


def test_what_was_saved_by_another_leadline_is_searched_again(tmp_path: Path) -> None:
    hunted(tmp_path, "--save", "saved.json")
    saved = read_hunt(tmp_path / "saved.json")
    with mock.patch("leadline.reports.hunt.hunt.leadline_digest", return_value=b"another"):
        now = prepared(read_plan(tmp_path / "plan.toml"), [f"{tmp_path}/boiler.py"])
    before = attrs.evolve(now[0], code=saved.specs[0].code, searches=saved.specs[0].searches)
    report = HuntReport(plan="", digest="", specs=[before])
    assert [*renewed(report, now)] == [now[0].reference]
    assert report.specs == now, "no search is taken over"


def test_a_full_disk_ends_no_hunt(tmp_path: Path) -> None:
    """Everything that was found is printed all the same."""
    (tmp_path / "boiler.py").write_text(BOILER)
    (tmp_path / "plan.toml").write_text(PLAN + CURES)
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with mock.patch("leadline.reports.hunt.report.replace_file", side_effect=full):
        run = call("hunt", "boiler.py", "--plan", "plan.toml", "--save", "saved.json", folder=tmp_path)
    assert "safe holds with thermostat" in run.out
    assert _without_findings(run.err) == (
        "leadline: cannot write saved.json: No space left on device; the hunt continues\n"
        "leadline: the hunt is not saved to saved.json, which cannot be written\n"
    )
    assert run.code == 2


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('"seconds"', '"secs"', "saved.json is damaged: its checksum does not match"),
        ('"heats": 2', '"heats": NaN', "saved.json is damaged: its checksum does not match"),
        ('"heats": 2,', "", "saved.json is damaged: its checksum does not match"),
        ("{", "", "saved.json is damaged: it is not valid JSON"),
    ],
)
def test_a_saved_hunt_that_is_damaged_is_refused(tmp_path: Path, before: str, after: str, message: str) -> None:
    hunted(tmp_path, "--save", "saved.json")
    file = tmp_path / "saved.json"
    file.write_text(file.read_text().replace(before, after, 1))
    run = call("hunt", "boiler.py", "--plan", "plan.toml", "--save", "saved.json", folder=tmp_path)
    assert (run.code, run.err) == (2, f"leadline: {message}\n")


def test_a_saved_hunt_of_another_plan_is_refused(tmp_path: Path) -> None:
    hunted(tmp_path, "--save", "saved.json")
    (tmp_path / "other.toml").write_text(PLAN)
    run = call("hunt", "boiler.py", "--plan", "other.toml", "--save", "saved.json", folder=tmp_path)
    assert run.code == 2
    assert run.err == (
        "leadline: saved.json contains a hunt with other specs or another plan: pass another file to --save\n"
    )


def test_the_page_of_a_hunt_has_the_traces(tmp_path: Path) -> None:
    hunted(tmp_path, "--html", "hunt.html")
    page = (tmp_path / "hunt.html").read_text()
    assert "HEAT-1: thermostat, in boiler.py" in page
    assert "without a name: seal, in boiler.py" in page
    assert "what was searched of boiler.py" in page
    named = re.findall(r"found after ([0-9.]+) s of processor time", page)
    told = json.loads((tmp_path / "hunt.json").read_text())["specs"][0]
    assert named == [f"{cause['cpu_seconds']:.1f}" for cause in told["causes"]]


@pytest.mark.parametrize(
    ("plan", "error"),
    [
        ("mots = 1", "plan.toml: unknown key 'mots': did you mean 'most'?"),
        ("settings = []", "plan.toml: settings and sizes need at least one entry"),
        ("most = 1.5", "plan.toml is not the plan of a hunt: most must be an integer, not 1.5"),
        ('properties = "safe"', "plan.toml: properties must be a list"),
        (
            '[[failures]]\nname = "x"\nbounds = { heats = 1 }',
            "plan.toml: there are failures, but most is 0: set most to the number of failures in one search, such as "
            "most = 2",
        ),
        (
            'most = 1\n[[failures]]\nname = "x"\nbounds = { heats = -1 }',
            "plan.toml: failure 'x' adds -1 to the bound 'heats': expected at least 1",
        ),
        (
            '[[cures]]\nname = "x"\nwithout = ["leaking"]\n[[cures]]\nname = "x"\nwithout = ["heating"]',
            "plan.toml: cures: the name 'x' is used twice",
        ),
        (
            "seconds = 0",
            "plan.toml: seconds and deciding_seconds must be greater than 0, and random_seconds at least 0",
        ),
        ('properties = ["save"]', "the plan names no property of boiler.py:spec, only save"),
        (
            "sizes = [{ width = 2 }]",
            "the plan does not fit boiler.py:spec: unknown bound 'width': choose from 'heats', 'leaks', 'thermostat'",
        ),
        (
            '[[cures]]\nname = "x"\nwithout = ["heat"]',
            "cure 'x' leaves out 'heat', which is not an action of boiler.py:spec",
        ),
        (
            '[[failures]]\nname = "x"\nbounds = { heats = 1 }\ninstead_of = ["y"]',
            "plan.toml: instead_of names an unknown failure 'y': did you mean 'x'?",
        ),
        ('[[settings]]\nname = "x"\nwithout = ["y"]', "plan.toml: without names an unknown failure 'y'"),
        ('[[cures]]\nname = "x"', "cure 'x' changes nothing: give it bounds, or actions in `without`"),
    ],
)
def test_a_wrong_plan_is_an_error(tmp_path: Path, plan: str, error: str) -> None:
    (tmp_path / "boiler.py").write_text(BOILER)
    (tmp_path / "plan.toml").write_text(plan)
    run = call("hunt", "boiler.py", "--plan", "plan.toml", folder=tmp_path)
    assert (run.code, run.err) == (2, f"leadline: {error}\n")


# --- Kafka's releases -----------------------------------------------------------------------------------------------


def test_bounds_are_lowered_as_far_as_the_trace_allows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "boiler.py").write_text(BOILER)
    spec = base_spec("boiler.py").with_bounds({"heats": 5, "leaks": 3})
    heat = next(instance for instance in spec.instances if instance.action.name == "heating")
    states = [spec.initials()[0]]
    for _ in range(2):
        states += spec.take(heat, states[-1])
    world = World("boiler.py", {"heats": 5, "leaks": 3})
    trace = Trace(spec, states, [heat, heat], spec.checks[0])
    assert lowered_bounds(world, spec.checks[0], trace, frozenset(), math.inf) == {"heats": 2, "leaks": 0}
    assert lowered_bounds(world, spec.checks[0], trace, frozenset(), time.monotonic()) == {"heats": 5, "leaks": 3}


KAFKA_PLAN = shipped_plan(base_spec("kafka/4.3")) or Path()


def test_the_cures_of_a_release() -> None:
    cures = {cure.name: cure for cure in cures_of("kafka/4.3")}
    assert cures["same_record=skipped"].rank == KNOWN
    assert cures["same_record=skipped"].ticket == "no ticket: forgotten proposal"
    assert cures["last_known_leader=forgotten"].by_design
    assert cures["elr=off"].rank == EARLIER
    assert cures["elr=on-unchecked"].rank == NEW
    assert {cures[name].rank for name in ("response_hw=new", "hw_checkpoint=exact", "elections=later")} == {SHARED}
    assert {cure.ticket for cure in cures_of("kafka/4.0") if cure.ticket.startswith("KAFKA")} == {"KAFKA-15495"}


def test_the_shipped_plan_fits_every_release_with_kraft() -> None:
    plan = read_plan(KAFKA_PLAN)
    for name in ("kafka/3.3", "kafka/4.1", "kafka/4.3", "kafka/3.9-zk", "kafka/2.8"):
        searches = plan.searches(base_spec(name))
        assert len({search.name for search in searches}) == len(searches)
    of_kafka, other = Plan(settings=plan.settings), base_spec("atomic/kip-320")
    with pytest.raises(LeadlineError, match="the plan does not fit atomic/kip-320: unknown bound"):
        of_kafka.searches(other)


def test_a_hunt_checks_what_applies_within_the_bounds_of_each_search(tmp_path: Path) -> None:
    (tmp_path / "boiler.py").write_text(BOILER)
    spec: Spec[Any] = load_spec(str(tmp_path / "boiler.py"))
    (safe,) = spec.properties
    spec = attrs.evolve(spec, properties=[attrs.evolve(safe, applies=lambda bounds: bounds.leaks > 0)])
    with_leaks = Failure(name="leak", bounds={"leaks": 1})
    for plan in (Plan(failures=[with_leaks]), Plan(failures=[with_leaks], properties=["safe"])):
        plan = attrs.evolve(plan, settings=[Setting(name="default")], sizes=[{}], most=1)
        assert {search.name: search.properties for search in plan.searches(spec)} == {"default, leak": ("safe",)}


def test_searches_are_from_small_to_large() -> None:
    searches = [search.name for search in read_plan(KAFKA_PLAN).searches(base_spec("kafka/4.3"))]
    first = [name.removeprefix("acks=all, min.insync.replicas=2, ") for name in searches]
    few, more = "at most 2 failures of any kind", "at most 3 failures of any kind"
    in_order = [
        *(f"brokers=2, {few}, each cause apart", f"brokers=2, {few}"),
        *(f"brokers=2, {more}", f"brokers=2, another record + {few}", f"brokers=2, another record + {more}"),
        *(f"brokers=3, max_epoch=1, {more}", f"brokers=3, max_epoch=1, 2 x another leader epoch + {more}"),
    ]
    assert sorted(in_order, key=first.index) == in_order
    assert f"brokers=3, max_epoch=1, first partition with 2 replicas + {more}" in first
    assert not [name for name in first if "with 1 replica + first partition with 2 replicas" in name]


def test_a_search_to_which_a_plan_adds_no_failure_says_whether_the_bounds_have_some() -> None:
    groups, atomic = base_spec("group/2.8"), base_spec("atomic/kip-320")
    searches = read_plan(shipped_plan(groups) or Path()).searches(groups)
    assert searches[0].name == "the default assignor, clients=2, only failures of the default bounds"
    none = Setting(name="none", bounds=dict.fromkeys(atomic.family.perturbations, 0))
    assert [search.name for search in Plan(settings=[none]).searches(atomic)] == ["none, no failure"]


def test_one_search_of_many_failures_visits_what_a_search_of_each_does() -> None:
    """It visits common states once. The last failure may be one more than the most, and nothing is found with more."""
    bounds: Values = {"acks": "all", "min_insync_replicas": 2, "records": 1, "crashes": 0, "isr_shrinks": 0}
    settings = [Setting(name="one record", bounds={**bounds, "missed_bounces": 0})]
    lossy = Failure(name="lossy crash", bounds={"lossy_crashes": 1}, breaks=["weak_isr"])
    failures = [Failure(name="crash", bounds={"crashes": 1}), lossy]

    def searched(together: bool, most: int) -> tuple[list[int], set[str]]:
        plan = Plan(settings=settings, failures=failures, together=together, most=most)
        numbers, found = list[int](), set[str]()
        for each in plan.searches(base_spec("kafka/2.0.0")):
            if not each.apart:
                spec = World(each.reference, each.bounds, together=each.together).spec(each.properties)
                result = on_this_machine(1)(spec, Limits(keep_going=True), lambda _: None)
                numbers.append(result.statistics.distinct)
                found |= {item.property.name for item in result.properties if item.verdict is Verdict.VIOLATED}
        return numbers, found

    (none, *each), alone = searched(False, 1)
    (number,), together = searched(True, 1)
    assert number == sum(each) - none
    assert alone <= together <= searched(False, 2)[1]
    assert "weak_isr" not in together, "a lossy crash breaks it"


@attrs.frozen
class Stops:
    stops: int = 0


@attrs.frozen
class Job:
    is_done: bool = False
    spent: Stops = Stops()


@action("it works", fair="weak")
def work(state: Job) -> Iterator[Job]:
    if not state.is_done and not state.spent.stops:
        yield attrs.evolve(state, is_done=True)


@action("it stops")
def stop(state: Job) -> Iterator[Job]:
    if not state.is_done and not state.spent.stops:
        yield attrs.evolve(state, spent=Stops(1))


@invariant("it goes on")
def goes_on(state: Job) -> bool:
    return state.is_done or not state.spent.stops


@eventually("it ends")
def ends(state: Job) -> bool:
    return state.is_done


def test_a_promise_is_not_judged_after_failures_that_break_it() -> None:
    spec = Spec(name="job", initial_states=lambda _: [Job()], actions=[work, stop], properties=[goes_on, ends])
    broken = Together(("stops",), 1, (("goes_on", {"stops": 1}), ("ends", {"stops": 1})))
    kept = Together(("stops",), 1, (("goes_on", {"stops": 2}), ("ends", {"stops": 2})))
    answers = [
        on_this_machine(1)(each.limited(spec), Limits(keep_going=True), lambda _: None) for each in (broken, kept)
    ]
    assert [[item.verdict for item in result.properties] for result in answers] == [
        [Verdict.HOLDS] * 2,
        [Verdict.VIOLATED] * 2,
    ]


def test_what_a_cure_could_hide_is_listed_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A violation after other failures is listed too, if other rules stop its steps, and is decided at the end."""
    monkeypatch.setattr(cures, "archive_with_causes", lambda: Archive(bugs=[]))
    cures_of.cache_clear()
    bounds: Values = {"acks": "all", "min_insync_replicas": 2, "records": 1, "crashes": 0, "isr_shrinks": 0}
    failures = [Failure(name=name, bounds={name: 1}) for name in ("session_expiries", "shutdowns", "late_fetches")]
    plan = Plan(
        settings=[Setting(name="one record", bounds={**bounds, "missed_bounces": 0})],
        failures=failures, properties=["isr_members_active"], together=True, most=2, random_seconds=0, seconds=60,
    )  # fmt: skip
    own = made(plan, "kafka/2.0.0")
    cures_of.cache_clear()
    apart = "one record, at most 2 failures of any kind, each cause apart"
    assert [search.verdict for search in own.searches if search.name == apart] == ["holds"]
    listed = [cause for cause in own.causes if cause.search == apart]
    assert listed
    assert not any(cause.is_only_listed for cause in own.causes)
    assert all(cause.decided for cause in own.causes)
    assert len({(cause.name, *cause.bounds.values()) for cause in own.causes}) == len(own.causes)


def test_a_plan_for_kafka_is_not_for_other_specs(tmp_path: Path) -> None:
    (tmp_path / "boiler.py").write_text(BOILER)
    run = call("hunt", "kafka/4.3", "boiler.py", folder=tmp_path)
    assert (run.code, run.err) == (
        2,
        "leadline: each shipped plan is for one family of releases: pass --plan, or hunt each family separately\n",
    )


def test_options_of_spark_need_it(tmp_path: Path) -> None:
    run = call("hunt", "kafka/4.3", "--work-dir", "files", folder=tmp_path)
    assert (run.code, run.err.splitlines()[-1]) == (2, "leadline: --work-dir requires --engine spark, not compiled")


@pytest.mark.spark
def test_a_hunt_on_spark_finds_the_same(tmp_path: Path) -> None:
    """All searches share a session, so that Spark starts once."""
    _, here, _ = hunted(tmp_path)
    arguments = ("--plan", "plan.toml", "--json", "spark.json", "--engine", "spark", "--work-dir", "files")
    run = run_leadline("hunt", "boiler.py", *arguments, folder=tmp_path)  # a process has one context of Spark
    assert run.code == 1, "a cause has no name"
    there = json.loads((tmp_path / "spark.json").read_text())
    compared = [
        [(each["name"], each["length"], each["steps"]) for each in found["specs"][0]["causes"]]
        for found in (here, there)
    ]
    assert compared[0] == compared[1]
    assert [each["verdict"] for each in there["specs"][0]["searches"]] == ["holds"] * len(here["specs"][0]["planned"])
    assert not list((tmp_path / "files").rglob("*.parquet"))


def test_a_cause_of_kafka_that_nobody_has_named_is_mended_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its entry in the archive, a cause has no name, and the hunt still finds the next one."""
    monkeypatch.setattr(cures, "archive_with_causes", lambda: Archive(bugs=[]))
    cures_of.cache_clear()
    bounds: Values = {"brokers": 3, "replicas": 2, "records": 0, "max_epoch": 0, "crashes": 0, "reassignments": 2}
    names = ["reassignment_as_asked", "added_or_removed"]
    setting = Setting(name="two", bounds=bounds)
    plan = Plan(settings=[setting], properties=names, random_seconds=0, seconds=60)
    own = made(plan, "kafka/4.3")
    monkeypatch.undo()
    cures_of.cache_clear()
    assert [(cause.kind, cause.decided) for cause in own.causes] == [("without a name", True)] * 2
    first, second = sorted(own.causes, key=lambda cause: cause.violates, reverse=True)
    assert (first.violates, first.fixes) == ("reassignment_as_asked", ["override=replaced"])
    assert "override_added=replaced" in second.fixes
    assert [search.verdict for search in own.searches] == ["holds"]


OUTDATED_LOG_END = [
    *("crash(broker=0)", "controller_notices_failure(broker=0)", "become_leader(broker=1, epoch=1)"),
    *("produce(leader=1)", "become_follower(broker=2, epoch=1)", "handle_fetch(leader=1, follower=2)"),
    *("handle_fetch_response(follower=2)", "restart(broker=0)", "become_follower(broker=0, epoch=1)"),
    *("handle_fetch(leader=1, follower=0)", "park_fetch(leader=1, follower=2)", "handle_alter_partition(leader=1)"),
    *("controller_elects(broker=0)", "become_leader(broker=0, epoch=2)", "become_follower(broker=2, epoch=2)"),
    *("handle_fetch(leader=0, follower=2)", "handle_fetch_response(follower=2)", "crash(broker=0)"),
    *("controller_notices_failure(broker=0)", "become_leader(broker=1, epoch=3)"),
]
"""A leader leads again without having heard of the epoch between, and counts what a follower had before."""


@pytest.fixture
def without_outdated_log_end(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Remove what is known of this finding from the archive."""
    known = cures.archive_with_causes()
    rest = [bug for bug in known.bugs if "follower_leos" not in bug.rules]
    assert len(rest) == len(known.bugs) - 1
    monkeypatch.setattr(cures, "archive_with_causes", lambda: attrs.evolve(known, bugs=rest))
    cures_of.cache_clear()
    yield
    cures_of.cache_clear()


@pytest.mark.usefixtures("without_outdated_log_end")
@pytest.mark.parametrize("release", ["kafka/4.1", "kafka/4.3"])
def test_the_plan_reaches_a_finding_that_nobody_has_named_and_names_its_rule(release: str) -> None:
    """An early search of the shipped plan allows the steps, and the first change that prevents them is the rule."""
    name, limits = (
        "leader_candidates_complete",
        "2 x another leader epoch + at most 2 failures of any kind, each cause apart",
    )
    early = read_plan(KAFKA_PLAN).searches(base_spec(release))[:160]
    (planned,) = (
        each for each in early if each.name == f"acks=all, min.insync.replicas=2, brokers=3, max_epoch=1, {limits}"
    )
    assert name in planned.properties
    world = World(release, planned.bounds, together=planned.together)
    trace = executed(world.spec([name]), OUTDATED_LOG_END)
    assert trace is not None
    preventing = [cure for cure in cures_of(release) if not allows(world.having(cure).spec([name]), trace)]
    assert (preventing[0].name, preventing[0].rank) == ("follower_leos=forgotten", SHARED)


@pytest.mark.slow
@pytest.mark.skipif(not EVERY, reason="EVERY=1 searches for a violation with three leader epochs, which takes minutes")
@pytest.mark.usefixtures("without_outdated_log_end")
def test_a_hunt_names_the_rule_of_a_finding_that_nobody_has_named() -> None:
    bounds: Values = {"brokers": 3, "records": 1, "acks": "all", "min_insync_replicas": 2, "missed_bounces": 0}
    bounds |= {"max_epoch": 3, "crashes": 2, "isr_shrinks": 0}
    plan = Plan(
        settings=[Setting(name="three epochs", bounds=bounds)],
        properties=["leader_candidates_complete"],
        seconds=1000,
        deciding_seconds=1000,
    )
    own = made(plan, "kafka/4.3", seconds=3000, workers=None)
    (cause,) = own.causes
    assert (cause.name, cause.decided, cause.length) == ("follower_leos=forgotten", True, 21)


def test_a_behaviour_by_design_explains_only_violations_of_its_property() -> None:
    found = {cure.name: cure for cure in cures_of("kafka/4.3")}
    last = found["last_known_leader=forgotten"]
    assert last.explaining("durable_as_promised") == last
    other = last.explaining("durable_after_few_unclean_stops")
    assert (other.rank, other.by_design, other.ticket) == (UNEXPLAINED, "", "")
    update = found["elr_update=kept"]
    assert update.explaining("durable_as_promised") == update, "what violates its property violates this one too"


LOSSES = """\
properties = ["durable_after_few_unclean_stops"]
most = 2
sizes = [{ brokers = 3 }]

[[settings]]
name = "safe"

[settings.bounds]
acks = "all"
min_insync_replicas = 2
records = 1
max_epoch = 0
crashes = 0
missed_bounces = 0
isr_shrinks = 1

[[failures]]
name = "late record"
bounds = { late_records = 1 }

[[failures]]
name = "crash"
bounds = { crashes = 1, max_epoch = 1 }
"""


@pytest.mark.slow
@pytest.mark.skipif(not EVERY, reason="EVERY=1 finds a loss of three brokers, which the test of its cure searches for")
def test_a_loss_of_kafka_is_reduced_to_its_rule(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(LOSSES)
    run = call("hunt", "kafka/4.3", "--plan", "plan.toml", "--json", "-", folder=tmp_path)
    assert run.code == 1
    (own,) = run.json["specs"]
    (cause,) = own["causes"]
    assert (cause["name"], cause["fixes"]) == ("same_record=skipped", ["same_record=skipped"])
    assert (cause["decided"], cause["is_shortest"], cause["length"]) == (True, True, 14)
    assert [search["verdict"] for search in own["searches"]] == ["holds"] * 4


def test_a_known_bug_of_kafka_is_recognised(tmp_path: Path) -> None:
    plan = LOSSES.replace("brokers = 3", "brokers = 2").replace("late record", "lossy crash")
    plan = plan.replace("late_records = 1", "lossy_crashes = 1, max_epoch = 2").replace("most = 2", "most = 1")
    (tmp_path / "plan.toml").write_text(plan)
    run = call("hunt", "kafka/4.0", "--plan", "plan.toml", "--json", "-", folder=tmp_path)
    (own,) = run.json["specs"]
    assert [(cause["ticket"], cause["name"]) for cause in own["causes"]] == [("KAFKA-15495", "elr=on")]
    assert run.code == 0


@pytest.mark.slow
@pytest.mark.parametrize("bug", read_archive(CAUSES).bugs, ids=lambda bug: bug.ticket)
def test_a_cause_is_gone_with_its_cure_and_back_without_it(bug: Bug) -> None:
    """These searches are also the mutants of the rules: each makes one rule that no release has the release's again."""
    runs = read_archive(CAUSES).runs(bug)
    assert {run.part for run in runs} >= {"affected", "fixed", "put back"}
    different = {(run.spec.name, run.spec.bounds, run.expected): run for run in runs}
    assert [run.spec.name for run in different.values() if not run.searched().as_expected] == []


def test_the_strongest_cure_is_the_last_one() -> None:
    """Without the last known leader, four other causes lose nothing either, and would be hidden by this cure."""
    assert [bug.ticket for bug in read_archive(CAUSES).bugs][-1] == "KIP-966"


WITNESSES = """
@witness("it is hot")
def hot(state: Boiler) -> bool:
    return state.heat > 2


@witness("it is dry")
def dry(state: Boiler) -> bool:
    return state.leaked > 2


"""


def test_the_page_says_which_situations_were_reached_and_within_which_bounds(tmp_path: Path) -> None:
    """One of them needs a larger bound than the first searches have, and the plan does not reach the other."""
    text = BOILER.replace("bound, invariant", "bound, invariant, witness").replace("\nspec = ", f"{WITNESSES}spec = ")
    text = text.replace("[safe]", "[safe, hot, dry]").replace("state.heat < 2 and state.leaked < 2", "state.doors < 2")
    (tmp_path / "boiler.py").write_text(text)
    (tmp_path / "plan.toml").write_text(PLAN.replace("most = 2", "most = 3", 1))
    base_spec.cache_clear()
    outputs = ("--json", "hunt.json", "--html", "hunt.html")
    run = call("hunt", "boiler.py", "--plan", "plan.toml", *outputs, folder=tmp_path)
    assert run.code == 0, run.err
    (own,) = json.loads((tmp_path / "hunt.json").read_text())["specs"]
    (reached,) = own["situations"]
    assert (reached["name"], reached["length"], reached["search"]) == ("hot", 4, "default bounds, 3 x heat")
    assert reached["bounds"] == {"heats": 3, "leaks": 0, "thermostat": False}
    assert "situations of boiler.py not reached: dry" in run.out
    assert "boiler.py: 1 of 2 situations reached; not reached: dry" in run.out
    assert "it is hot" in (tmp_path / "hunt.html").read_text()


@pytest.mark.parametrize(("heats", "named"), [(2, "without heating"), (3, "no cure (safe)")])
def test_what_holds_without_an_action_is_no_cause_if_a_witness_is_not_reached(
    tmp_path: Path, heats: int, named: str
) -> None:
    """Without heat, the boiler is never too hot. With 3, it is also never hot: then nothing says what is wrong."""
    text = BOILER.replace("bound, invariant", "bound, invariant, witness").replace("\nspec = ", f"{WITNESSES}spec = ")
    text = (
        text.replace("[safe]", "[safe, hot, dry]")
        .replace("state.leaked < 2", "True")
        .replace("stops =", "stops = 0 and")
    )
    (tmp_path / "boiler.py").write_text(text)
    (tmp_path / "plan.toml").write_text(f'[[settings]]\nname = "hot"\nbounds = {{ heats = {heats} }}\n')
    base_spec.cache_clear()
    run = call("hunt", "boiler.py", "--plan", "plan.toml", folder=tmp_path)
    assert run.err == f"leadline: found in boiler.py: safe in 3 states: without a name, {named}\n"


def test_causes_within_the_same_bounds_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both rules break the same promise. Each is reported where only this one is left to break it."""
    monkeypatch.setattr(cures, "archive_with_causes", lambda: Archive(bugs=[]))
    cures_of.cache_clear()
    bounds: Values = {"transactions": 1, "partitions": 1, "delayed": 1}
    setting = Setting(name="late", bounds=bounds)
    plan = Plan(settings=[setting], properties=["no_hanging_transaction"], random_seconds=0, seconds=60)
    own = made(plan, "txn/2.6")
    cures_of.cache_clear()
    assert own.causes
    assert [search.verdict for search in own.searches] == ["holds"]
    for cause in own.causes:
        assert cause.decided
        (fix,) = cause.fixes
        world = World(cause.spec, cause.bounds)
        verdicts = [
            on_this_machine(1)(each.spec([cause.violates]), Limits(), lambda _: None).verdict
            for each in (world, world.having(Cure(fix, NEW, dict([fix.split("=")]))))
        ]
        assert verdicts == [Verdict.VIOLATED, Verdict.HOLDS]


def test_a_loop_that_a_rule_does_not_end_needs_no_search() -> None:
    """A rule that lets something happen in the loop, or stops the steps before it, may be the cure. Others are not."""
    bounds: Values = {"records": 1, "max_epoch": 1, "crashes": 1, "missed_bounces": 0, "isr_shrinks": 1}
    bounds |= {"acks": "all", "min_insync_replicas": 2}
    world = World("kafka/2.8", bounds)
    spec = world.spec(["all_committed_again"])
    result = on_this_machine(1)(spec, Limits(), lambda _: None)
    (trace,) = result.properties[0].traces
    assert is_allowed(world, spec.checks[0], trace)
    assert not is_allowed(world.having(Cure("a", NEW, {"isr_answer": "tried"})), spec.checks[0], trace)
    assert is_allowed(world.having(Cure("b", NEW, {"same_record": "skipped"})), spec.checks[0], trace)


def test_no_cure_takes_back_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cures, "archive_with_causes", lambda: Archive(bugs=[]))
    cures_of.cache_clear()
    bounds: Values = {"acks": "all", "min_insync_replicas": 2, "records": 1, "max_epoch": 2, "crashes": 1}
    bounds |= {"missed_bounces": 0, "isr_shrinks": 1, "unclean_leader_election": False}
    names = ["all_committed_again", "can_recover"]
    plan = Plan(settings=[Setting(name="one", bounds=bounds)], properties=names, random_seconds=0, seconds=20)
    own = made(plan, "kafka/2.8")
    cures_of.cache_clear()
    (search,) = own.searches
    rules = [name.partition("=")[0] for name in search.cures]
    assert len(rules) == len({*rules}) > 1
    assert search.verdict == "holds"


LEAKING = """
import attrs

from leadline.invariants.families.kafka import KAFKA
from leadline.model.kafka import fetch
from leadline.model.kafka.mistakes import MISTAKES
from leadline.model.kafka.releases import column_of

(mistake,) = (each for each in MISTAKES if each.name == "counts-what-was-sent")
spec = KAFKA.with_mistake(mistake, column_of("kafka/4.3")).with_properties(["leader_candidates_complete"])
"""


def test_a_hunt_names_the_changed_action_and_its_first_changed_line(tmp_path: Path) -> None:
    (tmp_path / "leaking.py").write_text(LEAKING)
    (cure,) = (each for each in cures.own_cures(load_spec(str(tmp_path / "leaking.py")), []) if each.actions)
    assert cure.name == "handle_fetch as in kafka/4.3"
    assert cure.sentence.startswith("the nearest release has another action handle_fetch: ")
    assert ", line " in cure.sentence


def test_a_rule_of_a_mix_changes_in_both_releases() -> None:
    known = {cure.name for cure in cures_of("kafka/4.0..4.1")}
    assert {"same_record=skipped", "elr=on"} <= known
    cure = Cure("same_record=skipped", NEW, {"same_record": "skipped"})
    name = World("kafka/4.0..4.1", {}, (cure,)).whole().name
    assert name == "kafka/4.0+same_record=skipped..4.1+same_record=skipped"
    assert shipped_plan(base_spec("kafka/4.0..4.1")) == KAFKA_PLAN


@pytest.mark.parametrize(
    "name", ["kafka/4.3", "control/3.9-zk", "txn/4.0", "group/4.3.1", "group/4.4-consumer", "quorum/4.0"]
)
def test_each_family_has_a_plan_with_situations_to_reach(name: str) -> None:
    spec = base_spec(name)
    first, *_ = attrs.evolve(read_plan(shipped_plan(spec) or Path()), most=0).searches(spec)
    every = {item.name: item.kind for item in (*spec.checks, *spec.optional)}
    assert any(every[each].is_liveness for each in first.properties)
    assert {*first.situations} == {each for each, kind in every.items() if kind.is_witness}


QUORUM_PLAN = read_plan(shipped_plan(base_spec("quorum/4.0")) or Path())
FINDINGS = ("former candidate", "missed change of voters", "unknown leader", "resigned stranger", "older snapshot")


@pytest.mark.parametrize("ticket", FINDINGS)
def test_the_plan_of_the_quorum_reaches_what_was_found_before_most_pairs_of_failures(ticket: str) -> None:
    (bug,) = (each for each in read_archive().bugs if each.ticket == f"no ticket: {ticket}")
    early = QUORUM_PLAN.searches(base_spec("quorum/4.0"))[:110]
    steps = kept_steps(bug.ticket, "quorum/4.0")
    specs = [load_spec(run.spec.name) for run in read_archive().runs(bug) if "quorum/4.0" in run.spec.name]
    assert any(
        executed(spec.with_bounds(planned.bounds).with_properties([bug.property]), steps[0]) is not None
        for planned in early
        if bug.property in planned.properties
        for spec in specs
    )


def test_the_plan_of_the_quorum_fits_every_release_and_knows_what_dynamic_voters_cure() -> None:
    for name in ("quorum/2.8", "quorum/3.8", "quorum/4.0"):
        searches = QUORUM_PLAN.searches(base_spec(name))
        assert len({search.name for search in searches}) == len(searches)
    plan = Plan(
        settings=[Setting(name="a lost disk", bounds={"max_epoch": 1, "values": 0, "disks": 1})],
        properties=["one_leader_per_epoch_of_quorum"],
        cures=QUORUM_PLAN.cures,
    )
    (cause,) = made(plan, "quorum/4.0").causes
    assert (cause.name, cause.ticket, cause.decided, cause.length) == ("dynamic=true", "KAFKA-14205", True, 8)


def test_a_search_of_what_needs_many_steps_begins_with_more_time() -> None:
    given = []

    def explore(spec: Spec[Any], limits: Limits, progress: Any) -> Result:
        given.append(limits.max_cpu_seconds)
        return on_this_machine(1)(spec, limits, progress)

    deep = Setting(name="deep", bounds={"max_epoch": 1, "values": 0}, first_seconds=15)
    plan = Plan(settings=[deep, attrs.evolve(deep, name="other", bounds={"values": 0, "nodes": 1}, first_seconds=0)])
    report = HuntReport(plan="own", digest="", specs=prepared(plan, ["quorum/4.0"]))
    Hunt(
        plan=plan, report=report, until=time.monotonic() + 60, watch=lambda _: lambda _: None, save=lambda: None,
        explore=explore, workers=1,
    ).run()  # fmt: skip
    assert given == [15, 5]


def test_a_finding_counts_for_the_entry_whose_fix_alone_cures_it() -> None:
    """The entry of another bug, which the world does not have, does not count."""
    bugs = pairs(read_archive(), "control/2.1")
    spec = load_spec("control/2.1").with_bounds({"records": 0, "failovers": 1, "crashes": 1})
    spec = spec.with_properties(["dead_not_in_isr"])
    (item,) = on_this_machine(1)(spec, Limits(), lambda _: None).properties
    cause = Cause(
        name="", ticket="", sentence="", by_design="", fixes=[], decided=False, violates="dead_not_in_isr",
        complaint="", spec="control/2.1", left_out=[], bounds=attrs.asdict(spec.bounds), changed=[],
        length=len(item.traces[0]), is_shortest=True, steps=[],
        instances=[repr(each) for each in item.traces[0].instances],
    )  # fmt: skip
    named, ambiguous = matching(cause, bugs, seconds=60)
    assert ([bug.ticket for bug in named], ambiguous) == (["KAFKA-3143"], [])
    others = [bug for bug in bugs if bug.ticket != "KAFKA-3143"]
    assert matching(cause, others, seconds=60) == ([], [])


def test_a_cure_that_the_bounds_do_not_allow_is_not_applied() -> None:
    """With KRaft, no answer to a request of the controller can be lost."""
    cures = [Cure("metadata=log", EARLIER, {"metadata": "log"}), Cure("own_node=starts", LATER, {"own_node": "starts"})]
    lost = World("control/2.1", {"lost_answers": 1})
    assert with_possible(lost, cures) == lost.having(cures[1])
    assert with_possible(World("control/2.1", {}), cures[:1]).cures == (cures[0],)


def test_a_file_in_the_folder_above_is_not_a_mix() -> None:
    assert mixed_in("kafka/2.0..2.1") == ["kafka/2.0", "kafka/2.1"]
    assert mixed_in("../own.py") == mixed_in("kafka/2.0") == []
