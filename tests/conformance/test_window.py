"""Cutting logs: what is left answers as the whole does, or says that it does not know, and no answer changes."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice

import attrs
import pytest

from leadline.checker.conformance import Answer, Observation, Undecided, follow, uncut
from leadline.model.kafka.bounds import NO_LIMIT
from leadline.model.kafka.conformance import window
from leadline.model.kafka.conformance.following import FollowedRelease, forget
from leadline.model.kafka.conformance.projection import Taken
from leadline.model.kafka.conformance.window import CutLog, Rest, cut, cut_at
from leadline.model.kafka.epochs import known_from_election, known_from_first_append
from leadline.model.kafka.releases import KRAFT, RELEASES, ZOOKEEPER, Column
from leadline.model.kafka.state import Partition
from leadline.model.log import Log, Record
from tests.bench.bench_conform import recording as recording_of
from tests.bench.bench_conform import walk as endless_walk
from tests.conformance.checking import check
from tests.conformance.test_recordings import CONFORMS_TO, read
from tests.conformance.walks import BROKERS, beginning, changed, instances, recorded, release, walk

SEARCH = sys.modules["leadline.checker.conformance.follow"]

UNKNOWN = "undecided"


def questions(log: Log) -> Iterator[tuple[str, Callable[[Log], object]]]:
    """Yield everything that the model may ask a log, as a name and a function of the log."""
    end, epochs = log.end_offset, range(-1, 8)
    yield "end offset", lambda log: log.end_offset
    yield "last epoch", lambda log: log.last_epoch
    for offset in range(end + 2):
        yield f"has {offset}", lambda log, at=offset: log.has(at)  # type: ignore[misc]
        yield f"records from {offset}", lambda log, at=offset: log.records[at:]  # type: ignore[misc]
        yield f"record {offset}", lambda log, at=offset: log.records[at : at + 1]  # type: ignore[misc]
    for offset in range(end):
        yield f"at {offset}", lambda log, at=offset: log[at]  # type: ignore[misc]
    for epoch in epochs:
        yield f"after {epoch}", lambda log, e=epoch: log.first_offset_after(e)  # type: ignore[misc]
        yield f"end of {epoch}", lambda log, e=epoch: log.end_of_epoch(e)  # type: ignore[misc]
        yield f"first append {epoch}", lambda log, e=epoch: known_from_first_append(log, None, e)  # type: ignore[misc]
        for leads in (None, *epochs):
            yield (
                f"election {epoch} {leads}",
                lambda log, e=epoch, leads=leads: known_from_election(log, leads, e),  # type: ignore[misc]
            )


def answered(question: Callable[[Log], object], log: Log) -> object:
    try:
        return question(log)
    except Undecided:
        return UNKNOWN


def differences(whole: Log, shorter: Log) -> list[str]:
    """Return the questions that a cut log answers otherwise than the whole one."""
    pairs = ((name, answered(ask, whole), answered(ask, shorter)) for name, ask in questions(whole))
    return [name for name, expected, found in pairs if found not in (expected, UNKNOWN)]


def random_log(rng: random.Random, *, increasing: bool) -> Log:
    epochs = [rng.randrange(7) for _ in range(rng.randint(1, 9))]
    return Log(tuple(Record(value, epoch) for value, epoch in enumerate(sorted(epochs) if increasing else epochs)))


def cuts(log: Log) -> Iterator[tuple[int, Log]]:
    """Yield each offset at which a log can be cut, with the cut log."""
    for offset in range(1, log.end_offset + 1):
        if window._increases(log, offset):
            yield offset, window._cut_log(log, offset)


def test_a_cut_log_answers_as_the_whole_log_or_does_not_know() -> None:
    rng = random.Random(1)
    known: Counter[bool] = Counter()
    for number in range(60):
        whole = random_log(rng, increasing=number % 2 == 0)
        for offset, shorter in cuts(whole):
            assert differences(whole, shorter) == []
            known.update(answered(ask, shorter) != UNKNOWN for _, ask in questions(whole))
            grown, truncated = Record(99, rng.randrange(7)), rng.randint(offset, whole.end_offset)
            assert shorter.append(grown) == window._cut_log(whole.append(grown), offset)
            assert shorter.truncate_to(truncated) == window._cut_log(whole.truncate_to(truncated), offset)
            for below in range(offset):
                with pytest.raises(Undecided, match="was removed"):
                    shorter.truncate_to(below)
                with pytest.raises(Undecided, match="was removed"):
                    shorter[below]
    assert known[True] > known[False] > 0


def test_what_brokers_ask_is_known() -> None:
    """Questions about the epoch of the last record that was removed, and about later ones, are answered."""
    rng = random.Random(2)
    for _ in range(200):
        whole = random_log(rng, increasing=True)
        for offset, shorter in cuts(whole):
            for epoch in range(whole[offset - 1].epoch, 8):
                assert shorter.end_of_epoch(epoch - 1) == whole.end_of_epoch(epoch - 1)
                assert known_from_election(shorter, None, epoch) == known_from_election(whole, None, epoch)


def test_a_cut_below_a_smaller_epoch_would_be_noticed() -> None:
    """The comparison can fail: a log whose epochs do not increase must not be cut everywhere."""
    whole = Log(tuple(Record(value, epoch) for value, epoch in enumerate([5, 1, 3])))
    assert not window._increases(whole, 2)
    assert "first append 1" in differences(whole, window._cut_log(whole, 2))


def test_a_wrong_start_of_an_epoch_would_be_noticed() -> None:
    whole = Log(tuple(Record(value, epoch) for value, epoch in enumerate([0, 1, 1, 1])))
    right = window._cut_log(whole, 2)
    wrong = attrs.evolve(right, epochs=((1, 2),))
    assert differences(whole, right) == []
    assert "after 0" in differences(whole, wrong)


def test_the_end_of_a_tuple_behaves_like_the_tuple() -> None:
    whole = tuple(range(10, 16))
    rest = Rest("item", 3, whole[3:])
    assert len(rest) == 6
    assert [rest[place] for place in (3, 5, -1, -3)] == [13, 15, 15, 13]
    assert rest[4:] == whole[4:]
    assert rest[9:] == ()
    assert rest[:5] + (99,) == Rest("item", 3, (13, 14, 99))  # noqa: RUF005
    with pytest.raises(IndexError):
        rest[6]
    for wrong in (lambda: rest[2], lambda: rest[-6], lambda: rest[1:4], lambda: rest[:2], lambda: list(rest)):
        with pytest.raises(Undecided, match="was removed"):
            wrong()


# --- states -----------------------------------------------------------------------------------------------------


def steps_of(column: Column, seed: int, length: int = 120, **limits: int) -> tuple[FollowedRelease, list[Taken]]:
    of = release(column, lossy_crashes=0, **limits)
    return of, walk(of, length, random.Random(seed))


@pytest.mark.parametrize("column", RELEASES[::4], ids=lambda column: column.name)
def test_actions_do_the_same_to_a_state_that_was_cut(column: Column, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "FEWEST_CUT", 1)
    of, steps = steps_of(column, 1)
    tried: Counter[str] = Counter()
    for _, _, state, _ in steps[40::4]:
        shorter = cut([state])[0]
        if shorter == state:
            continue
        offset = window._start(shorter.replicas[0].log.records)
        epoch = window._start(shorter.requests)
        for name, values in instances(of, state):
            expected = [cut_at(forget(after), offset, epoch) for after in of.take(name, state, *values)]
            try:
                found = list(map(forget, of.take(name, shorter, *values)))
            except Undecided:
                tried[UNKNOWN] += 1
                continue
            assert found == expected, (name, values)
            tried["same"] += bool(expected)
    assert tried["same"] > 50
    assert tried[UNKNOWN] < tried["same"]


def answers(of: FollowedRelease, observations: list[Observation[Partition]], *, cuts: bool) -> tuple[Answer, int, str]:
    result = follow([beginning(of)], observations, of.hidden, forget=forget, cut=cut if cuts else uncut)
    return result.answer, result.observations, result.reason


@pytest.mark.parametrize("crashes", [0, NO_LIMIT], ids=["no crashes", "crashes"])
@pytest.mark.parametrize("column", RELEASES[::4], ids=lambda column: column.name)
def test_cutting_does_not_change_an_answer(column: Column, crashes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that crashes may start with any earlier checkpoint if the recording does not name it, so that records
    that were cut can count. Without crashes, they do not.
    """
    monkeypatch.setattr(window, "FEWEST_CUT", 1)
    monkeypatch.setattr(SEARCH, "SETTLE_EVERY", 1)
    of, steps = steps_of(column, 2, 80, crashes=crashes)
    rng = random.Random(3)
    recordings = [steps]
    for kind in ("fetch offset", "next fetch offset", "value of a record", "epoch of a record", "epoch"):
        places = [(n, other) for n, step in enumerate(steps) if (other := changed(kind, step)) is not None]
        recordings += [[*steps[:n], other, *steps[n + 1 :]] for n, other in places[-1:]]
    undecided = 0
    for each in recordings:
        observations = recorded(of, each, rng, 0.4)
        answer, number, reason = answers(of, observations, cuts=True)
        if answer is Answer.UNDECIDED:
            assert "was removed" in reason
            undecided += 1
        else:
            assert (answer, number) == answers(of, observations, cuts=False)[:2]
    assert len(recordings) > 3
    assert undecided == 0 or crashes


def test_states_are_cut_while_a_recording_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above compares something: the last states of a long walk have lost most of their records."""
    monkeypatch.setattr(window, "FEWEST_CUT", 1)
    monkeypatch.setattr(SEARCH, "SETTLE_EVERY", 1)
    of, steps = steps_of(RELEASES[-1], 2, 200)
    result = follow([beginning(of)], recorded(of, steps, random.Random(3), 0.4), of.hidden, forget=forget, cut=cut)
    assert result.answer is Answer.CONFORMS
    last = result.behaviour[-1].after
    assert isinstance(last.replicas[0].log, CutLog)
    assert len(last.replicas) == BROKERS
    assert all(len(replica.log.records.items) < replica.log.end_offset for replica in last.replicas)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", CONFORMS_TO)
def test_cutting_does_not_change_an_answer_about_a_real_recording(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "FEWEST_CUT", 1)
    monkeypatch.setattr(SEARCH, "SETTLE_EVERY", 1)
    recording = read(name)
    kind = KRAFT if recording.kraft else ZOOKEEPER
    for column in [each for each in RELEASES if each.controller == kind]:
        whole, shorter = check(recording, column), check(recording, column, keeps_logs=False)
        assert shorter.conformance.answer is whole.conformance.answer
        assert shorter.conformance.observations == whole.conformance.observations


def test_states_do_not_grow_with_a_recording() -> None:
    """The states hold few records, although the logs have many."""
    of, rng = release(RELEASES[-1]), random.Random(1)
    first = beginning(of)
    observations = islice(recording_of(of, endless_walk(of, first, rng, down=False), rng), 3000)
    settled: list[Partition] = []
    result = follow(
        [first],
        observations,
        of.hidden,
        forget=forget,
        cut=cut,
        kept_steps=1,
        settled=lambda step: settled.append(step.after),
    )
    assert result.answer is Answer.CONFORMS
    assert result.behaviour[-1].after.replicas[0].log.end_offset > 4 * window.FEWEST_CUT
    most = max(len(replica.log.records) - window._start(replica.log.records) for s in settled for replica in s.replicas)
    assert most < 2 * window.FEWEST_CUT
