"""Constructs: operations in a function's bytecode that lazy states and tuple views cannot observe.

Python calls a method of an object when a field is read, an operator is applied or the object is iterated over, so the
recording sees these. It calls none for ``a is b``, for an ``except`` clause that hides an error, or for a pattern that
asks whether a value is a sequence. This module finds those in a function's bytecode, with the names that lead to other
functions; `reach` follows the names.
"""

from __future__ import annotations

import builtins
import dis
import enum
import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from leadline.checker.observing.domains import kind_of
from leadline.checker.observing.recording import Precision
from leadline.checker.support.inert import is_a

Instruction = tuple[str, Any]
"""The name of an operation and its argument."""

_SKIPPED = (
    *("CACHE", "COPY_FREE_VARS", "EXTENDED_ARG", "KW_NAMES", "LOAD_CLOSURE", "MAKE_CELL", "NOP"),
    *("PRECALL", "PUSH_NULL", "RESUME", "TO_BOOL"),
)
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_OTHER_ATTRIBUTES = ("STORE_ATTR", "DELETE_ATTR", "LOAD_SUPER_ATTR", "IMPORT_FROM")
_JUMP_TARGET: Instruction = ("JUMP_TARGET", None)
"""Stands before an instruction that is jumped to: what it works on may come from elsewhere."""

_LOADS = frozenset(("LOAD_CONST", "LOAD_DEREF", "LOAD_FAST", "LOAD_GLOBAL", "LOAD_NAME"))
_SINGLETONS = (type(None), bool, type(NotImplemented), type(Ellipsis), type, enum.Enum)
"""Types whose equal values are one object, so that ``is`` finds out no more than ``==`` does."""

_UNKNOWN = object()

_FORMATS_ANY = re.compile(r"%[-#0 +*.\d]*[sra]")
"""A conversion of printf-style formatting that takes any object."""


class IdentityTest(NamedTuple):
    """A test such as ``left is right``.

    Attributes:
        taken_by: the names of the attributes by which, besides indices, the left side is taken out of a state; None if
            it may come from elsewhere. If all are fields, it is not a copied element: what a lazy state gives for an
            index is read.
        right: the instructions of the right side; None if they are too intricate.
    """

    taken_by: frozenset[str] | None
    right: tuple[Instruction, ...] | None

    def told_apart(self, names: Mapping[str, Any]) -> type | None:
        """The type of the right side's value, if it can only be one that tells no equal values apart.

        Parameters:
            names: what global names stand for.

        Returns:
            `type` for a class or the class of something, whatever its metaclass; None if it may be any object.
        """
        if self.right is None:
            return None
        (name, argument), *rest = self.right
        if rest and rest[-1] == ("LOAD_ATTR", "__class__"):
            return type
        if rest and rest[-1][0] == "CALL":
            return type if (name, argument) == ("LOAD_GLOBAL", "type") and argument not in names else None
        if name not in ("LOAD_CONST", "LOAD_GLOBAL") or any(step != "LOAD_ATTR" for step, _ in rest):
            return None
        value = argument if name == "LOAD_CONST" else names.get(argument, getattr(builtins, argument, _UNKNOWN))
        for _, attribute in rest:
            value = vars(value).get(attribute, _UNKNOWN) if is_a(value, ModuleType, type) else _UNKNOWN
        return kind_of(value) if is_a(value, *_SINGLETONS, int, str) else None


class Code(NamedTuple):
    """What a function's instructions do, those of the functions within it included.

    Attributes:
        global_names: the global names that they use, each with the attributes that are taken of it at once, as in
            ``itertools.chain``.
        attributes: the names of all attributes that they use, and text that may be one.
        has_remainder: whether they use ``%``, which formats if its left side is text.
        has_format: whether they hold text that formats any object that way.
        precision: how precisely reads can be recorded, as far as the instructions alone decide it.
        because: what lowers that, for a person.
        identity_tests: the tests by identity in them.
    """

    global_names: frozenset[tuple[str, ...]]
    attributes: frozenset[str]
    has_remainder: bool
    has_format: bool
    precision: Precision
    because: str
    identity_tests: tuple[IdentityTest, ...]


@functools.lru_cache(maxsize=4096)
def read(code: CodeType, given_states: bool) -> Code:
    """Read the instructions of a function.

    Parameters:
        code: the function's.
        given_states: whether it is an action's, so that its first parameter is a state.
    """
    return _read(code, _rooted_names(code) if given_states else {})


def _read(code: CodeType, roots: Mapping[str, frozenset[str]]) -> Code:
    global_names: set[tuple[str, ...]] = set()
    attributes: set[str] = set()
    has_remainder = has_format = False
    precision, because = Precision.COPIES, ""
    tests: list[IdentityTest] = []
    instructions = list(_instructions(code))
    for place, (name, argument) in enumerate(instructions):
        before, allows = instructions[:place], Precision.COPIES
        if name in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"):
            taken = itertools.takewhile(lambda step: step[0] in _ATTRIBUTES, instructions[place + 1 :])
            global_names.add((argument, *(attribute for _, attribute in taken)))
        elif name in _ATTRIBUTES or name in _OTHER_ATTRIBUTES:
            attributes.add(argument)
        elif name == "BINARY_OP":
            has_remainder |= argument == "%"
        elif name == "IS_OP":
            begin = _operand(before)
            right = None if begin is None else tuple(before[begin:])
            tests.append(IdentityTest(_taken_by(before[:begin], roots), right))
        elif name.endswith(("_IF_NONE", "_IF_NOT_NONE")):
            tests.append(IdentityTest(_taken_by(before, roots), (("LOAD_CONST", None),)))
        elif name in ("MATCH_SEQUENCE", "MATCH_MAPPING"):
            allows = Precision.ELEMENTS
        elif name == "PUSH_EXC_INFO":
            allows = Precision.FIELDS
        elif name == "IMPORT_NAME":
            allows = Precision.STATES
        if allows < precision:
            precision, because = allows, f"{_WORDS[name]} in {code.co_qualname}"
    for constant in _constants(code.co_consts):
        if isinstance(constant, str | bytes):
            has_format |= formats_any(constant)
        if isinstance(constant, str):
            attributes.update(part for part in constant.split(".") if part.isidentifier())
        elif isinstance(constant, CodeType):
            inner = _read(constant, {name: roots[name] for name in constant.co_freevars if name in roots})
            global_names |= inner.global_names
            attributes |= inner.attributes
            has_remainder |= inner.has_remainder
            has_format |= inner.has_format
            tests += inner.identity_tests
            if inner.precision < precision:
                precision, because = inner.precision, inner.because
    names = frozenset(global_names), frozenset(attributes)
    return Code(*names, has_remainder, has_format, precision, because, tuple(tests))


def _constants(constants: Iterable[Any]) -> Iterator[Any]:
    """Constants, and what is in tuples and sets among them: a class pattern's keywords, for instance."""
    for constant in constants:
        yield constant
        if isinstance(constant, tuple | frozenset):
            yield from _constants(constant)


def formats_any(text: str | bytes) -> bool:
    """Whether a text that is formatted with ``%`` takes any object, so that a stand-in for a tuple goes unnoticed."""
    return _FORMATS_ANY.search(text if isinstance(text, str) else text.decode("latin-1")) is not None


_WORDS = {
    "MATCH_SEQUENCE": "a pattern",
    "MATCH_MAPPING": "a pattern",
    "PUSH_EXC_INFO": "try or with",
    "IMPORT_NAME": "import",
}


def _instructions(code: CodeType) -> Iterator[Instruction]:
    """The instructions that matter, by their names in Python 3.11 whatever the version."""
    for instruction in dis.get_instructions(code):
        name, argument = instruction.opname.replace("_BORROW", "").replace("_CHECK", ""), instruction.argval
        if instruction.is_jump_target:
            yield _JUMP_TARGET
        if name == "LOAD_FAST_LOAD_FAST":
            yield from (("LOAD_FAST", local) for local in argument)
        elif name == "BINARY_OP" and instruction.argrepr == "[]":
            yield "BINARY_SUBSCR", None
        elif name == "BINARY_OP":
            yield name, instruction.argrepr.removesuffix("=")
        elif name == "LOAD_SMALL_INT":
            yield "LOAD_CONST", argument
        elif name not in _SKIPPED:
            yield name, argument


def _operand(before: Sequence[Instruction]) -> int | None:
    """Where the instructions that give the last value begin; None if they are too intricate."""
    if not before:
        return None
    name, argument = before[-1]
    if name in _LOADS:
        return len(before) - 1
    values = {"LOAD_ATTR": 1, "BINARY_SUBSCR": 2, "CALL": argument + 1 if name == "CALL" else 0}.get(name, 0)
    begin: int | None = len(before) - 1 if values else None
    for _ in range(values):
        begin = None if begin is None else _operand(before[:begin])
    return begin


def _taken_by(before: Sequence[Instruction], roots: Mapping[str, frozenset[str]]) -> frozenset[str] | None:
    """The attributes by which the last value is taken out of a state; None if it may come from elsewhere."""
    begin = _operand(before)
    return None if begin is None else _of_chain(before[begin:], roots)


def _of_chain(operand: Sequence[Instruction], roots: Mapping[str, frozenset[str]]) -> frozenset[str] | None:
    (name, argument), steps = operand[0], _LOADS | {"LOAD_ATTR", "BINARY_SUBSCR"}
    if (
        name not in ("LOAD_FAST", "LOAD_DEREF")
        or argument not in roots
        or any(step not in steps for step, _ in operand)
    ):
        return None
    return roots[argument].union(attribute for step, attribute in operand if step == "LOAD_ATTR")


def _rooted_names(code: CodeType) -> dict[str, frozenset[str]]:
    """The local names that always stand for the state or a part of it, with the attributes by which that is taken."""
    instructions = list(_instructions(code))
    assigned: dict[str, list[Sequence[Instruction]]] = {}
    for place, (name, argument) in enumerate(instructions):
        if name in ("STORE_FAST", "STORE_DEREF"):
            begin = _operand(instructions[:place])
            assigned.setdefault(argument, []).append(() if begin is None else instructions[begin:place])
        elif name.startswith("STORE_FAST"):
            return {}  # two instructions in one, in newer versions
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            for name in _assigned_within(inner):
                assigned.setdefault(name, []).append(())
    parameters = code.co_varnames[: code.co_argcount]
    roots: dict[str, frozenset[str]] = {name: frozenset() for name in parameters[:1] if name not in assigned}
    while True:
        more = dict(roots)
        for name, values in assigned.items():
            chains = [_of_chain(value, roots) if value else None for value in values]
            if name not in parameters and None not in chains:
                more[name] = frozenset[str]().union(*filter(None, chains))
        if more == roots:
            return roots
        roots = more


def _assigned_within(code: CodeType) -> Iterator[str]:
    """The names of an enclosing function that a function within it assigns to."""
    yield from (argument for name, argument in _instructions(code) if name in ("STORE_DEREF", "DELETE_DEREF"))
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _assigned_within(inner)
