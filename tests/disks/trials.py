"""Trials of the audit on simulated clusters: damage must be found by name, and nothing where there is none.

``python -m tests.disks.trials 200`` runs 200 of each; the suite runs some.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from collections import Counter
from pathlib import Path

from leadline.invariants.audit.cluster import audit
from leadline.invariants.audit.result import AuditResult
from tests.disks.damage import KINDS, Damage, damage
from tests.disks.simulator import Simulation

MOST_CLUSTERS = 60
"""Clusters that are tried for a place where a damage is possible."""


def undamaged(seed: int) -> AuditResult:
    """The audit of a cluster in which nothing is wrong; every other one has crashed."""
    with tempfile.TemporaryDirectory() as folder:
        for disk in Simulation(seed).disks(Path(folder), clean=seed % 2 == 0).values():
            disk.write()
        return audit([folder], workers=1)


def damaged(seed: int) -> tuple[Damage, AuditResult, AuditResult]:
    """A damage, and the audits of a cluster with it and of its twin without it."""
    what = list(KINDS)[seed % len(KINDS)]
    for attempt in itertools.count(MOST_CLUSTERS * seed):
        with tempfile.TemporaryDirectory() as folder:
            whole, broken = Path(folder) / "whole", Path(folder) / "broken"
            simulation = Simulation(attempt)
            disks = simulation.disks(broken)
            twin = Simulation(attempt).disks(whole)
            done = damage(simulation, disks, what, seed)
            if done is None:
                assert attempt < MOST_CLUSTERS * (seed + 1), f"no place for: {what}"
                continue
            for disk in (*disks.values(), *twin.values()):
                disk.write()
            return done, audit([str(broken)], workers=1), audit([str(whole)], workers=1)
    raise AssertionError


def is_found(done: Damage, result: AuditResult) -> bool:
    """Whether a damage was found: by its name, in its partition, at its broker, and nothing anywhere else."""
    place = (done.topic, done.number)
    named = any(
        finding.check == done.found_by
        and (finding.topic, finding.partition) == place
        and done.broker in finding.brokers
        for finding in result.errors
    )
    return named and all((finding.topic, finding.partition) == place for finding in result.errors)


def main(count: int) -> int:
    """Run trials, and say what came of them."""
    found, missed, alarms, batches = Counter[str](), 0, 0, 0
    for seed in range(count):
        done, result, twin = damaged(seed)
        found[done.what] += is_found(done, result)
        if not is_found(done, result):
            missed += 1
            print(f"missed: {seed} {done}: {[finding.check for finding in result.errors]}")
        if twin.errors:
            alarms += 1
            print(f"false alarm: twin of {seed}: {[finding.text for finding in twin.errors]}")
    print(f"{count} damages: {count - missed} found by name, {alarms} alarms in their undamaged twins")
    for what, number in sorted(found.items()):
        print(f"  {number:4}  {what}")
    clusters = 0
    for seed in range(1_000_000, 1_000_000 + count):
        result = undamaged(seed)
        clusters, batches = clusters + 1, batches + result.batches
        if result.errors:
            alarms += 1
            print(f"false alarm: {seed}: {[finding.text for finding in result.errors]}")
    print(f"{clusters} undamaged clusters, {batches:,} batches: {alarms} alarms")
    return int(bool(missed or alarms))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
