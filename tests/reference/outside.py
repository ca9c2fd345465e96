"""Makes mistakes in the modules outside of the trusted core, and looks for one that makes a spec hold falsely.

``python -m tests.reference.outside 200`` makes 200 mistakes; ``--in engines/compiled/kernel.py`` makes them in a module
of the core instead. `checker/engines/README.md` names the modules of the core. Only functions that run during one of
the searches are changed, and each mistake is tried on searches that run the changed function. A mistake may make a
search crash, run for ever, refuse the spec or say something else than *holds*.
"""

from __future__ import annotations

import argparse
import functools
import random
import re
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType

import attrs

from leadline import checker
from leadline.checker.mutation.changes import NotMutated, change_functions
from leadline.checker.mutation.mutations import Change, changes_of
from leadline.checker.mutation.processes import answers
from leadline.reports.mutation import sampled
from tests.reference.__main__ import texts
from tests.reference.compare import DEFAULT, FORKED, LEARNING, ORACLE, RESUMED, SMALL, Way
from tests.reference.grammar import KINDS
from tests.reference.search import Answer, Search
from tests.reference.specs import Text, unload

ROOT = Path(checker.__file__).resolve().parent
PAGE = ROOT / "engines" / "README.md"
WAYS = (ORACLE, DEFAULT, LEARNING, SMALL, RESUMED, FORKED)
TRIES = 3
"""The maximum number of searches that one mistake is tried on."""

Place = tuple[str, int]
"""A function: its file, and the line where it begins."""


@attrs.frozen
class Case:
    """A search of a spec that does not hold.

    Attributes:
        text: the spec.
        way: how to search.
        keep_going: whether to continue after a violation.
        answer: what the twin says.
    """

    text: Text
    way: Way
    keep_going: bool
    answer: Answer

    def falsely(self) -> list[str]:
        """Search, and return the names of what is said to hold and does not, or of the spec if it is to be refused."""
        spec = self.text.load()
        try:
            result = self.way.run(spec, keep_going=self.keep_going)
        finally:
            unload(spec)
        if self.answer.refused:
            return [self.text.name] if result.verdict.value == "holds" else []
        said = {item.property.name: item.verdict.value for item in result.properties}
        said["the spec"] = result.verdict.value
        right = {**self.answer.verdicts, "the spec": self.answer.verdict}
        return [name for name, verdict in said.items() if verdict == "holds" != right.get(name)]

    def places(self) -> set[Place]:
        """Search, and return the functions that ran. See `answers`."""
        codes: set[CodeType] = set()

        def note(frame: FrameType, event: str, _: object) -> None:
            if event == "call":
                codes.add(frame.f_code)

        threading.setprofile(note)
        sys.setprofile(note)
        try:
            assert not self.falsely(), self.text.name
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        files = {name: str(Path(name).resolve()) for name in {code.co_filename for code in codes}}
        return {(files[code.co_filename], code.co_firstlineno) for code in codes}


@attrs.frozen
class Mistake:
    """A change of a function of a file."""

    file: Path
    change: Change

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.change.line} {self.change.name}"

    def judge(self, case: Case) -> str:
        """Make the mistake in this process, search, and return what comes of it. See `answers`."""
        try:
            change_functions(self.file, self.change)
            found = case.falsely()
        except NotMutated:
            return "not made"
        except Exception as error:
            return "refused" if isinstance(error, checker.SpecError) else "crashed"
        return f"holds falsely: {case.text.name} ({case.way.name}): {', '.join(found)}" if found else "not falsely"


def core() -> list[str]:
    """Return the modules that the page names in its column of trusted modules, relative to `checker`."""
    rows = [line.split("|") for line in PAGE.read_text().splitlines() if re.match(r"\| \d+", line)]
    return sorted({name for row in rows for name in re.findall(r"`([a-z_/]+\.py)`", row[3])})


def cases(seeds: Sequence[int], kinds: Sequence[str], ways: Sequence[Way]) -> Iterator[Case]:
    """Yield searches of specs of some kinds that are violated, or that are to be refused because of their values."""
    for seed in seeds:
        for kind in kinds:
            for text in texts(kind, seed):
                if text.name.endswith("holds") or (kind == "door" and text.name.endswith("refused")):
                    continue
                spec = text.load()
                keep_going = seed % 2 == 0
                answer = Search(spec).answer(keep_going=keep_going)
                unload(spec)
                if answer.refused or answer.verdict == "violated":
                    yield from (Case(text, way, keep_going, answer) for way in ways)


def outcomes(
    files: Sequence[Path],
    count: int,
    seeds: Sequence[int],
    kinds: Sequence[str] = tuple(KINDS),
    ways: Sequence[Way] = WAYS,
    seconds: float = 20,
) -> Iterator[tuple[Mistake, str]]:
    """Make mistakes, and yield each with the worst that came of it, and a summary of the others.

    Parameters:
        files: the files in which to make mistakes.
        count: the maximum number of mistakes.
        seeds: the seeds of the specs.
        kinds: the kinds of the specs.
        ways: the ways to search.
        seconds: the time limit for a search.
    """
    chance = random.Random(0)
    every = {str(number): case for number, case in enumerate(cases(seeds, kinds, ways))}
    running: dict[Place, list[Case]] = defaultdict(list)
    for number in range(len(ways)):
        every[str(number)].falsely()  # so that the processes need not import and compile again
    calls = ((name, case.places) for name, case in every.items())
    for answer in answers(calls, 1, 300):
        assert isinstance(answer.found, set), (every[answer.name], answer.found)
        for place in answer.found:
            running[place].append(every[answer.name])
    found = [
        Mistake(file, change)
        for file in files
        for change in changes_of(file.read_bytes())
        if (str(file), change.begins[-1]) in running
    ]
    mistakes = sampled(found, count, 0)

    def judge(mistake: Mistake) -> str:
        here = running[str(mistake.file), mistake.change.begins[-1]]
        told = []
        for case in chance.sample(here, min(TRIES, len(here))):
            (inner,) = answers([("", functools.partial(mistake.judge, case))], 1, seconds)
            told.append("did not end" if inner.is_late else str(inner.found))
        return next((each for each in told if each.startswith("holds")), Counter(told).most_common()[-1][0])

    for mistake in mistakes:
        yield mistake, judge(mistake)


def main() -> int:
    """Make mistakes; returns 1 if any makes a spec hold falsely."""
    parser = argparse.ArgumentParser(prog="tests.reference.outside", description=__doc__)
    parser.add_argument("mistakes", type=int, nargs="?", default=200)
    parser.add_argument("--in", dest="inside", action="append", default=[], help="a module, or the start of its path")
    parser.add_argument("--seeds", type=int, default=2, help="seeds for each kind of specs")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    seeds = range(given.seed, given.seed + given.seeds)
    for mistake, told in outcomes(files(given.inside), given.mistakes, seeds):
        counts[told.partition(":")[0]] += 1
        if told.startswith("holds"):
            print(mistake, told, sep="\n    ", flush=True)
    print(", ".join(f"{count} {told}" for told, count in counts.most_common()))
    return counts["holds falsely"] > 0


def files(inside: Sequence[str] = ()) -> list[Path]:
    """Return the files outside of the core, or those whose paths in `checker` begin with one of some texts."""
    trusted = set(core()) if PAGE.exists() else set()
    every = sorted(ROOT.rglob("*.py"))
    if inside:
        return [file for file in every if str(file.relative_to(ROOT)).startswith(tuple(inside))]
    return [file for file in every if str(file.relative_to(ROOT)) not in trusted]


if __name__ == "__main__":
    sys.exit(main())
