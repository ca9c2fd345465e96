"""Settings of the engines, in addition to the spec and the limits. Only those of random search affect its results."""

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
        block: the number of states that each thread expands between two checks of the limits.
        chunks: the number of chunks of a block per thread; an idle thread takes the next chunk.
        alone: the number of states below which a second thread is not used.
        asked: the number of unknown paths of a chunk that are learned before its compiled loop continues.
        waiting: the number of states of a chunk that may wait for unknown paths.
        pays: the number of states in a block that must need a path for it to be learned in any case.
        always: the number of calls of each action instance and property that are recorded in any case.
        many_values: the number of values from which a part of the state is split, if possible.
        searched_again: the number of expanded states above which a search is not restarted to split parts.
        compared_calls: one in this number of recorded calls of predicates is compared with a call on the states
            themselves; 0: none.
        compared_paths: the number of states of a block that are searched for paths to compare before the block is
            expanded.
        compared_states: the number of states of a level on which all known paths are compared.
        made_again, made_again_later: calls that may depend on the identity of objects are repeated on equal objects:
            the first `made_again` calls, and then one in `made_again_later`.
        shared: the number of calls below which work is not shared with other processes.
        helped_after: the number of calls after which a search may use other processes.
        renewed_after: the number of calls that the other processes could not make, because they did not know a value,
            after which they are replaced by newly forked processes.
        in_order: whether to sort the next states that one call of an action yields by their content. If so, traces do
            not depend on the order of sets, which differs between processes.
        look_seconds: CPU seconds of direct calls before the size of the state space is forecast; 0: the search begins
            with learning, even if the state space is small.
        small_seconds: a state space is small if direct calls can probably explore it within this many CPU seconds.
        sample: the number of initial states on which direct calls are timed first, if there are more.
        first_look: seconds of learning before a search may return to direct calls.
        behind: a search is behind if it expands less than this fraction of the states that direct calls would expand.
        level_seconds: the minimum duration of a round of compiled loops in seconds, even for a small level.
        narrow_levels: the number of levels after which the levels can be judged to be small. The first levels of any
            state space are small.
        known_states: the number of expanded states after which the fraction of calls that are new can be judged. The
            first calls are always new.
        verify, verify_seed: the fraction of applications of learned results that are compared with calls on real
            states, and the seed of their random choice. If `verify` is None, verification takes about 3 % of the time.
            See `leadline.checker.engines.learning.verification`.
        progress_seconds, progress_states: seconds, and in the oracle also expanded states, between two calls of the
            progress function.
        watch_seconds: seconds between two checks of the limits by the thread that interrupts a search.
        grace_seconds: seconds beyond the time limit after which a search that has not stopped by itself is interrupted.
        again_seconds: seconds after which a search is interrupted again, if the spec caught the first interrupt.
        pure_states, pure_growth: the first `pure_states` states of a search are checked for purity, and then one state
            each time that the number of states has grown by the factor `pure_growth`. This detects nearly all impure
            functions, and takes almost no time in a long search.
        interruptible: the number of states that are added to a table, or checked, between two checks for Ctrl-C.
        field_values: the maximum number of distinct values of a field that are counted.
        frontier: the maximum number of states in the frontier of a random search. If there are more, those that would
            be expanded last are dropped.
        remembered: the number of entries in a random search's table of found states; a power of 2.
        sampled: the size of the sample from which a random search estimates the number of distinct states. If there are
            more states, the standard error of the estimate is 1 / sqrt(sampled - 2), or 0.8 %.
        tried: the number of steps that are tried to find steps of a trace that can be left out. It takes about ten
            seconds.
        shortening_seconds: seconds for leaving out steps even if a random search has used up its time or was
            interrupted. Otherwise, counterexamples would be as long as the random behaviours.
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
        workers: the number of threads; None: one for each core.
        checkpoint: a new folder in which the search is saved at regular intervals and at the end.
        checkpoint_every: seconds between two checkpoints.
        resume: the folder in which an earlier run saved its search. This run continues the search and saves it there.
        verify: the fraction of learned results that are compared with calls on real states, from 0 to 1; None:
            verification takes about 3 % of the time.
        tuning: sizes and times.
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
    """Sizes and times of the Spark engine. The defaults are right for every spec; tests use smaller ones.

    Attributes:
        large: the number of states from which Spark expands a level. The driver alone searches the levels before the
            first such level.
        small: after this first level, the driver expands levels with fewer states than this number.
        task: the maximum number of states that one task expands, which limits its memory.
        compiled: the tuning of the compiled engine, which the driver and the workers use.
        rewritten_seconds: on a file system without locks, the interval in seconds at which the owner of a work
            directory rewrites its file.
        watched_seconds: the number of seconds without a change of this file after which the owner is presumed dead.
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
        master: the URL of Spark's master; None: the one given to `spark-submit`, or all cores of this machine.
        shards: the number of shards that the states are distributed over; None: one for each core.
        work_dir: a local path or a URI that the driver and the executors can access; None: a temporary folder, which
            works on a single machine only.
        resume: the work directory of an earlier run. The search continues from its last complete level.
        keep_files: whether to keep the files of levels after the search has finished. After a limit or an interrupt,
            they are always kept for `resume`.
        conf: Spark configuration properties.
        verbose: whether to show Spark's log and progress bar.
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
"""The maximum numbers of behaviours (more than any run has time for), of steps in a behaviour, and of threads."""


@attrs.frozen(kw_only=True)
class RandomSettings:
    """Settings of random search.

    Attributes:
        examples: the number of behaviours, at most `MOST_EXAMPLES`.
        steps: the maximum number of steps in a behaviour, at most `MOST_STEPS`. States that are further than this from
            an initial state are not expanded.
        seed: the seed. The same seed searches the same behaviours, whatever the number of workers.
        uniform: whether all behaviours are walks from initial states, in which only the steps taken are checked. By
            default, most steps expand states in random order; see `leadline.checker.engines.random.frontier`.
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
                raise SpecError(f"{name}={value} is out of range: it must be an integer greater than 0")
            if value > most:
                raise SpecError(f"{name}={value} is out of range: it must be at most {most:,}")
        if self.verify is not None and not 0 <= self.verify <= 1:
            raise SpecError(f"verify={self.verify} is out of range: it must be a number from 0 to 1")

    @property
    def tuning_used(self) -> Tuning:
        """The tuning, with the value of `verify` if it is given."""
        return self.tuning if self.verify is None else attrs.evolve(self.tuning, verify=self.verify)

    @property
    def shown(self) -> dict[str, int | bool]:
        """The settings that determine which behaviours are searched, by name, for reports."""
        shown: dict[str, int | bool] = {"examples": self.examples, "steps": self.steps, "seed": self.seed}
        return shown | ({"uniform": True} if self.uniform else {})
