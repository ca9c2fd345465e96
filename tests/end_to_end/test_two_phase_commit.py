"""Two-phase commit, as Stateright counts it, and by every engine."""

from __future__ import annotations

import pytest
from hypothesis import settings

from leadline.checker import Verdict, fuzz
from leadline.checker.engines.oracle import explore
from leadline.checker.result import ActionCount, Result
from leadline.checker.settings import RandomSettings
from leadline.checker.stateful import state_machine
from leadline.checker.traces.itf import decode_trace, encode_trace
from leadline.checker.traces.replay import replay
from tests.specs.two_phase_commit import Outcome, Stage, tm_commits_too_soon, two_phase_commit

TestTwoPhaseCommit = state_machine(two_phase_commit()).TestCase
TestTwoPhaseCommit.settings = settings(max_examples=15)


def lengths(result: Result) -> dict[str, int]:
    """The length of the one trace of each property that has one."""
    return {item.property.name: len(trace) for item in result.properties for trace in item.traces}


@pytest.mark.parametrize(("rms", "distinct"), [(3, 288), (5, 8_832)])
def test_stateright_s_counts(rms: int, distinct: int) -> None:
    assert explore(two_phase_commit(rms)).statistics.distinct == distinct


@pytest.mark.parametrize("rms", [1, 2, 3, 4])
def test_counts_that_can_be_worked_out(rms: int) -> None:
    """Undecided, each manager is working, aborted, or prepared and heard of or not.

    After a commit each is prepared or has committed. After an abort, with its message not sent, sent, or
    received, each has aborted or has not.
    """
    undecided, committed, aborted = 4**rms, 2**rms, 6**rms
    prepared_undecided, working_aborted = rms * 2 * 4 ** (rms - 1), rms * 6 ** (rms - 1)
    working = rms * 4 ** (rms - 1) + working_aborted
    result = explore(two_phase_commit(rms))
    generated = {name: count.generated for name, count in result.statistics.actions.items()}

    assert result.statistics.distinct == undecided + committed + aborted
    assert generated == {
        "tm_receives_prepared": prepared_undecided,
        "tm_commits": 1,
        "tm_aborts": undecided,
        "rm_prepares": working,
        "rm_chooses_to_abort": working,
        "rm_receives_commit": rms * committed,
        "rm_receives_abort": rms * aborted,
    }
    assert result.statistics.generated == 1 + sum(generated.values())
    assert result.statistics.depth == 1 + 3 * rms + 1  # each prepares, is heard and commits; and the decision
    assert result.verdict is Verdict.HOLDS


def test_pinned_statistics_with_three_resource_managers() -> None:
    statistics = explore(two_phase_commit(3)).statistics

    assert (statistics.distinct, statistics.generated, statistics.depth, statistics.queue) == (288, 1_146, 11, 0)
    assert (statistics.out_degree_min, statistics.out_degree_max, statistics.deadlocks) == (1, 9, 0)
    assert statistics.out_degree_mean == 1_145 / 288
    assert statistics.actions["tm_commits"] == ActionCount(generated=1, distinct=1)


def test_it_holds_and_both_agreements_are_reached() -> None:
    result = explore(two_phase_commit(3))

    assert [(item.property.name, item.verdict) for item in result.properties] == [
        ("consistent", Verdict.HOLDS),
        ("abort_agreement", Verdict.HOLDS),
        ("commit_agreement", Verdict.HOLDS),
        ("deadlock", Verdict.HOLDS),
    ]
    assert lengths(result) == {"abort_agreement": 4, "commit_agreement": 11}


def test_committing_too_soon_is_found_by_the_oracle() -> None:
    # Manager 0 prepares and is heard, the commit is decided, 0 commits, 1 aborts: five steps.
    result = explore(two_phase_commit(2, tm_commits_too_soon))
    (trace,) = result.of("consistent").traces

    assert (result.verdict, len(trace)) == (Verdict.VIOLATED, 6)
    assert trace.complaint in ("0 has aborted, 1 has committed", "1 has aborted, 0 has committed")
    assert set(trace.states[-1].rms) == {Stage.ABORTED, Stage.COMMITTED}
    assert trace.states[-1].tm.outcome is Outcome.COMMIT


def test_with_one_resource_manager_it_cannot_be_too_soon() -> None:
    assert explore(two_phase_commit(1, tm_commits_too_soon)).verdict is Verdict.HOLDS


def test_committing_too_soon_is_found_by_fuzzing_in_hardly_more_steps() -> None:
    result = fuzz(two_phase_commit(3, tm_commits_too_soon), settings=RandomSettings(examples=200))

    assert result.verdict is Verdict.VIOLATED
    assert 6 <= lengths(result)["consistent"] <= 8


def test_a_counterexample_is_replayed_from_its_file() -> None:
    spec = two_phase_commit(3, tm_commits_too_soon)
    (trace,) = explore(spec).of("consistent").traces
    again = replay(spec, decode_trace(encode_trace(trace)))

    assert (again.states, again.instances, again.about) == (trace.states, trace.instances, trace.about)
