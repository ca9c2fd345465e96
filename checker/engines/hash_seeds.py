"""Compares the results for a spec's first states across processes, to find out whether the spec depends on the
iteration order of a set.

Sets of strings, bytes and enum members iterate in an order that differs between processes, and so do sets of values
that contain them. Each process imports the spec and expands the same states. States are compared by their contents,
which are the same in every process. If an action leads to different next states in two processes, or if a property has
different verdicts, the spec depends on the iteration order of a set.

Limits: a difference is found only if it occurs in these states. If a function uses the first member of a set that has
two members, all five processes use the same member with probability 1/16, and the difference is not found. If the set
has three members, the probability is 1/81. It decreases with every additional state in which the function uses a
different set.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import itertools
import json
import logging
import os
import random
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import IO, Any, Generic, TypedDict, TypeVar, cast

import attrs

from leadline.checker.action import ActionInstance
from leadline.checker.content import content, digest, in_order
from leadline.checker.errors import LeadlineError, SpecError
from leadline.checker.properties import OF_STATES, OF_STEPS, Kind, Property
from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.checker.support.inspection import is_a

S = TypeVar("S")

SEEDS = (1, 2, 3, 4, 5)
"""The hash seeds of the processes."""

MOST_STATES = 400
"""The maximum number of states that each process expands."""

CPU_SECONDS = 0.3
"""The processor time in seconds after which a process stops expanding states."""

LEAST_STATES = 20
"""The minimum number of states that each process expands, even if this takes longer than `CPU_SECONDS`."""

LONGEST_WALK = 60
"""The maximum number of steps of a random walk before a new walk begins."""

PATIENCE = 30.0
"""The maximum number of seconds to wait for each process after the search has ended."""

WORDS = 400
"""The maximum number of characters of a state in an error message."""

OF_ACTIONS = "use sorted(), or yield one next state for each member"
OF_VALUES = "use sorted(), or compute the result from all members"
"""The corrections that error messages suggest. `OF_ACTIONS` is for actions, and `OF_VALUES` is for everything else."""

ADDR_NO_RANDOMIZE = 0x0040000
"""The flag of a process that has the same addresses in each run; see personality(2) of Linux."""

RAISES = (0, None)
"""Stands for the steps of an action that raises an exception."""

_log = logging.getLogger("leadline")


class Request(TypedDict):
    """The request that is sent to each process. It identifies the spec.

    Attributes:
        path: the value of `sys.path` to use.
        module, file: the name and the file of the module that defines the spec.
        name: the name of the module's variable that holds the spec.
        bounds: the bounds that replace those in the module.
        properties: the names of the properties to check, instead of all properties in the module.
    """

    path: list[str]
    module: str
    file: str
    name: str
    bounds: dict[str, int | bool | str]
    properties: list[str]


class Row(TypedDict):
    """The results of one process for one state.

    Attributes:
        content: the hash of the state's content.
        found: the hashes of the results of the action instances and properties, keyed by name.
    """

    content: int
    state: str
    found: dict[str, int]


def compare_seeds(spec: Spec[S], modules: Iterable[ModuleType]) -> None:
    """Compare the results for a spec's first states across processes with different hash seeds.

    Parameters:
        modules: the modules in which to look first for the variable that holds the spec.

    Raises:
        SpecError: if an action or a property depends on the iteration order of a set.
    """
    request = _request(spec, modules)
    if request is not None:
        with _asked(request) as processes:
            _compare(spec, _answers(spec, processes))


@contextmanager
def _asked(request: Request) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start a process for each hash seed and send it the request. Kill the processes when the ``with`` block ends."""
    processes = list[subprocess.Popen[bytes]]()
    try:
        for seed in SEEDS:
            processes.append(_process(seed))
            with contextlib.suppress(BrokenPipeError), cast(IO[bytes], processes[-1].stdin) as asked:
                asked.write(json.dumps(request).encode())
            processes[-1].stdin = None  # otherwise, `communicate` would close it again
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def _process(seed: int) -> subprocess.Popen[bytes]:
    """Start a process that runs `serve` with the given hash seed and with random addresses, because some hashes are
    addresses. The process has its own session, so Ctrl-C does not stop it.
    """
    with _random_addresses():
        return subprocess.Popen(
            [sys.executable, "-c", "from leadline.checker.engines.hash_seeds import serve; serve()"],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


@contextmanager
def _random_addresses() -> Iterator[None]:
    """Let the programs that this thread starts have random addresses on Linux, also if it has addresses that are the
    same in each run, as the command line has before Python 3.12.
    """
    present = 0
    if sys.platform == "linux":
        with contextlib.suppress(ImportError, OSError, AttributeError):
            import ctypes

            personality = ctypes.CDLL(None).personality
            present = personality(0xFFFFFFFF)
            personality(present & ~ADDR_NO_RANDOMIZE)
    try:
        yield
    finally:
        if present > 0:
            personality(present)


def _answers(spec: Spec[S], processes: Sequence[subprocess.Popen[bytes]]) -> list[list[Row]]:
    """Return the rows of each process. If a process failed, log a warning and return an empty list. If it refuses the
    spec, which this process does not, raise SpecError.
    """
    answers = []
    for process in processes:
        try:
            data, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            data = b'{"error": "it took too long"}'
        answer = json.loads(data or b'{"error": "the process died"}')
        if isinstance(answer, dict):
            if refused := answer.get("refused"):
                raise SpecError(f"{spec.name} depends on the order of a set: with another one, {refused}")
            warn_unchecked("the spec", visible(str(answer["error"])))
            return []
        answers.append(answer)
    return answers


def warn_unchecked(name: str, reason: str) -> None:
    """Log a warning that the spec was not checked for a dependency on the iteration order of sets."""
    _log.warning("whether %s depends on the order of a set was not checked: %s", visible(name), reason)


def _compare(spec: Spec[S], answers: Sequence[Sequence[Row]]) -> None:
    for rows in zip(*answers, strict=False):
        if len({row["content"] for row in rows}) > 1:
            raise SpecError(f"initial_states of {spec.name} depends on the order of a set: {OF_VALUES}")
        for name in rows[0]["found"]:
            if len({row["found"].get(name) for row in rows}) > 1:
                remedy = OF_ACTIONS if name.startswith("action ") else OF_VALUES
                shown = next((f"action {each}" for each in spec.instances if f"action {_key(each)}" == name), name)
                raise SpecError(f"{shown} depends on the order of a set, for example in {rows[0]['state']}: {remedy}")


def _key(instance: ActionInstance[S]) -> str:
    """Return text that names an instance in every process. The text of a set would depend on the order of the set."""
    return f"{instance.action.name} {content('', instance.values, is_part=True)}"


def _request(spec: Spec[S], modules: Iterable[ModuleType]) -> Request | None:
    """Return the request for a spec. If no module has a variable that holds the spec, log a warning and return None."""
    bounds, properties = attrs.asdict(spec.bounds), [item.name for item in spec.checks]
    for module in dict.fromkeys([*modules, *sys.modules.values()]):
        for name, value in list(vars(module).items()) if is_a(module, ModuleType) else ():
            if is_a(value, Spec) and _is_same(value, spec) and (file := getattr(module, "__file__", None)):
                with contextlib.suppress(LeadlineError):  # another spec of the module can have other properties
                    value.with_bounds(bounds).with_properties(properties)
                    return Request(
                        path=[os.path.abspath(each) for each in sys.path],
                        module=module.__name__,
                        file=os.path.abspath(file),
                        name=name,
                        bounds=bounds,
                        properties=properties,
                    )
    warn_unchecked(spec.name, "no module defines the spec at its top level")
    return None


def _is_same(one: Spec[S], other: Spec[S]) -> bool:
    """Return whether two specs have the same functions. Their bounds, properties and names may differ."""
    return (
        one.initial_states is other.initial_states and one.actions == other.actions and _limits(one) == _limits(other)
    )


def _limits(spec: Spec[S]) -> tuple[object, object]:
    return spec.within, spec.within_step


# --- in the processes with different seeds ---


def serve() -> None:
    """Read a request from standard input, and write rows, or why there are none, to standard output as JSON."""
    with contextlib.suppress(OSError):
        os.nice(10)  # the search itself has priority
    request = cast(Request, json.loads(sys.stdin.buffer.read()))
    out = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nothing, descriptor)  # discards the output of the spec
    answer: object
    try:
        answer = list(Prefix(_loaded(request)).rows())
    except SpecError as error:
        answer = {"refused": str(error)}
    except BaseException as error:  # any exception, because the spec's code runs here
        answer = {"error": f"{type(error).__name__}: {error}"}
    out.write(json.dumps(answer).encode())
    out.flush()
    os._exit(0)  # even if the spec has started threads


def _loaded(request: Request) -> Spec[object]:
    """Return the spec of a request. If its module cannot be imported by name, execute its file as a module."""
    sys.path[:] = request["path"]
    name = request["module"]
    module: ModuleType | None = None
    if name != "__main__":
        with contextlib.suppress(ImportError):
            module = importlib.import_module(name)
    if module is None:
        located = importlib.util.spec_from_file_location(f"_leadline_{name}", request["file"])
        assert located is not None
        assert located.loader is not None
        module = importlib.util.module_from_spec(located)
        sys.modules[module.__name__] = module
        located.loader.exec_module(module)
    found = vars(module)[request["name"]]
    assert isinstance(found, Spec)
    return found.with_bounds(request["bounds"]).with_properties(request["properties"])


class Functions(Generic[S]):
    """The actions and properties of a spec, which are called on one state after the other.

    Parameters:
        key: a function that returns the name of an instance.
    """

    def __init__(self, spec: Spec[S], key: Callable[[ActionInstance[S]], str] = str) -> None:
        self._spec, self._key = spec, key
        self._state_checks = spec.checks_of(*OF_STATES, Kind.FINAL)
        self._step_checks = spec.checks_of(*OF_STEPS)

    def successors(self, state: S) -> list[S]:
        """Return the next states of a state, except those of actions that raise an exception."""
        found = list[S]()
        for instance in self._spec.instances if self._spec.is_within(state) else ():
            with contextlib.suppress(SpecError):
                found += self._spec.take(instance, state)
        return found

    def found(self, state: S, successors: Sequence[S]) -> dict[str, Any]:
        """Return the results of all actions and properties for a state, keyed by name.

        Parameters:
            successors: the next states. Properties of steps are evaluated on the steps to them.

        Returns:
            For an action instance, how often it takes each step, as a (rank, next state) pair. For a property, whether
            it is true, or None if it raises an exception; for a property of steps, this is a list.
        """
        found = dict[str, Any]()
        for item in self._state_checks:
            found[f"{item.kind.value} {item.name}"] = self._holds(item, state)
        for instance in self._spec.instances if self._spec.is_within(state) else ():
            name = f"action {self._key(instance)}"
            taken = found.setdefault(name, Counter())  # other instances can have the same name
            try:
                taken.update((each.rank, after) for each, after in self._spec.steps(instance, state))
            except SpecError:
                taken[RAISES] += 1
        for item in self._step_checks:
            found[f"{item.kind.value} {item.name}"] = [self._holds(item, state, after) for after in successors]
        return found

    def _holds(self, item: Property, *states: S) -> bool | None:
        try:
            return self._spec.complaint(item, *states) is None
        except LeadlineError:
            return None


class Prefix(Generic[S]):
    """Expands the first states of a spec, in an order that depends only on their contents.

    Parameters:
        states: the maximum number of states to expand.
        seconds: the processor time after which no more states are expanded. At least `LEAST_STATES` states are expanded
            in any case.
    """

    def __init__(self, spec: Spec[S], states: int = MOST_STATES, seconds: float = CPU_SECONDS) -> None:
        self._spec, self._functions, self._most, self._seconds = spec, Functions(spec, _key), states, seconds

    def rows(self) -> Iterator[Row]:
        """Expand the states, and yield the results for each state."""
        found, started = list[Row](), time.process_time()

        def expand(state: S) -> list[S]:
            successors = in_order(self._functions.successors(state))
            results = self._functions.found(state, successors)
            hashed = {name: _hashed(result) for name, result in results.items()}
            found.append(Row(content=content("", state, is_part=True), state=text_of(state), found=hashed))
            return successors

        for count in first_states(in_order(self._spec.initials()), expand):
            yield found.pop()
            if count == self._most or (count >= LEAST_STATES and time.process_time() > started + self._seconds):
                return


def _hashed(result: object) -> int:
    """Return a hash of the results of an action or a property that is the same in every process."""
    if isinstance(result, Counter):
        return digest(*map(str, sorted((content("", after, is_part=True), rank) for rank, after in result)))
    return digest(str(result))


def text_of(state: object) -> str:
    """Return a state as text for an error message, truncated to `WORDS` characters."""
    try:
        shown = visible(repr(state))
    except Exception:
        return "a state that cannot be shown"
    return shown if len(shown) <= WORDS else f"{shown[:WORDS]}..."


def first_states(initials: Sequence[S], expand: Callable[[S], list[S]]) -> Iterator[int]:
    """Expand states endlessly, alternating between a breadth-first search and a random walk.

    Parameters:
        expand: a function that takes a state and returns its next states.

    Yields:
        The number of states expanded so far.
    """
    waiting, known = deque(initials), set(initials)
    draw, walker, taken = random.Random(0), initials[0], 0
    for count in itertools.count(1):
        is_walk = not waiting or count % 2 == 0
        state = walker if is_walk else waiting.popleft()
        successors = expand(state)
        yield count
        if is_walk:
            others = [after for after in successors if after != state]
            taken = 0 if not others or taken == LONGEST_WALK else taken + 1
            walker = draw.choice(others) if taken else draw.choice(initials)
        for after in () if is_walk else successors:
            if after not in known:
                known.add(after)
                waiting.append(after)
