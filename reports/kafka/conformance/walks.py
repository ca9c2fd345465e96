"""Check a release of Kafka: run real brokers, record them, and check the recordings.

In some runs, random behaviours of the model are executed on the brokers, as in `leadline replay --on`. In other runs,
the brokers are disturbed at random. Every recording must be a behaviour of the release's model.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from leadline.brokers.chaos import chaos
from leadline.brokers.driver.plan import Plan, plan_of
from leadline.brokers.driver.replay import Listener
from leadline.brokers.errors import NotExecutable
from leadline.brokers.recording import RecordingWriter
from leadline.brokers.releases import BrokerRelease
from leadline.checker.conformance import Limits
from leadline.checker.errors import LeadlineError
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace
from leadline.model.kafka.releases import column_of
from leadline.reports.kafka.broker_runs.reproduce import run as run_on_brokers
from leadline.reports.kafka.broker_runs.schedules import controller_of
from leadline.reports.kafka.conformance.prediction import would_confirm
from leadline.reports.kafka.conformance.report import ConformanceReport, conformance_report
from leadline.reports.loading import load_spec

BOUNDS = {"brokers": 3, "max_epoch": 3, "crashes": 2, "session_expiries": 1, "isr_shrinks": 1}
MORE: tuple[dict[str, Any], ...] = (
    {},
    {"isr_shrinks": 2, "max_epoch": 4},
    {"acks": "1", "isr_shrinks": 2, "max_epoch": 4},
    {"min_insync_replicas": 2},
    {"acks": "1", "crashes": 3, "max_epoch": 4},
    {"unclean_leader_election": True},
    {"session_expiries": 2, "max_epoch": 4},
    {"crashes": 3, "max_epoch": 4},
    {"records": 3},
    {"unclean_elections": 1},
    {"lossy_crashes": 1},
    {"shutdowns": 1},
)
"""Changes of the bounds. Each walk takes the next one, since some rules make a difference only there."""
ROLL = {"upgraded": "", "roll": "levels", "shutdowns": 1}
"""The bounds of walks of a mix: brokers and the controller go to the new release, and then to its level."""
STEPS = 18
FEWEST_STEPS = 6
CANDIDATES = 40
TRIES = 200
CHAOS_SECONDS = 15.0


@attrs.frozen
class Driven:
    """A run of real brokers, and the result of checking its recording.

    Attributes:
        name: the kind of the run and its seed, such as ``walk 7``.
        did: a sentence that says what was done.
        report: the result.
    """

    name: str
    did: str
    report: ConformanceReport


def walk(spec: Spec[Any], chosen: random.Random, taken: Counter[str], steps: int = STEPS) -> Trace[Any]:
    """Return a random behaviour of a spec. Actions that were taken less often are chosen more often.

    Parameters:
        chosen: the source of random choices.
        taken: how often each action was taken before, keyed by action name.
        steps: the maximum number of steps.
    """
    states, instances = [next(iter(spec.initials()))], []
    counts = Counter(taken)
    for _ in range(steps):
        enabled = [(each, after) for each in spec.instances for after in spec.take(each, states[-1])]
        if not enabled:
            break
        weights = [1 / (1 + counts[each.action.name]) ** 2 for each, _ in enabled]
        ((instance, after),) = chosen.choices(enabled, weights)
        counts[instance.action.name] += 1
        states.append(after)
        instances.append(instance)
    return Trace(spec, states, instances)


def planned_walks(
    release: BrokerRelease,
    seed: int,
    steps: int = STEPS,
    candidates: int | None = None,
) -> Iterator[tuple[int, Plan]]:
    """Yield random behaviours that can be executed on brokers, each with its seed. A behaviour ends before the first
    step that cannot be executed.

    Each behaviour is chosen from several candidates. It is the one that would confirm the most rules that earlier
    behaviours do not confirm. Those of a mix are upgrades, and the first ones that can be executed.

    Parameters:
        steps: the maximum number of steps.
        candidates: the number of behaviours to choose from, or None for the default.

    Raises:
        LeadlineError: if no sufficiently long behaviour that can be executed is found in many tries.
    """
    column = column_of(release.spec) if release.newer is None else None
    candidates = 1 if column is None else CANDIDATES if candidates is None else candidates
    upgraded = ROLL if column is None else {}
    specs = [load_spec(release.spec).with_bounds(BOUNDS | upgraded | more) for more in MORE]
    taken, tries, most = Counter[str](), itertools.count(seed), max(TRIES, 5 * candidates)
    known = frozenset[str]()
    while True:
        found: list[tuple[frozenset[str], int, Plan]] = []
        for each in itertools.islice(tries, most):
            spec = specs[(each - seed) % len(specs)]
            plan = _longest_plan(walk(spec, random.Random(each), taken, steps), controller_of(release))
            if plan is not None:
                confirmed = frozenset[str]()
                if column is not None and candidates > 1:
                    confirmed = would_confirm(plan.trace, column, known)
                found.append((confirmed, each, plan))
            if len(found) == candidates:
                break
        if not found:
            raise LeadlineError(f"none of {most} random behaviours of {release.spec} can be executed on brokers")
        confirmed, chosen, plan = max(found, key=lambda one: len(one[0]))
        known |= confirmed
        taken.update(step.instance.action.name for step in plan.steps)
        yield chosen, plan


def _longest_plan(trace: Trace[Any], controller: str) -> Plan | None:
    for length in range(len(trace.instances), FEWEST_STEPS - 1, -1):
        try:
            return plan_of(Trace(trace.spec, trace.states[: length + 1], trace.instances[:length]), controller)
        except NotExecutable:
            continue
    return None


def drive(
    release: BrokerRelease,
    folder: Path,
    *,
    walks: int,
    disturbed: int,
    seed: int,
    limits: Limits | None = None,
    seconds: float = CHAOS_SECONDS,
) -> Iterator[Driven]:
    """Run real brokers, and check each recording.

    Parameters:
        folder: an empty folder. Each run creates a subfolder for its files, which include ``recording.jsonl``.
        walks: the number of random behaviours of the model to execute.
        disturbed: the number of runs in which brokers are disturbed at random.
        seconds: how long brokers are disturbed in each run, in seconds on an idle machine.

    Raises:
        BrokerError: if the brokers cannot be started.
    """
    if walks:
        plans = planned_walks(release, seed)
        for number in range(walks):
            chosen, plan = next(plans)
            own = folder / f"walk-{number + 1}"
            replayed = run_on_brokers(plan, release, own, Listener())
            made = sum(each.is_as_in_model for each in replayed.steps)
            did = f"{made} of {len(plan.steps)} steps were made"
            if replayed.not_made or replayed.difference:
                did += f" ({replayed.not_made or replayed.difference})"
            yield Driven(f"walk {number + 1}, seed {chosen}", did, _checked(own, release, limits))
    for number in range(disturbed):
        own = folder / f"chaos-{number + 1}"
        own.mkdir(parents=True)
        with RecordingWriter(own / "recording.jsonl", release=release.name, spec=release.spec) as recording:
            done = chaos(release, own / "cluster", recording, seed + number, seconds)
        yield Driven(f"chaos {number + 1}, seed {seed + number}", "; ".join(done), _checked(own, release, limits))


def _checked(folder: Path, release: BrokerRelease, limits: Limits | None) -> ConformanceReport:
    return conformance_report(folder / "recording.jsonl", release.spec, "t-0", limits=limits, keeps_logs=False)
