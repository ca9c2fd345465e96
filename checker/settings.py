"""The settings of the engines. Only the settings of random search affect the results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from leadline.checker.errors import SpecError

if TYPE_CHECKING:
    from leadline.checker.engines.learning.kept import Kept

__all__ = ["CompiledSettings", "RandomSettings", "SparkSettings"]


class SettingsError(SpecError):
    """Raised if settings exclude each other.

    Attributes:
        template: the message, with the name of each setting in braces. The command line replaces it with an option.
    """

    def __init__(self, template: str) -> None:
        super().__init__(template.replace("{", "").replace("}", ""))
        self.template = template


@attrs.frozen(kw_only=True)
class EngineSettings:
    """The base class of the settings of an engine. Each class refuses the settings that exclude each other."""

    def allow_coverage(self) -> None:
        """Raise SettingsError if a search with these settings cannot collect coverage."""


@attrs.frozen(kw_only=True)
class Tuning:
    """Sizes and times that engines use internally. The defaults suit every spec. Tests use smaller values.

    Some terms: *direct calls* are calls to the spec's actions and properties on states. The compiled engine *learns*
    from calls: it records which values a call read and what it returned. A *path* is the sequence of values that a call
    read. A result that was learned for a path is *applied* to other states with the same values, so that no further
    call is necessary. The compiled engine searches states in *blocks*, which it divides into *chunks* for its threads.

    Attributes:
        block: the number of states that each thread expands between two checks of the limits.
        alone: if fewer states than this number have to be processed, the engine uses only one thread.
        asked: the maximum number of unknown paths that the compiled loop of a chunk (a part of a block) collects before
            they are learned.
        waiting: the maximum number of states in a chunk that wait for unknown paths.
        always: for each action instance and property, the number of calls at the start of a search from which the
            engine always learns.
        apart_after: the number of calls of a property to learn from before the property is divided into parts. Each
            part is then learned separately.
        many_values: the number of values at which a part of the state is split into smaller parts if possible.
        compared: whether learned results are compared with direct calls in the places that do not depend on `verify`:
            some when they are learned, some before a block is expanded, and all on a few states of each level.
        shared: calls are distributed to other processes only if at least this number of calls have to be made.
        helped_after: the number of calls after which a search may use other processes.
        in_order: whether to sort the next states from each action call by their contents. Traces then do not depend on
            the iteration order of sets, which differs between processes.
        learn_after: the work, in calls, after which a search packs its states and begins to learn; see
            `learn_or_call`. If it is 0, the search does so at once, even if the state space is small.
        verify: the fraction of applied results to compare with direct calls, from 0 to 1. None means that their number
            grows with the logarithm of the number of applied results. See
            `leadline.checker.engines.learning.verification`.
        verify_seed: the seed for the random choice of results to compare.
        pure_states: the number of states at the start of a search on some of which the engine tests whether the spec's
            functions are pure. None means that some states of the whole search are tested.
    """

    block: int = 32_768
    alone: int = 2_000
    asked: int = 64
    waiting: int = 1024
    always: int = 40
    apart_after: int = 40
    many_values: int = 32
    compared: bool = True
    shared: int = 8
    helped_after: int = 500
    in_order: bool = False
    learn_after: int = 160_000
    verify: float | None = None
    verify_seed: int = 0
    pure_states: int | None = None


DEFAULT = Tuning()

NO_ORBITS_COVERED = "{coverage} cannot be used with {symmetry}: it would count one state of each orbit"

CHECKPOINT_SECONDS = 30.0
"""The default number of seconds between two saves of a search."""


@attrs.frozen(kw_only=True)
class CompiledSettings(EngineSettings):
    """The settings of the compiled engine.

    Attributes:
        workers: the number of threads. None means one for each core.
        checkpoint: the path of a new folder. The search is saved in it at regular intervals and at the end. None means
            that the search is not saved.
        checkpoint_every: the number of seconds between two saves. None means `CHECKPOINT_SECONDS`.
        resume: the folder in which an earlier run saved its search, of this engine or on Spark. This run continues that
            search and saves it in the same folder.
        disk: a folder in which states are kept in temporary files. Memory then holds only an exact table of them, with
            4 to 12 bytes for each. None means that all is kept in memory.
        verify: the fraction of the uses of learned results to compare with direct calls, from 0 to 1. None means that
            their number grows with the logarithm of the number of uses.
        symmetry: see `OracleSettings`.
        kept: what earlier searches have learned, and where this one adds to it, or None. Not used by a search that is
            saved or counts coverage, or with symmetry.
        tuning: internal sizes and times.
    """

    symmetry: bool = False
    workers: int | None = None
    kept: Kept | None = None
    verify: float | None = None
    checkpoint: Path | None = None
    checkpoint_every: float | None = None
    resume: Path | str | None = None
    disk: Path | None = None
    tuning: Tuning = DEFAULT

    def __attrs_post_init__(self) -> None:
        if self.checkpoint is not None and self.resume is not None:
            raise SettingsError(
                "{checkpoint} cannot be used with {resume}, which saves the search to the folder that it resumes from"
            )
        if self.checkpoint_every is not None and self.checkpoint is None and self.resume is None:
            raise SettingsError("{checkpoint_every} requires {checkpoint} or {resume}")
        for name in ("checkpoint", "resume"):
            if self.symmetry and getattr(self, name) is not None:
                raise SettingsError(f"{{{name}}} cannot be used with {{symmetry}}")

    def allow_coverage(self) -> None:
        if self.symmetry:
            raise SettingsError(NO_ORBITS_COVERED)
        if self.resume is not None:
            raise SettingsError(
                "{coverage} cannot be used with {resume}, because coverage requires a search from the beginning"
            )


@attrs.frozen(kw_only=True)
class OracleSettings(EngineSettings):
    """The settings of the oracle engine.

    Attributes:
        symmetry: whether to search one state of each orbit of `Spec.symmetric`; see `leadline.checker.symmetry`.
        tuning: internal sizes and times.
    """

    symmetry: bool = False
    tuning: Tuning = DEFAULT

    def allow_coverage(self) -> None:
        if self.symmetry:
            raise SettingsError(NO_ORBITS_COVERED)


@attrs.frozen(kw_only=True)
class SparkTuning:
    """Sizes and times that the Spark engine uses internally. The defaults suit every spec. Tests use smaller values.

    Attributes:
        large: the minimum number of states of the first level that Spark expands. The driver itself expands all earlier
            levels.
        small: after the first large level, the driver itself expands levels with fewer states than this number.
        task: the maximum number of states that one task expands. It limits the memory of the task.
        compiled: the tuning of the compiled engine, which the driver and the workers use.
    """

    large: int = 200_000
    small: int = 10_000
    task: int = 500_000
    compiled: Tuning = attrs.field(factory=Tuning)


@attrs.frozen(kw_only=True)
class SparkSettings(EngineSettings):
    """The settings of the Spark engine.

    Attributes:
        master: the URL of the Spark master. None means the master that was passed to `spark-submit`, or all cores of
            this machine.
        shards: the number of shards across which the states are distributed. None means one for each core.
        work_dir: a local path or a URI that the driver and the executors can access. None means a temporary folder,
            which works only on a single machine.
        resume: the work directory of an earlier run, or the folder in which the compiled engine saved a search. This
            run continues that search.
        keep_files: whether to keep the files that contain the levels after the search has finished. If a limit or an
            interrupt ended the search, they are always kept for `resume`.
        conf: Spark configuration properties.
        verbose: whether to show Spark's log and progress bar.
        verify: see `CompiledSettings`.
        tuning: internal sizes and times.
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

    def __attrs_post_init__(self) -> None:
        if self.work_dir is not None and self.resume is not None:
            raise SettingsError("{work_dir} cannot be used with {resume}, which uses the folder that it resumes from")

    def allow_coverage(self) -> None:
        raise SettingsError("{coverage} cannot be used with {engine} spark: use compiled or oracle")


MOST_EXAMPLES, MOST_STEPS, MOST_WORKERS = 10**15, 1_000_000, 256
"""The maximum values of `RandomSettings.examples`, `RandomSettings.steps` and `RandomSettings.workers`."""


@attrs.frozen(kw_only=True)
class RandomSettings(EngineSettings):
    """The settings of random search.

    Attributes:
        examples: the number of behaviours, at most `MOST_EXAMPLES`.
        steps: the maximum number of steps in a behaviour, at most `MOST_STEPS`. States that are reached only after more
            steps are not expanded.
        seed: the seed for the random choices. Runs with the same seed take the same steps, regardless of the number of
            threads.
        uniform: whether all behaviours are random walks from initial states. If so, only the steps taken are checked.
            By default, the search mostly expands states in random order; see
            `leadline.checker.engines.random.frontier`.
        workers: the number of threads, at most `MOST_WORKERS`. None means one for each core.
        verify: see `CompiledSettings`. This setting does not change which steps the search takes.
        tuning: internal sizes and times.

    Raises:
        SpecError: if a number is out of range.
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
        """The tuning. If the setting `verify` is not None, it replaces the value of `verify` in the tuning."""
        return self.tuning if self.verify is None else attrs.evolve(self.tuning, verify=self.verify)

    @property
    def shown(self) -> dict[str, int | bool]:
        """The settings that determine which steps the search takes, keyed by name. Reports show them."""
        shown: dict[str, int | bool] = {"examples": self.examples, "steps": self.steps, "seed": self.seed}
        return shown | ({"uniform": True} if self.uniform else {})
