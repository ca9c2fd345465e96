"""The door: every function of a spec is checked here, once when it is handed over, and at each call for the rest.

Python accepts silently what a checker must not: it drops the value that a generator returns, takes any object for true
or false, and iterates over a string. `admit` refuses what the code of a function already shows: its parameters, whether
it yields, whether it is async. The other functions of this module check what a call gave. A generator function without
a ``return value`` needs no check after a call, so nothing is added to the calls of actions.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import linecache
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Real
from types import CodeType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any, TypeVar, cast

import attrs

from leadline.checker.errors import LeadlineError, SpecError, raised
from leadline.checker.source.files import codes_in, definition_of
from leadline.checker.support.inspection import is_a

T = TypeVar("T")

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+>")
"""The end of the text with which Python shows an object that has no `__repr__`."""

_PRIVATE_MODULE = re.compile(r"\b_leadline_spec_\w+\.")
"""The name under which a user's file is loaded, which the user does not know."""

_WHAT = {"state": "a state", "bounds": "the bounds", "self": "the bounds"}
_COUNTED = {1: "one parameter", 2: "two parameters"}


@attrs.frozen
class Gives:
    """What a function must give.

    Attributes:
        must: the end of a sentence that begins with the name of the function and "must".
        yields: what the function may yield, or an empty string if it must not be a generator function.
        must_yield: whether the function must be a generator function.
    """

    must: str
    yields: str = ""
    must_yield: bool = False


VERDICT = Gives("return True or False")
"""A bool, and no object that is merely true or false, such as 1, None or a bool of NumPy: who returns one has often
forgotten something.
"""

FORMULA = Gives("return a formula")
REASONS = Gives("return True or False", yields="a sentence for each reason why it is false")
STEPS = Gives("be a generator function that yields the next states", yields="the state", must_yield=True)
VALUES = Gives("return a collection of values", yields="the values")
STATES = Gives("return a collection of states", yields="the states")
DISTANCE = Gives("return a finite number that is at least 0")
VALUE = Gives("return a value")
ROWS = Gives("return a dict that maps names to rows")
DRAWN = Gives("return a collection", yields="the elements")


def admit(owner: str, function: object, takes: Sequence[str], gives: Gives) -> None:
    """Check a function before it is called.

    Parameters:
        owner: the name of the function in messages, such as ``action send``.
        takes: a name for each argument with which the function will be called. Empty if `parameters_of` checks them.
        gives: what the function must give.

    Raises:
        SpecError: if the function cannot be called with these arguments, if it is async, if it yields or does not yield
            against `gives`, or if it is a generator function that returns a value.
    """
    if not callable(function):
        of = f" of {_WHAT.get(takes[0], f'the {takes[0]}')}" if takes else ""
        raise SpecError(f"{owner} must be a function{of}, not {shown(function)}")
    try:
        if takes:
            inspect.signature(function).bind(*takes)
    except TypeError:
        raise wrong_parameters(owner, function, takes) from None
    except ValueError:  # a function in C, whose parameters Python does not know
        pass
    code = _called(function)
    if code is not None and code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise SpecError(f"{owner} must {gives.must}, but it is an async function{place(function)}")
    if gives.must_yield and not inspect.isgeneratorfunction(function):
        raise SpecError(f"{owner} must {gives.must}{place(function)}")
    if code is None or not code.co_flags & inspect.CO_GENERATOR:
        return
    if not gives.yields:
        raise SpecError(f"{owner} must {gives.must}, but it is a generator function{place(function)}")
    line = _returning_line(code)
    if line is not None:
        raise _dropped(owner, gives, place(function, line))


def refuse_replaced(owner: str, function: Callable[..., object]) -> None:
    """Check that a decorated function does not replace another one of its file that has its name: nothing would check
    the first one. A module that is loaded again, after its file was edited, replaces what is no longer in the file.

    The first one may be replaced if a spec, a list or a tuple of the file has it already.

    Raises:
        SpecError: if it does.
    """
    if not isinstance(function, FunctionType) or function.__qualname__ != function.__name__:
        return
    before = function.__globals__.get(function.__name__)
    known, code = getattr(before, "function", None), function.__code__
    if not (type(before).__module__ or "").startswith("leadline.checker.") or not isinstance(known, FunctionType):
        return
    lines = {known.__code__.co_firstlineno, code.co_firstlineno}
    if known.__code__.co_filename != code.co_filename or known.__name__ != function.__name__ or len(lines) < 2:
        return
    if any(before is each for value in [*function.__globals__.values()] for each in _members_of(value)):
        return
    linecache.checkcache(code.co_filename)
    tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    found = (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and each.name == function.__name__)
    if lines <= {min((each.lineno, *(line.lineno for line in each.decorator_list))) for each in found}:
        first = known.__code__.co_firstlineno
        raise SpecError(
            f"{owner} replaces another {function.__name__}, of line {first}, so that nothing would check that one: "
            f"rename one of them{place(function)}"
        )


def _members_of(value: Any) -> Iterable[object]:
    if type(value).__module__ == "leadline.checker.spec":
        return (*value.actions, *value.properties, *value.optional)
    return value if type(value) in (list, tuple) else ()


def refuse_truth(owner: str, function: object) -> None:
    """Check that a function that returns a formula has no ``and``, ``or`` or ``not`` of a function or a formula. Python
    takes a function for true, so that ``p and q`` is ``q``. Nothing is checked if the source is not known.

    Raises:
        SpecError: if it has one.
    """
    found = _in_python(function)
    definition = definition_of(found.__code__) if found is not None else None
    if found is None or definition is None:
        return
    own = {each.name for each in ast.walk(definition) if isinstance(each, ast.FunctionDef)}
    taken = {each.arg for each in definition.args.args}
    known = inspect.getclosurevars(found)
    around = {**known.globals, **known.nonlocals}
    for each in ast.walk(definition):
        operands = each.values if isinstance(each, ast.BoolOp) else []
        if isinstance(each, ast.UnaryOp) and isinstance(each.op, ast.Not):
            operands = [each.operand]
        for operand in operands:
            name = operand.func.id if isinstance(operand, ast.Call) and isinstance(operand.func, ast.Name) else ""
            name = operand.id if isinstance(operand, ast.Name) else name if name in _FORMULAS else ""
            value = None if name in taken else around.get(name)
            is_predicate = is_a(value, FunctionType) or type(value).__module__ == "leadline.checker.properties"
            if name in own or is_predicate:
                raise SpecError(
                    f"{owner} has {ast.unparse(each)}, but Python takes {ast.unparse(operand)} for true: combine "
                    f"formulas with &, | and ~, as in now(p) & q{place(found, operand.lineno)}"
                )


_FORMULAS = ("now", "step", "implies", "always", "eventually", "until")
"""The functions that return formulas."""


def parameters_of(owner: str, function: Callable[..., object], states: Sequence[str]) -> list[str]:
    """Return the names of the parameters of a function that takes states and then, by their names, other arguments.

    Parameters:
        owner: the action or property, for messages.
        states: a name for each state that the function takes first.

    Raises:
        SpecError: if a parameter is not positional, or has a default value, or if there are too few parameters.
    """
    parameters = list(_signature(owner, function).parameters.values())
    for parameter in parameters:
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.default is not parameter.empty:
            bare = parameter.replace(annotation=parameter.empty)
            raise SpecError(f"{owner}: {bare} must be a positional parameter without a default value{place(function)}")
    if len(parameters) < len(states):
        raise wrong_parameters(owner, function, states)
    return [parameter.name for parameter in parameters]


def wrong_parameters(owner: str, function: Callable[..., object], takes: Sequence[str], hint: str = "") -> SpecError:
    """Return the error for a function with the wrong number of parameters.

    Parameters:
        owner, function, takes: see `admit`.
        hint: what can be done instead.
    """
    found = _signature(owner, function)
    bare = [item.replace(annotation=item.empty) for item in found.parameters.values()]
    text = str(found.replace(parameters=bare, return_annotation=found.empty))
    wanted = f"{_COUNTED[len(takes)]}, {' and '.join(takes)}" if takes else "no parameters"
    return SpecError(f"{owner} must take {wanted}, not {text}{hint}{place(function)}")


def _signature(owner: str, function: Callable[..., object]) -> inspect.Signature:
    """Return the signature of a function.

    Raises:
        SpecError: if Python cannot determine the signature of the function, as is the case for `bool`.
    """
    try:
        return inspect.signature(function)
    except ValueError:
        raise SpecError(f"the parameters of {owner} are unknown: define a function with def") from None


def guarded(owner: str, call: Callable[[], T]) -> T:
    """Call a function of a spec. Return its result.

    Raises:
        SpecError: if the function raised an exception of any class, except `KeyboardInterrupt` and `MemoryError`.
    """
    try:
        return call()
    except (LeadlineError, KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:  # also SystemExit, which `sys.exit` raises, and what `pytest.fail` raises
        raise SpecError(f"{owner} {raised(error)}") from error


def verdict(owner: str, function: object, outcome: object) -> bool:
    """Return what a predicate returned.

    Raises:
        SpecError: if it is not a bool.
    """
    if outcome is True or outcome is False:
        return outcome
    raise wrong(owner, function, VERDICT, outcome)


def reasons(owner: str, function: object, gives: Gives, outcome: object) -> Iterator[str]:
    """Yield the reasons why a predicate is false, given what it returned. If it gave no reason, yield an empty string.
    If it is true, yield nothing.

    Raises:
        SpecError: if the predicate returned neither a bool nor, where `gives` allows it, a new generator; or see
            `check_reason`.
    """
    if gives.yields and type(outcome) is GeneratorType:
        for sentence in _whole(owner, function, REASONS, outcome):
            check_reason(owner, function, sentence)
            yield sentence
    elif not verdict(owner, function, outcome):
        yield ""


def check_reason(owner: str, function: object, sentence: object) -> None:
    """Check a value that a predicate yielded.

    Raises:
        SpecError: if the value is not a sentence, or if it shows the address of an object, which differs from run to
            run.
    """
    if not isinstance(sentence, str):
        raise SpecError(
            f"{owner} must yield a str that describes what is wrong, not {shown(sentence)}"
            f"{': return it, or write all(...) or any(...)' if isinstance(sentence, bool) else ''}{place(function)}"
        )
    if _ADDRESS.search(sentence):
        raise SpecError(
            f"{owner} yields the address of an object: {_ADDRESS.sub('>', sentence)!r}; name the object's values, or "
            f"define __repr__ for its class{place(function)}"
        )


def members(owner: str, function: object, gives: Gives, outcome: object, kind: type | None = None) -> Iterable[Any]:
    """Return what a function gave as a collection: the values of a domain, the initial states, parts of a drawing.

    Parameters:
        owner, function, gives: see `admit`.
        kind: the class of the members, or None to check them elsewhere.

    Raises:
        SpecError: if it is not a collection, or if it is a generator that has been used before or, once all members
            have been taken, has returned a value; or if a member is not of the class.
    """
    if not isinstance(outcome, Iterable) or isinstance(outcome, str):
        raise wrong(owner, function, gives, outcome)
    found = _whole(owner, function, gives, outcome) if type(outcome) is GeneratorType else outcome
    return found if kind is None else (_part(owner, function, member, kind) for member in found)


def mapping(owner: str, function: object, outcome: object, kind: type[T]) -> dict[str, T]:
    """Return what a drawing gave as its rows.

    Raises:
        SpecError: if it is not a mapping, or if a value in it is not of the given class.
    """
    if not isinstance(outcome, Mapping):
        raise wrong(owner, function, ROWS, outcome)
    return {name: _part(owner, function, row, kind) for name, row in outcome.items()}


def _part(owner: str, function: object, value: object, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise SpecError(f"{owner} must be {kind.__name__} objects, not {shown(value)}{place(function)}")
    return value


def number(owner: str, function: object, outcome: Any) -> float:
    """Return what a distance gave.

    Raises:
        SpecError: if it is not a finite number that is at least 0.
    """
    is_number = isinstance(outcome, Real) and not isinstance(outcome, bool)
    if not is_number or not 0 <= outcome <= sys.float_info.max:
        raise wrong(owner, function, DISTANCE, outcome)
    return float(outcome)


def wrong_state(owner: str, function: object, kind: type, successor: object) -> SpecError:
    """Return the error for an action that yielded something other than a state.

    Parameters:
        owner, function: see `admit`.
    """
    many = ": use yield from" if isinstance(successor, Iterable) and not isinstance(successor, str | Mapping) else ""
    return SpecError(f"{owner} must yield a {kind.__name__}, not {shown(successor)}{many}{place(function)}")


def wrong(owner: str, function: object, gives: Gives, outcome: object) -> SpecError:
    """Return the error for a function that gave something else than it must."""
    if inspect.iscoroutine(outcome):
        outcome.close()  # otherwise, Python warns that it was never awaited
    return SpecError(f"{owner} must {gives.must}, not {shown(outcome)}{place(function)}")


def name_of(function: object) -> str:
    """Return the name of a function, for messages."""
    name = getattr(function, "__name__", None) or getattr(function, "name", None)
    return name if isinstance(name, str) else shown(function)


def shown(value: object) -> str:
    """Return a value as text for a message: one line without addresses, and what it is if that does not show."""
    if type(value) is GeneratorType:
        return "a generator"
    try:
        text = _PRIVATE_MODULE.sub("", _ADDRESS.sub(">", " ".join(repr(value).split())))
    except Exception:  # also an int with thousands of digits; see `sys.set_int_max_str_digits`
        return f"a value of type {type(value).__name__} that cannot be shown"
    is_bool = type(value).__name__ in ("bool", "bool_") and type(value) is not bool
    return f"{text} of {type(value).__module__}: write bool(...)" if is_bool else text


def place(function: object, line: int | None = None) -> str:
    """Return the file and the line of a function as the end of a message. Empty if Python does not know them."""
    code = _called(inspect.unwrap(function)) if callable(function) else None
    return "" if code is None else f" ({code.co_filename.rsplit('/', 1)[-1]}, line {line or code.co_firstlineno})"


def _called(function: object) -> CodeType | None:
    """Return the code that a call runs first, or None if it is not written in Python."""
    found = _in_python(function)
    return None if found is None else found.__code__


def _in_python(function: object) -> FunctionType | None:
    """Return the function that a call runs first, or None if it is not written in Python."""
    while isinstance(function, functools.partial | MethodType):
        function = function.func if isinstance(function, functools.partial) else function.__func__
    if not isinstance(function, FunctionType | type):
        function = inspect.getattr_static(type(function), "__call__", None)
    return function if isinstance(function, FunctionType) else None


@functools.lru_cache(maxsize=4096)
def _returning_line(code: CodeType) -> int | None:
    """Return the line in which a generator function returns a value other than the constant None, or None if it never
    does. A lambda returns the value of its ``yield``, and has no statement that could return another.
    """
    before = None
    for each in dis.get_instructions(code) if code.co_name != "<lambda>" else ():
        if each.opname in ("NOP", "CACHE", "EXTENDED_ARG"):
            continue
        is_none = before is not None and before.opname == "LOAD_CONST" and before.argval is None
        if (each.opname == "RETURN_CONST" and each.argval is not None) or (
            each.opname == "RETURN_VALUE" and (each.is_jump_target or not is_none)  # a jump brings another value
        ):
            return (each.positions and each.positions.lineno) or code.co_firstlineno
        before = each
    return None


def refuse_dropped(owner: str, function: object, gives: Gives) -> None:
    """Check that no statement ``yield from helper(...)`` drops a value that a generator function returns.

    Which function a statement calls is known by its name: a global or nested function, a variable of an enclosing
    function, or a member of a module or a class that is global.

    Parameters:
        owner: the name of the function in messages.
        function: the function. The generator functions that it calls are checked too.
        gives: what the function must give.

    Raises:
        SpecError: if a value is dropped. ``_ = yield from helper(...)`` shows that it is not wanted.
    """
    waiting, met = [function], set[CodeType]()
    while waiting:
        function = waiting.pop()
        found = _in_python(function)
        if found is None or found.__code__ in met or not _delegates(found.__code__):
            continue
        code = found.__code__
        met.add(code)
        helpers = list(_helpers(found))
        waiting += [helper for _, helper, _ in helpers]
        returning = {name for name, _, inner in helpers if _returning_line(inner) is not None}
        for statement in ast.walk(definition_of(code) or ast.Module([], [])) if returning else ():
            match statement:
                case ast.Expr(value=ast.YieldFrom(value=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)))):
                    if name in returning:
                        raise SpecError(
                            f"{owner} drops the value that {name} returns: yield {gives.yields}, or write "
                            f"_ = yield from {name}(...){place(function, statement.lineno)}"
                        )


def _delegates(code: CodeType) -> bool:
    """Return whether a function, or a function in it, contains ``yield from``."""
    return any(dis.opmap["GET_YIELD_FROM_ITER"] in each.co_code[::2] for each in codes_in(code))


def _helpers(function: FunctionType) -> Iterator[tuple[str, object, CodeType]]:
    """Yield the generator functions to which the names in a function can refer: name, function and code."""
    code, *inner = codes_in(function.__code__)
    names = {name for each in (code, *inner) for name in (*each.co_names, *each.co_freevars)}
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    around = {**function.__globals__, **{name: cell.cell_contents for name, cell in cells if cell != type(cell)()}}
    spaces: list[Mapping[str, object]] = [around]
    for value in around.values():
        if is_a(value, type):
            spaces += [vars(base) for base in type.__getattribute__(cast(type, value), "__mro__")]
        elif is_a(value, ModuleType):
            spaces.append(vars(cast(ModuleType, value)))
    yield from ((each.co_name, None, each) for each in inner if each.co_flags & inspect.CO_GENERATOR)
    for space in spaces:
        for name in names & space.keys():
            value = space[name]
            helper: Any = getattr(value, "__func__", value) if is_a(value, staticmethod, classmethod) else value
            if is_a(helper, FunctionType) and helper.__code__.co_flags & inspect.CO_GENERATOR:
                yield name, helper, helper.__code__


def _dropped(owner: str, gives: Gives, where: str) -> SpecError:
    return SpecError(f"{owner} returns a value although it yields, and Python drops it: yield {gives.yields}{where}")


def _whole(owner: str, function: object, gives: Gives, found: GeneratorType[T, object, object]) -> Iterator[T]:
    """Yield what a generator yields.

    Raises:
        SpecError: if the generator was used before, as one is that was cached, or if it returns a value.
    """
    if inspect.getgeneratorstate(found) != inspect.GEN_CREATED:
        raise SpecError(
            f"{owner} gave a generator that was used before: do not cache it, or return a tuple{place(function)}"
        )
    returned = yield from found
    if returned is not None:
        raise _dropped(owner, gives, place(function))
