"""Wrong functions of every kind are refused in one line, with their file and line, when they are handed over or called.

Each kind of function meets each mistake. What the code of a function shows is refused at once; what only a call shows
is refused by every engine.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from leadline import checker
from leadline.checker import Result, Spec, SpecError, Verdict, action, bounds, fuzz, invariant, product, witness
from leadline.checker.drawing import Drawing, Message, Row
from leadline.checker.engines import compiled, oracle
from leadline.checker.settings import RandomSettings
from tests.specs import learning
from tests.suite.command import call

FILE = "test_door.py"


@attrs.frozen
class State:
    n: int = 0


@action()
def up(state: State) -> Iterator[State]:
    if state.n < 3:
        yield State(state.n + 1)


def spec_of(*properties: Any, actions: Any = (up,), **given: Any) -> Spec[Any]:
    first: dict[str, Any] = {"initial_states": lambda _: [State()], **given}
    return Spec(name="it", actions=actions, properties=properties, **first)


def in_action(**domain: Any) -> Spec[Any]:
    @action(**domain)
    def step(state: State, x: int) -> Iterator[State]:
        yield State(x)

    return spec_of(actions=[step])


def after(left: Any) -> Spec[Any]:
    return spec_of(checker.leads_to("it", after=left)(lambda state: True))


def property_of(name: str, function: Any) -> Spec[Any]:
    more = {"after": lambda state: True} if name == "leads_to" else {}
    return spec_of(getattr(checker, name)("it", **more)(function))


OF_STATES = ("invariant", "witness", "eventually", "always_eventually", "eventually_always", "leads_to", "recoverable")
OF_STEPS = ("step_invariant", "step_witness")
PROPERTIES = (*OF_STATES, *OF_STEPS)

VERDICT, REASONS, COLLECTION, OTHER = "a verdict", "reasons", "a collection", "another value"

KINDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    **{
        name: (REASONS if "invariant" in name else VERDICT, functools.partial(property_of, name)) for name in PROPERTIES
    },
    "premise": (VERDICT, lambda it: spec_of(invariant("it", premise=it)(lambda state: True))),
    "after": (VERDICT, after),
    "within": (VERDICT, lambda it: spec_of(within=it)),
    "final": (VERDICT, lambda it: spec_of(final=it)),
    "cut": (VERDICT, lambda it: spec_of(checker.eventually("it")(lambda state: True), cut=it)),
    "distance": (OTHER, lambda it: spec_of(invariant("it")(lambda state: state.n < 9), distance=it)),
    "initial_states": (COLLECTION, lambda it: spec_of(initial_states=it)),
    "domain": (COLLECTION, lambda it: in_action(x=it)),
    "domain of a property": (COLLECTION, lambda it: spec_of(invariant("it", x=it)(lambda state, x: True))),
    "values of a field": (COLLECTION, lambda it: spec_of(initial_states=product(State, n=it))),
    "messages": (COLLECTION, lambda it: spec_of(drawing=Drawing(rows=lambda state: {}, messages=it))),
    "arrivals": (COLLECTION, lambda it: spec_of(drawing=Drawing(rows=lambda state: {}, arrivals=it))),
    "events": (COLLECTION, lambda it: spec_of(drawing=Drawing(rows=lambda state: {}, events=it))),
    "rows": (OTHER, lambda it: spec_of(drawing=Drawing(rows=it))),
    "relation": (VERDICT, bounds.check("it")),
    "action": ("steps", lambda it: spec_of(actions=[action()(it)])),
}


async def asynchronous(state: Any) -> bool:
    return True


async def asynchronous_of_steps(before: Any, after: Any) -> bool:
    return True


async def asynchronous_generator(state: Any) -> AsyncIterator[Any]:
    yield state


def returns_too(state: Any) -> Any:
    if state is None:
        return False
    yield "it is not None"


def returns_too_of_steps(before: Any, after: Any) -> Any:
    try:
        yield "it is not None"
    finally:
        if before is after:
            return before and None  # noqa: B012


def only_yields(state: Any) -> Iterator[Any]:
    yield "it is so"
    return None


def only_yields_of_steps(before: Any, after: Any) -> Iterator[Any]:
    yield "it is so"


def yields_values(bounds: Any) -> Iterator[Any]:
    yield "a value"


def takes_none() -> bool:
    return True


def takes_three(one: Any, two: Any, three: Any) -> bool:
    return True


def line_of(function: Any, later: int = 0) -> str:
    return f"({FILE}, line {function.__code__.co_firstlineno + later})"


def refused(hand_over: Callable[[], object]) -> str:
    with pytest.raises(SpecError) as error:
        hand_over()
    text = str(error.value)
    assert "\n" not in text
    assert " at 0x" not in text
    assert re.search(rf" \({FILE}, line \d+\)$", text), text
    return text


def suited(kind: str, of_states: Any, of_steps: Any) -> Any:
    return of_steps if kind in OF_STEPS else of_states


@pytest.mark.parametrize("kind", KINDS)
def test_an_async_function_is_refused_when_it_is_handed_over(kind: str) -> None:
    _, hand = KINDS[kind]
    function = suited(kind, asynchronous, asynchronous_of_steps)
    text = refused(lambda: hand(function))
    assert re.search(r" must \w.*, but it is an async function \(", text), text
    assert text.endswith(line_of(function))
    if kind not in OF_STEPS:
        assert "but it is an async function" in refused(lambda: hand(asynchronous_generator))


@pytest.mark.parametrize("kind", KINDS)
def test_a_generator_that_returns_a_value_is_refused_when_it_is_handed_over(kind: str) -> None:
    gives, hand = KINDS[kind]
    function = suited(kind, returns_too, returns_too_of_steps)
    text = refused(lambda: hand(function))
    if gives in (VERDICT, OTHER):
        assert "but it is a generator function" in text
        assert text.endswith(line_of(function))
    else:
        assert "returns a value although it yields, and Python drops it: yield " in text
        assert text.endswith(line_of(function, 5 if kind in OF_STEPS else 2))


@pytest.mark.parametrize("kind", KINDS)
def test_a_generator_is_refused_where_a_value_is_due(kind: str) -> None:
    gives, hand = KINDS[kind]
    function = yields_values if kind == "domain of a property" else suited(kind, only_yields, only_yields_of_steps)
    if gives in (VERDICT, OTHER):
        text = refused(lambda: hand(function))
        assert "but it is a generator function" in text
        assert text.endswith(line_of(function))
    else:
        hand(function)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("function", [takes_none, takes_three])
def test_the_wrong_number_of_parameters_is_refused_when_the_function_is_handed_over(kind: str, function: Any) -> None:
    _, hand = KINDS[kind]
    if kind == "action":
        function = {takes_none: lambda: (yield), takes_three: lambda one, two, three: (yield)}[function]
        if "two" in function.__code__.co_varnames:
            with pytest.raises(SpecError, match="parameter 'two' has no domain"):
                hand(function)
            return
    text = refused(lambda: hand(function))
    assert re.search(r"must take (one|two) parameters?, .*, not \((one, two, three)?\)", text), text
    assert line_of(function) in text


@pytest.mark.parametrize("given", [State(), [State()], iter([State()])])
def test_an_action_that_returns_its_states_is_refused(given: Any) -> None:
    def step(state: State) -> Any:
        return given

    text = refused(lambda: action()(step))
    assert text == f"action step must be a generator function that yields the next states {line_of(step)}"


def search_at_random(spec: Spec[Any]) -> Result:
    return fuzz(spec, settings=RandomSettings(examples=20, steps=10))


Search = Callable[[Spec[Any]], Result]
ENGINES: list[Search] = [oracle.explore, compiled.explore, learning.explore, search_at_random]


@pytest.fixture(params=ENGINES, ids=["oracle", "compiled", "learning", "random"])
def search(request: pytest.FixtureRequest) -> Search:
    return request.param  # type: ignore[no-any-return]


def helper() -> Iterator[str]:
    yield from ()


def helper_that_returns() -> Any:
    yield from ()
    return False


USED = helper()
list(USED)

NO_VERDICT: dict[str, tuple[Callable[..., Any], str]] = {
    "nothing": (lambda *_: None, "not None"),
    "a number": (lambda *_: 1, "not 1"),
    "a bool of NumPy": (lambda *_: np.True_, "not np.True_ of numpy: write bool(...)"),
    "a list": (lambda *_: ["it is not so"], "not ['it is not so']"),
    "an iterator": (lambda *_: iter(["it is not so"]), "not <list_iterator object>"),
    "a coroutine": (lambda *_: asynchronous(0), "not <coroutine object asynchronous>"),
    "a generator": (lambda *_: helper(), "not a generator"),
    "a function": (lambda *_: helper, "not <function helper>"),
}
OF_LIVENESS = ("eventually", "always_eventually", "eventually_always", "leads_to", "recoverable", "after", "cut")


def with_parameters(kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with the parameters that a function of this kind must have."""
    return suited(kind, lambda state: function(state), lambda before, after: function(before))  # type: ignore[no-any-return]


PREDICATES = [kind for kind, (gives, _) in KINDS.items() if gives in (VERDICT, REASONS) and kind != "relation"]
CALLS = [
    pytest.param(kind, each, id=f"{kind}-{each.__module__}.{each.__name__}")
    for kind in PREDICATES
    for each in ENGINES
    if not (each is search_at_random and kind in OF_LIVENESS)  # it checks no liveness properties
]


@pytest.mark.parametrize(("kind", "search"), CALLS)
@pytest.mark.parametrize("what", NO_VERDICT)
def test_what_is_no_bool_is_refused_in_every_engine(kind: str, what: str, search: Search) -> None:
    gives, hand = KINDS[kind]
    function, found = NO_VERDICT[what]
    if gives == REASONS and what == "a generator":
        assert search(hand(with_parameters(kind, function))).verdict is not Verdict.VIOLATED
        return
    text = refused(lambda: search(hand(with_parameters(kind, function))))
    assert f" must return True or False, {found} ({FILE}, line " in text


@pytest.mark.parametrize("outcome", [None, 1, np.True_])
def test_a_relation_that_gives_no_bool_is_refused(outcome: object) -> None:
    @attrs.frozen
    class Bounds:
        n: int = bounds.bound(1, "n")
        related = bounds.check("n")(lambda self: outcome)  # type: ignore[arg-type, return-value]

    assert "must return True or False, not " in refused(lambda: spec_of(bounds=Bounds()))


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (helper_that_returns, "returns a value although it yields, and Python drops it: yield a sentence"),
        (lambda: USED, "gave a generator that was used before: do not cache it"),
    ],
)
@pytest.mark.parametrize("kind", ["invariant", "step_invariant"])
def test_the_generator_of_another_function_is_checked_when_it_is_called(
    given: Any, found: str, kind: str, search: Search
) -> None:
    _, hand = KINDS[kind]
    assert found in refused(lambda: search(hand(with_parameters(kind, lambda _: given()))))


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (None, "a State, not None"),
        ([State(1)], "a State, not [State(n=1)]: use yield from"),
        (helper(), "a State, not a generator: use yield from"),
        (3, "a State, not 3"),
    ],
)
def test_an_action_that_yields_no_state_is_refused(given: Any, found: str, search: Search) -> None:
    def step(state: State) -> Iterator[Any]:
        yield given

    spec = spec_of(actions=[action()(step)])
    assert refused(lambda: search(spec)) == f"action step() must yield {found} {line_of(step)}"


def returns_the_last(state: State) -> Any:
    yield State(state.n)
    return State(state.n + 1)


def delegates(state: State) -> Iterator[State]:
    yield from returns_the_last(state)


class Helpers:
    @staticmethod
    def static(state: State) -> Any:
        yield State(state.n)
        return State(state.n + 1)

    def method(self, state: State) -> Any:
        yield State(state.n)
        if state.n:
            return State(state.n + 1)
        return None


def dropping() -> list[Callable[[State], Iterator[State]]]:
    def in_closure(state: State) -> Any:
        yield State(state.n)
        return True

    def by_global_name(state: State) -> Iterator[State]:
        yield from returns_the_last(state)

    def by_closure(state: State) -> Iterator[State]:
        if state.n:
            yield from in_closure(state)

    def nested(state: State) -> Iterator[State]:
        def inner() -> Any:
            yield State(state.n)
            return 1

        for _ in range(2):
            yield from inner()

    def by_class(state: State) -> Iterator[State]:
        yield from Helpers.static(state)

    def by_method(state: State) -> Iterator[State]:
        yield from Helpers().method(state)

    return [by_global_name, by_closure, nested, by_class, by_method]


@pytest.mark.parametrize("step", dropping(), ids=lambda step: step.__name__)
def test_the_value_that_a_helper_returns_is_not_dropped(step: Callable[[State], Iterator[State]]) -> None:
    text = refused(lambda: spec_of(actions=[action()(step)]).initials())
    lines, first = inspect.getsourcelines(step)
    line = max(number for number, line in enumerate(lines, first) if "yield from" in line)
    assert re.fullmatch(
        rf"action {step.__name__} drops the value that (\w+) returns: yield the state, or write "
        rf"_ = yield from \1\(\.\.\.\) \({FILE}, line {line}\)",
        text,
    )


def test_the_value_that_a_helper_of_a_helper_returns_is_not_dropped() -> None:
    def step(state: State) -> Iterator[State]:
        yield from delegates(state)

    assert "action step drops the value that returns_the_last returns" in refused(
        lambda: spec_of(actions=[action()(step)]).initials()
    )


def test_a_value_that_a_helper_returns_can_be_used_or_declined() -> None:
    def step(state: State) -> Iterator[State]:
        last = yield from returns_the_last(state)
        if last.n < 3:
            yield last
            _ = yield from returns_the_last(last)

    assert oracle.explore(spec_of(actions=[action()(step)])).statistics.distinct == 3


def test_what_a_helper_returns_is_dropped_in_no_other_generator() -> None:
    def starts(bounds: object) -> Iterator[State]:
        yield from returns_the_last(State())

    def reasons(state: State) -> Iterator[str]:
        yield from helper_that_returns()

    def drawn(state: State) -> Iterator[int]:
        yield from helper_that_returns()

    found = "drops the value that returns_the_last returns: yield the states"
    assert f"initial_states {found}" in refused(lambda: spec_of(initial_states=starts).initials())
    assert "yield a sentence" in refused(lambda: spec_of(invariant("it")(reasons)).initials())

    class Called:
        def __call__(self, state: State) -> Iterator[str]:
            yield from helper_that_returns()

    assert "action step: a domain drops" in refused(lambda: in_action(x=drawn).initials())
    assert "yield a sentence" in refused(lambda: spec_of(invariant("it")(functools.partial(reasons))).initials())
    assert "yield a sentence" in refused(lambda: spec_of(invariant("it")(Called())).initials())


@pytest.mark.parametrize("outcome", [None, 3, "abc", State()])
@pytest.mark.parametrize("kind", ["initial_states", "domain", "domain of a property", "values of a field", "drawn"])
def test_what_is_no_collection_is_refused(kind: str, outcome: object, search: Search) -> None:
    hand = KINDS[kind][1] if kind != "drawn" else lambda it: in_action(x=lambda state: it(state))
    text = refused(lambda: search(hand(lambda bounds: outcome)))
    assert re.search(rf" must return a collection of (values|states), not {re.escape(repr(outcome))} \(", text), text


@pytest.mark.parametrize("kind", ["initial_states", "domain", "domain of a property", "values of a field", "drawn"])
def test_a_collection_from_the_generator_of_another_function_is_checked(kind: str, search: Search) -> None:
    def others(_: object) -> Any:
        yield State() if kind == "initial_states" else 0
        return [State(1)]

    hand = KINDS[kind][1] if kind != "drawn" else lambda it: in_action(x=lambda state: it(state))
    assert "returns a value although it yields" in refused(lambda: search(hand(lambda bounds: others(bounds))))


@pytest.mark.parametrize("outcome", [None, True, -1, float("nan"), "3", np.array([1])])
def test_a_distance_that_is_no_number_is_refused(outcome: object) -> None:
    _, hand = KINDS["distance"]
    text = refused(lambda: search_at_random(hand(lambda state: outcome)))
    assert "distance must return a finite number that is at least 0, not " in text


@pytest.mark.parametrize(
    ("part", "outcome", "found"),
    [
        ("rows", None, "the drawing's rows must return a dict that maps names to rows, not None"),
        ("rows", [Row()], "the drawing's rows must return a dict that maps names to rows, not [Row("),
        ("rows", {"a": 1}, "the drawing's rows must be Row objects, not 1"),
        ("messages", None, "the drawing's messages must return a collection, not None"),
        ("messages", [1], "the drawing's messages must be Message objects, not 1"),
        ("arrivals", Message("a", "b", "c"), "the drawing's arrivals must return a collection, not Message("),
        ("events", 3, "the drawing's events must return a collection, not 3"),
        ("events", [3], "the drawing's events must be Event objects, not 3"),
    ],
)
def test_what_is_no_part_of_a_drawing_is_refused(part: str, outcome: object, found: str) -> None:
    given: dict[str, Any] = {"rows": lambda state: {}, part: lambda given: outcome}
    spec: Any = spec_of(drawing=Drawing(**given))
    assert found in refused(lambda: getattr(spec, part)(State()))


def test_within_that_is_false_in_every_initial_state_is_an_error(search: Search) -> None:
    def few(state: State) -> bool:
        return state.n > 5

    spec = spec_of(invariant("it")(lambda state: False), within=few)
    assert refused(lambda: search(spec)) == (
        "spec it: within is false in every initial state with no bounds, so nothing would be searched " + line_of(few)
    )
    one = spec_of(initial_states=lambda _: [State(), State(6)], within=few)
    assert one.initials() == [State(), State(6)]


def test_a_property_may_be_a_predicate_of_the_spec(search: Search) -> None:
    high = witness("it")(lambda state: state.n == 3)
    low = invariant("it")(lambda state: state.n < 3)
    result = search(spec_of(final=high, within=low))
    assert result.verdict is not Verdict.VIOLATED


def test_a_lambda_may_yield() -> None:
    step: Any = lambda state: (yield State(1 - state.n))  # noqa: E731
    spec = spec_of(actions=[action()(step)])
    assert oracle.explore(spec).statistics.distinct == 2


def test_a_helper_that_is_defined_below_the_spec_drops_nothing(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(LATE, encoding="utf-8")
    for command in (("explore",), ("explore", "-b", "n=2"), ("fuzz",)):
        run = call(command[0], "late.py", *command[1:], folder=tmp_path)
        assert run.code == 2
        assert "action go drops the value that helper returns" in run.err


LATE = """
from attrs import frozen
from leadline.checker import Spec, action, bound, invariant

@frozen
class State:
    n: int

@frozen
class Bounds:
    n: int = bound(1, "a number")

@action("go")
def go(state):
    yield from helper(state)

@invariant("n is small")
def small(state):
    return state.n < 3

spec = Spec(name="late", initial_states=lambda _: [State(0)], actions=[go], properties=[small], bounds=Bounds())

def helper(state):
    yield State(2)
    return State(state.n + 1)
"""
