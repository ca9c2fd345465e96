"""Settings of the engines, besides the spec and the limits. Only those of random search change its results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import attrs

from leadline.checker.errors import SpecError

__all__ = ["CompiledSettings", "RandomSettings", "SparkSettings"]


@attrs.frozen(kw_only=True)
class Tuning:
    """Sizes and times of the engines. The defaults are right for every spec; tests use smaller ones.

    Attributes:
        block: states that each thread expands between two checks of the limits.
        chunks: chunks of a block per thread; an idle thread takes the next one.
        alone: with fewer states than this, a second thread is not worth waking.
        asked: unknown paths of a chunk that are learned before its compiled loop continues.
        waiting: states of a chunk that wait for them.
        pays: states of a block that want a path for it to be learned in any case.
        always: calls of each action instance and property that are recorded in any case.
        many_values: a part of the state that takes this many values is taken apart, if it can be.
        searched_again: with more states expanded than this, a search is not started again to take parts apart.
        compared_calls: one recorded call of a predicate in this number is compared with a call on the states
            themselves; 0: none.
        compared_paths: states of a block, before it is expanded, in which paths to compare are looked for.
        compared_states: states of a level on which everything known is compared.
        made_again, made_again_later: calls that may depend on the identity of objects are repeated on equal objects:
            this many calls, and after them one in this number.
        shared: fewer calls than this are not worth sharing with other processes.
        helped_after: calls after which a search is worth another process.
        renewed_after: calls that the other processes could not make, as they did not know a value, after which new
            ones are forked.
        in_order: take the next states that one call of an action yields in the order of what they hold. Then the
            traces do not depend on the order of sets, which differs from process to process.
        look_seconds: CPU seconds of direct calls before the size of the space is forecast; 0: the search begins with
            learning, however small the space is.
        small_seconds: a space is small if direct calls will probably explore all of it in this many CPU seconds.
        sample: initial states; if there are more, direct calls on this many show first how long they take.
        first_look: seconds of learning before a search may return to direct calls.
        behind: a search is behind if it expands fewer states than this share of those that direct calls would.
        level_seconds, narrow_levels: seconds that a round of compiled loops takes however small a level is, and the
            number of levels that show that levels are small: the first levels of any space are.
        known_states: expanded states that show how many of a search's calls are new: the first calls always are.
        verify, verify_seed: the share of learned applications that are compared with calls on real states; None: as
            many as 3 % of the time allows. See `leadline.checker.engines.learning.verification`.
        progress_seconds, progress_states: seconds, and in the oracle also expanded states, between two calls of the
            progress function.
        watch_seconds: seconds between two checks of the limits by the thread that interrupts a search.
        grace_seconds: seconds beyond the time limit after which a search that has not stopped by itself is interrupted.
        again_seconds: seconds after which a search is interrupted again, if the spec caught the first interrupt.
        pure_states, pure_growth: the first states of a search are checked for purity, `pure_states` of them, and then
            one each time that the number of states has grown by the factor `pure_growth`. This detects nearly all
            impure functions, and takes almost no time in a long search.
        interruptible: states that are entered in a table, or checked, between two checks for Ctrl-C.
        field_values: distinct values of a field that are counted.
        frontier: states of the frontier of a random search; if there are more, those that would be expanded last are
            given up.
        remembered: entries of the table of states that a random search has found; a power of 2.
        sampled: states in the sample of a random search, which estimates the number of distinct states. If there are
            more, the standard error of their number is 1 / sqrt(sampled - 2), 0.8 %.
        tried: steps that are taken to find out which steps of a trace can be left out. It takes about ten seconds.
        shortening_seconds: seconds in which steps are left out even if a random search has used up its time or was
            interrupted: otherwise the counterexamples would be as long as the random behaviours.
    """

    block: int = 32_768
    chunks: int = 4
    alone: int = 2_000
    asked: int = 64
    waiting: int = 1024
    pays: int = 6
    always: int = 40
    many_values: int = 32
    searched_again: int = 100_000
    compared_calls: int = 8
    compared_paths: int = 64
    compared_states: int = 3
    made_again: int = 1000
    made_again_later: int = 8
    shared: int = 8
    helped_after: int = 500
    renewed_after: int = 300
    in_order: bool = False
    look_seconds: float = 0.12
    small_seconds: float = 2.0
    sample: int = 2_000
    first_look: float = 0.5
    behind: float = 0.8
    level_seconds: float = 0.002
    narrow_levels: int = 200
    known_states: int = 2_000
    verify: float | None = None
    verify_seed: int = 0
    progress_seconds: float = 0.1
    progress_states: int = 500
    watch_seconds: float = 0.1
    grace_seconds: float = 0.5
    again_seconds: float = 2.0
    pure_states: int = 30
    pure_growth: float = 1.25
    interruptible: int = 2**22
    field_values: int = 10_000
    frontier: int = 2**17
    remembered: int = 2**22
    sampled: int = 2**14
    tried: int = 1_000_000
    shortening_seconds: float = 3.0


DEFAULT = Tuning()


@attrs.frozen(kw_only=True)
class CompiledSettings:
    """Settings of the compiled engine.

    Attributes:
        workers: how many threads share the work; None: one for each core.
        checkpoint: a new folder, in which the search is saved from time to time and at its end.
        checkpoint_every: seconds between two checkpoints.
        resume: the folder in which an earlier run saved its search, to continue from there and to save to.
        verify: the share of learned results that are compared with calls on real states, from 0 to 1; None: as many as
            3 % of the time allows.
        tuning: sizes.
    """

    workers: int | None = None
    verify: float | None = None
    checkpoint: Path | None = None
    checkpoint_every: float = 30.0
    resume: Path | str | None = None
    tuning: Tuning = DEFAULT


@attrs.frozen(kw_only=True)
class OracleSettings:
    """Settings of the oracle.

    Attributes:
        tuning: sizes and times.
    """

    tuning: Tuning = DEFAULT


@attrs.frozen(kw_only=True)
class SparkTuning:
    """Sizes of the Spark engine. The defaults are right for every spec; tests use smaller ones.

    Attributes:
        large: states of the first level that Spark expands; the driver searches the levels before it alone.
        small: from then on, the driver expands levels of fewer states than this.
        task: states that one task expands at most, which bounds its memory.
        compiled: sizes of the compiled engine, which the driver and the workers use.
        rewritten_seconds, watched_seconds: on a file system without locks, seconds after which the owner of a work
            directory rewrites its file, and seconds without a change after which the owner is presumed dead.
    """

    large: int = 200_000
    small: int = 10_000
    task: int = 500_000
    compiled: Tuning = attrs.field(factory=Tuning)
    rewritten_seconds: float = 10.0
    watched_seconds: float = 30.0


@attrs.frozen(kw_only=True)
class SparkSettings:
    """Settings of the Spark engine.

    Attributes:
        master: Spark's master; None: what `spark-submit` says, or all cores of this machine.
        shards: how many shards the states are spread over; None: one for each core.
        work_dir: a local path or a URI that driver and executors see; None: a temporary folder, which is possible on
            one machine only.
        resume: the work directory of an earlier run, to continue from its last complete level.
        keep_files: keep the files of levels after the search has finished. After a limit or an interrupt they always
            stay, for `resume`.
        conf: Spark's own settings.
        verbose: show Spark's log and progress bar.
        verify: see `CompiledSettings`.
        tuning: sizes.
    """

    master: str | None = None
    shards: int | None = None
    work_dir: str | None = None
    resume: str | None = None
    keep_files: bool = False
    conf: Mapping[str, str] = attrs.field(factory=dict)
    verbose: bool = False
    verify: float | None = None
    tuning: SparkTuning = attrs.field(factory=SparkTuning)


MOST_EXAMPLES, MOST_STEPS, MOST_WORKERS = 10**15, 1_000_000, 256
"""The most behaviours (more than any run has time for), steps in a behaviour, and threads of a random search."""


@attrs.frozen(kw_only=True)
class RandomSettings:
    """Settings of random search.

    Attributes:
        examples: the number of behaviours, at most `MOST_EXAMPLES`.
        steps: the most steps in a behaviour, and from an initial state to any state that is expanded; at most
            `MOST_STEPS`.
        seed: the same seed searches the same behaviours, whatever the number of workers.
        uniform: only walk from initial states, and check only the steps taken. By default, most steps expand states in
            random order; see `leadline.checker.engines.random.frontier`.
        workers: the number of threads, at most `MOST_WORKERS`; None: one for each core.
        verify: see `CompiledSettings`. It does not change which behaviours are searched.
        tuning: sizes and times.

    Raises:
        SpecError: a number is out of range.
    """

    examples: int = 10_000
    steps: int = 50
    seed: int = 0
    uniform: bool = False
    workers: int | None = None
    verify: float | None = None
    tuning: Tuning = DEFAULT

    def __attrs_post_init__(self) -> None:
        if type(self.seed) is not int:
            raise SpecError(f"seed={self.seed} is out of range: it must be an integer")
        for name, most in (("examples", MOST_EXAMPLES), ("steps", MOST_STEPS), ("workers", MOST_WORKERS)):
            value = getattr(self, name)
            if value is None and name == "workers":
                continue
            if type(value) is not int or value < 1:
                raise SpecError(f"{name}={value} is out of range: it must be an integer, and more than 0")
            if value > most:
                raise SpecError(f"{name}={value} is out of range: it must be at most {most:,}")
        if self.verify is not None and not 0 <= self.verify <= 1:
            raise SpecError(f"verify={self.verify} is out of range: it must be a share from 0 to 1")

    @property
    def tuning_used(self) -> Tuning:
        """The sizes and times, with the share to verify if one is given."""
        return self.tuning if self.verify is None else attrs.evolve(self.tuning, verify=self.verify)

    @property
    def shown(self) -> dict[str, int | bool]:
        """What decides which behaviours are searched, by name, for reports."""
        shown: dict[str, int | bool] = {"examples": self.examples, "steps": self.steps, "seed": self.seed}
        return shown | ({"uniform": True} if self.uniform else {})
