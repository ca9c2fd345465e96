"""Compares what an engine says of a spec with what the twin says."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

from leadline.checker import Limits, Result, Spec, SpecError, Trace
from leadline.checker.engines import ENGINES
from leadline.checker.settings import CompiledSettings, SparkSettings, SparkTuning, Tuning
from tests.reference import liveness
from tests.reference.search import LIVENESS, Answer, Search
from tests.reference.values import key

SLOTTED = {"many_values": 3, "apart_after": 1, "block": 15, "alone": 3, "asked": 3, "waiting": 2}
"""Settings with which a search learns from the first state, takes parts of states apart early, and has many blocks."""


NOT_COMPARED = {"compared": False, "verify": 0.0, "pure_states": 1}
"""Settings without the nets, which repeat calls to find mistakes. The twin finds them, and more if no net does."""


MEMORY = Path("/dev/shm")
"""The folder of files in memory, if there is one: a save takes most of the time of a small search."""


@attrs.frozen
class Way:
    """A way to search a spec.

    Attributes:
        name: what it is called.
        engine: the name of the engine.
        learns: whether the engine learns from the first state.
        small: whether the settings are those of `SLOTTED`.
        changes: whether the search begins with objects, and packs its states and learns after some calls.
        forks: whether calls are shared with other processes.
        resumes: whether the search is stopped after a few levels, saved, and resumed.
        is_on_disk: whether states are kept in files.
        coverage: whether coverage is collected.
        is_compared: whether the engine compares results with further calls.
    """

    name: str
    engine: str = "compiled"
    learns: bool = False
    small: bool = False
    changes: bool = False
    forks: bool = False
    resumes: bool = False
    is_on_disk: bool = False
    coverage: bool = True
    is_compared: bool = False

    def run(self, spec: Spec[Any], *, keep_going: bool, stop: int = 2) -> Result:
        """Search a spec.

        Parameters:
            spec: the spec.
            keep_going: whether to continue after a violation.
            stop: for a search that is resumed, the depth at which it is stopped first.
        """
        limits = Limits(keep_going=keep_going, coverage=self.coverage)
        engine = ENGINES[self.engine]
        if self.engine == "oracle":
            return engine.search(spec, limits, None, engine.settings())
        wanted: dict[str, Any] = {"learn_after": 0} if self.learns else {}
        wanted |= SLOTTED if self.small else {}
        wanted |= {} if self.is_compared else NOT_COMPARED
        wanted |= {"learn_after": 100} if self.changes else {}
        wanted |= {"shared": 1, "helped_after": 0} if self.forks else {}
        if self.engine == "spark":
            compiled = Tuning(**wanted)
            settings = SparkSettings(
                master="local[2]", shards=2, tuning=SparkTuning(large=1, small=1, compiled=compiled)
            )
            return engine(spec, limits, None, settings)
        disk = Path(tempfile.gettempdir()) if self.is_on_disk else None
        made = CompiledSettings(workers=2 if self.forks else 1, disk=disk, tuning=Tuning(**wanted))
        if not self.resumes:
            return engine.search(spec, limits, None, made)
        folder = Path(tempfile.mkdtemp(prefix="leadline-reference-", dir=MEMORY if MEMORY.exists() else None))
        try:
            saving = attrs.evolve(made, checkpoint=folder / "saved")
            engine.search(spec, attrs.evolve(limits, depth=stop), None, saving)
            return engine.search(spec, limits, None, attrs.evolve(made, resume=folder / "saved"))
        finally:
            shutil.rmtree(folder)


ORACLE = Way("oracle", "oracle")
DEFAULT = Way("compiled", coverage=False, is_compared=True)
CHANGING = Way("packed after some calls", changes=True, coverage=False)
LEARNING = Way("learning", learns=True, is_compared=True)
SMALL = Way("learning in small blocks", learns=True, small=True)
SPARK = Way("spark", "spark", learns=True, coverage=False, is_compared=True)
RESUMED = Way("resumed", learns=True, small=True, resumes=True, coverage=False)
RESUMED_ON_DISK = Way("resumed on disk", learns=True, resumes=True, is_on_disk=True, coverage=False)
RESUMED_DIRECT = Way("resumed by default", resumes=True, coverage=False)
FORKED = Way("two workers", learns=True, small=True, forks=True)
ON_DISK = Way("on disk", learns=True, small=True, is_on_disk=True)


@attrs.frozen
class Said:
    """What an engine said.

    Attributes:
        refusal: the error with which it refused the spec, or an empty string.
        differences: what it said otherwise than the twin.
        new: for each action, and for each instance if coverage is collected, the steps to new states. If several
            steps lead to the same new state, an engine may count any of them, but all have to count the same one.
    """

    refusal: str = ""
    differences: tuple[str, ...] = ()
    new: tuple[str, ...] = ()


def said(spec: Spec[Any], search: Search, answer: Answer, way: Way, *, keep_going: bool, is_ordered: bool) -> Said:
    """Search a spec with an engine, and compare what it says with what the twin says.

    Parameters:
        spec: the spec.
        search, answer: the twin's search of the spec, and its answer.
        way: how to search.
        keep_going: whether to continue after a violation; the same as for the answer.
        is_ordered: whether the order of all steps is determined, and with it which of them leads to a new state.
    """
    try:
        result = way.run(spec, keep_going=keep_going, stop=max(1, len(search.levels) // 2))
    except SpecError as error:
        refusal = str(error)[:300]
        return Said(refusal, () if answer.refused or answer.doubtful else (f"refused: {refusal}",))
    except Exception as error:
        return Said("", (f"{type(error).__name__}: {str(error)[:300]}",))
    if answer.refused:
        return Said("", (f"not refused, but {result.verdict.value}: {answer.refused[:300]}",))
    new = [f"{name}: {count.distinct}" for name, count in result.statistics.actions.items()]
    if result.statistics.covered is not None:
        covered = result.statistics.covered.instances.items()
        new += sorted(
            f"{'' if _is_vague(name) else name}: {count.distinct}" for name, count in covered if count.generated
        )
    return Said("", tuple(_told(search, answer, result, is_ordered)), tuple(new))


def _told(search: Search, answer: Answer, result: Result, is_ordered: bool) -> Iterator[str]:
    found = {item.property.name: item.verdict.value for item in result.properties}
    yield from _unequal("verdict", found, answer.verdicts)
    yield from _unequal("whole verdict", result.verdict.value, answer.verdict)
    statistics = result.statistics
    counts = {name: getattr(statistics, name) for name in answer.counts}
    yield from _unequal("counts", counts, answer.counts)
    actions = {
        name: (count.generated, count.distinct if is_ordered else None) for name, count in statistics.actions.items()
    }
    right = {name: (steps, new if is_ordered else None) for name, (steps, new) in answer.actions.items()}
    yield from _unequal("actions", actions, right)
    premises = {item.property.name: item.premise for item in result.properties if item.premise is not None}
    yield from _unequal("premises", premises, answer.premises)
    for item in result.properties:
        for trace in item.traces:
            if fault := _fault(search, item.property.name, trace, answer.lengths[item.property.name]):
                yield f"trace of {item.property.name}: {fault}"
        if not item.traces and item.verdict.value == ("holds" if item.property.kind.is_witness else "violated"):
            yield f"no trace of {item.property.name}"
    if statistics.covered is not None:
        yield from _unequal("shown", statistics.covered.shown, answer.shown)
        drawn = {action.name for action in result.spec.actions if action.drawn}

        def row(name: str, enabled: int, generated: int, distinct: int) -> tuple[str, int, int, int]:
            is_known = is_ordered and name.partition("(")[0] not in drawn
            return name, enabled, generated, distinct if is_known else 0

        covered = statistics.covered.instances.items()
        instances = [row(name, item.enabled, item.generated, item.distinct) for name, item in covered if item.generated]
        wanted = [row(*each) for each in answer.instances]
        if len({each[0] for each in wanted}) < len(wanted) or any(map(_is_vague, (each[0] for each in wanted))):
            instances, wanted = ([("", *each[1:]) for each in some] for some in (instances, wanted))
        more, fewer = Counter(instances), Counter(wanted)
        yield from _unequal("coverage", [*(more - fewer).elements()], [*(fewer - more).elements()])


def _is_vague(name: str) -> bool:
    """Return whether the text of an instance is not determined: it shows an address, or a set, which has no order."""
    return " at 0x" in name or "frozenset(" in name


def _unequal(what: str, found: Any, right: Any) -> list[str]:
    if found == right:
        return []
    if isinstance(found, dict) and found.keys() == right.keys():
        found, right = ({name: each[name] for name in found if found[name] != right[name]} for each in (found, right))
    return [f"{what}: said is {str(found)[:400]}, so is {str(right)[:400]}"]


def _fault(search: Search, name: str, trace: Trace[Any], length: int | None) -> str:
    """Return why a trace is not right, or an empty string."""
    if length is not None and len(trace.states) != length:
        return f"{len(trace.states)} states, but the shortest has {length}"
    number = search.number
    if any(key(state) not in number for state in trace.states):
        return "a state is not reachable"
    if number[key(trace.states[0])] not in search.initials:
        return "it does not begin in an initial state"
    for step in trace.steps:
        index, target = number[key(step.before)], number[key(step.after)]
        own = {parameter: key(value) for parameter, value in step.arguments.items()}
        if not any(
            after == target
            and search.rules.spec.actions[instance.action].name == step.action
            and {parameter: key(value) for parameter, value in instance.arguments.items()} == own
            for instance, after in search.steps[index]
        ):
            return f"{step.instance} does not lead from {step.before} to {step.after}"
    entry = next((each for each in search.rules.properties if each[0] == name), None)
    if entry is None:
        return "" if not search.steps[number[key(trace.states[-1])]] else "it is no deadlock"
    item = entry[1]
    if item.kind in LIVENESS:
        return liveness.fault(search, entry, trace)
    end = trace.states[-2:] if item.kind.of_steps else trace.states[-1:]
    is_true = search.rules.is_true(entry, *end)
    return "" if is_true is item.kind.is_witness else "its end does not show it"


def compare(
    spec: Spec[Any], ways: Sequence[Way], *, keep_going: bool, is_ordered: bool
) -> tuple[str, dict[str, tuple[str, ...]]]:
    """Compare ways to search a spec with the twin; for the parameters, see `said`.

    Returns:
        What is so (``refused``, or a verdict), and for each way that differs, what it says otherwise.
    """
    search = Search(spec)
    answer = search.answer(keep_going=keep_going)
    every = {way.name: said(spec, search, answer, way, keep_going=keep_going, is_ordered=is_ordered) for way in ways}
    found = {name: each.differences for name, each in every.items() if each.differences}
    refusals = {each.refusal for each in every.values() if not each.differences}
    if len(refusals) > 1 and "" in refusals:
        found["together"] = (f"some refuse it, some do not: {answer.doubtful}: {max(refusals)}",)
    for has_coverage in (False, True):
        new = {
            each.new
            for way, each in zip(ways, every.values(), strict=True)
            if each.new and way.coverage is has_coverage
        }
        if len(new) > 1:
            found["together"] = (f"new states are not counted alike: {[*map(sorted, map(set, new))]}"[:600],)
    verdict = "refused" if answer.refused or refusals - {""} else answer.verdict
    return verdict, found


def without_liveness(spec: Spec[Any]) -> Spec[Any]:
    """Return a spec without its liveness properties, which Spark does not check."""
    return attrs.evolve(spec, properties=[item for item in spec.properties if item.kind not in LIVENESS])
