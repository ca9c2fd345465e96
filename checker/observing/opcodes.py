"""Finds the operations in a function's bytecode, and determines how precisely the function's reads can be recorded.

Python calls a method of an object when a field is read, an operator is applied or the object is iterated over, so these
operations can be recorded. Python does not call a method for ``a is b``, for an ``except`` clause that hides an error,
or for a pattern that tests whether a value is a sequence. `OPCODES` and `OPERATORS` list the supported operations and
the precision that each operation allows. If a function contains any other operation, such as an opcode of a newer
Python version, the entire state counts as read.

This module also finds the names by which the code refers to other functions. `reach` then searches these functions.
"""

from __future__ import annotations

import ast
import builtins
import dis
import enum
import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from leadline.checker.observing.constructs import Construct
from leadline.checker.observing.recording import Precision
from leadline.checker.source.files import operands_of
from leadline.checker.support.inspection import is_a

Instruction = tuple[str, Any]
"""The name of an instruction and its argument."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_ALLOWING = {
    Precision.COPIES: _words(
        # instructions that move values, and jumps
        "COPY COPY_FREE_VARS DELETE_DEREF DELETE_FAST LOAD_CLASSDEREF LOAD_CLOSURE LOAD_COMMON_CONSTANT LOAD_CONST"
        " LOAD_DEREF LOAD_FAST LOAD_FAST_AND_CLEAR LOAD_FAST_BORROW LOAD_FAST_BORROW_LOAD_FAST_BORROW LOAD_FAST_CHECK"
        " LOAD_FAST_LOAD_FAST LOAD_FROM_DICT_OR_DEREF LOAD_FROM_DICT_OR_GLOBALS LOAD_GLOBAL LOAD_LOCALS LOAD_NAME"
        " LOAD_SMALL_INT MAKE_CELL POP_TOP PUSH_NULL STORE_DEREF STORE_FAST STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST"
        " STORE_NAME DELETE_NAME SWAP EXTENDED_ARG NOP CACHE RESUME NOT_TAKEN KW_NAMES PRECALL INTERPRETER_EXIT"
        " JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT JUMP_FORWARD JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP"
        " POP_JUMP_BACKWARD_IF_FALSE POP_JUMP_BACKWARD_IF_NONE POP_JUMP_BACKWARD_IF_NOT_NONE POP_JUMP_BACKWARD_IF_TRUE"
        " POP_JUMP_FORWARD_IF_FALSE POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE POP_JUMP_FORWARD_IF_TRUE"
        " POP_JUMP_IF_FALSE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE POP_JUMP_IF_TRUE"
        # instructions that call a method of their operand
        " BINARY_OP BINARY_SLICE BINARY_SUBSCR COMPARE_OP CONTAINS_OP CONVERT_VALUE DELETE_ATTR DELETE_SUBSCR"
        " FORMAT_SIMPLE FORMAT_VALUE FORMAT_WITH_SPEC GET_ITER GET_LEN LOAD_ATTR LOAD_METHOD LOAD_SUPER_ATTR"
        " STORE_ATTR STORE_SLICE STORE_SUBSCR TO_BOOL UNARY_INVERT UNARY_NEGATIVE UNARY_NOT UNARY_POSITIVE"
        " FOR_ITER END_FOR POP_ITER UNPACK_EX UNPACK_SEQUENCE"
        # instructions that build an object from other objects, without reading them or by iterating over them
        " BUILD_CONST_KEY_MAP BUILD_LIST BUILD_MAP BUILD_SET BUILD_SLICE BUILD_STRING BUILD_TUPLE DICT_MERGE"
        " DICT_UPDATE LIST_APPEND LIST_EXTEND LIST_TO_TUPLE MAP_ADD SET_ADD SET_UPDATE"
        # calls, functions, classes and generators
        " CALL CALL_FUNCTION_EX CALL_INTRINSIC_1 CALL_INTRINSIC_2 CALL_KW LOAD_BUILD_CLASS MAKE_FUNCTION"
        " SET_FUNCTION_ATTRIBUTE SETUP_ANNOTATIONS GET_YIELD_FROM_ITER RETURN_CONST RETURN_GENERATOR RETURN_VALUE SEND"
        " END_SEND CLEANUP_THROW YIELD_VALUE LOAD_ASSERTION_ERROR RAISE_VARARGS RERAISE"
        # tests whose right operand matters, see `IdentityTest`; and patterns that call `isinstance`
        " IS_OP MATCH_CLASS MATCH_KEYS"
    ),
    Precision.ELEMENTS: _words("MATCH_MAPPING MATCH_SEQUENCE"),  # read a flag of the type, which cannot be recorded
    Precision.FIELDS: _words(
        # an exception handler can hide the exception that an `Unread` element or a view raises
        "BEFORE_WITH CHECK_EG_MATCH CHECK_EXC_MATCH LOAD_SPECIAL POP_EXCEPT PREP_RERAISE_STAR PUSH_EXC_INFO"
        " WITH_EXCEPT_START"
        # values that one call stores for the next call, or that change while a loop runs
        " DELETE_GLOBAL STORE_GLOBAL"
    ),
    Precision.STATES: _words("IMPORT_FROM IMPORT_NAME"),
}

OPCODES = {name: precision for precision, names in _ALLOWING.items() for name in names}
"""The precision that each understood opcode of the supported Python versions allows. Opcodes of coroutines and of
template strings are not understood.
"""

OPERATORS = frozenset(_words("+ - * / // % ** @ & | ^ << >> += -= *= /= //= %= **= @= &= |= ^= <<= >>= []"))
"""The operators that are understood. They return the same results for views as for the real values. For operators that
change their left operand in place, see `collection_views.SetView`. For ``%``, see `Code.remainders`.
"""

_INTRINSICS = frozenset(
    _words(
        "INTRINSIC_STOPITERATION_ERROR INTRINSIC_UNARY_POSITIVE INTRINSIC_LIST_TO_TUPLE INTRINSIC_TYPEVAR"
        " INTRINSIC_SET_FUNCTION_TYPE_PARAMS INTRINSIC_SUBSCRIPT_GENERIC INTRINSIC_TYPEALIAS"
    )
)
"""The CPython names of the operations of ``CALL_INTRINSIC_1`` and ``CALL_INTRINSIC_2`` that are understood."""

_SKIPPED = (
    *("CACHE", "COPY_FREE_VARS", "EXTENDED_ARG", "KW_NAMES", "LOAD_CLOSURE", "MAKE_CELL", "NOP", "NOT_TAKEN"),
    *("PRECALL", "PUSH_NULL", "RESUME", "TO_BOOL"),
)
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_OTHER_ATTRIBUTES = ("STORE_ATTR", "DELETE_ATTR", "LOAD_SUPER_ATTR", "IMPORT_FROM")
_JUMP_TARGET: Instruction = ("JUMP_TARGET", None)
"""A marker for the target of a jump, where the operands of the next instruction may come from another branch."""

_LOADS = frozenset(("LOAD_COMMON_CONSTANT", "LOAD_CONST", "LOAD_DEREF", "LOAD_FAST", "LOAD_GLOBAL", "LOAD_NAME"))
_SINGLETONS = (type(None), bool, type(NotImplemented), type(Ellipsis), type, enum.Enum)
"""The types whose equal values are always the same object. For them, ``is`` and ``==`` have the same result."""

_UNKNOWN = object()


class IdentityTest(NamedTuple):
    """A test such as ``left is right`` or ``left is not right``.

    Attributes:
        right: the instructions that load the right operand: a name or a constant, and the attributes that follow it.
            Empty if the operand is anything else.
        of_type: whether the right operand is the result of calling the name `type` with this value.
    """

    right: tuple[Instruction, ...]
    of_type: bool = False

    def has_one_object(self, names: Mapping[str, Any]) -> bool:
        """Return whether the right operand is a class or a constant. Then no part of a state, and no view, can be the
        same object unless it is equal to it.

        Parameters:
            names: the values of the global names.
        """
        if not self.right or (self.of_type and "type" in names):
            return False
        (name, argument), *rest = self.right
        if self.of_type or name == "LOAD_COMMON_CONSTANT" or (rest and rest[-1] == ("LOAD_ATTR", "__class__")):
            return True  # the compiler adds a test for the built-in `any`, `all` or `tuple`
        if name not in ("LOAD_CONST", "LOAD_GLOBAL"):
            return False
        value = argument if name == "LOAD_CONST" else names.get(argument, getattr(builtins, argument, _UNKNOWN))
        for _, attribute in rest:
            value = vars(value).get(attribute, _UNKNOWN) if is_a(value, ModuleType, type) else _UNKNOWN
        return is_a(value, *_SINGLETONS, int, str)


class Code(NamedTuple):
    """Summarizes the instructions of a function and of its nested functions.

    Attributes:
        global_names: the global names that occur, each with the attributes that follow it, for example
            ``itertools.chain``.
        attributes: the names of all attributes that occur, and strings that may be names of attributes.
        stored: the names of attributes that are assigned to or deleted.
        in_place: whether the operator ``|=`` occurs.
        remainders: the two operands of each use of ``%``. If an operand is a str, the operator formats text, and does
            not accept a view in place of a tuple. None if the source code cannot be read.
        local_names: the names that are not global in the function or in a nested function.
        because: the construct that lowers the precision, or None if nothing lowers it.
        identity_tests: the tests with ``is`` and ``is not``.
    """

    global_names: frozenset[tuple[str, ...]]
    attributes: frozenset[str]
    stored: frozenset[str]
    in_place: bool
    remainders: tuple[tuple[ast.expr, ast.expr] | None, ...]
    local_names: frozenset[str]
    precision: Precision
    because: Construct | None
    identity_tests: tuple[IdentityTest, ...]


@functools.lru_cache(maxsize=4096)
def read(code: CodeType) -> Code:
    """Summarize the instructions of a function."""
    global_names: set[tuple[str, ...]] = set()
    attributes: set[str] = set()
    stored: set[str] = set()
    in_place = False
    local = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    instructions = list(_instructions(code))
    tests = _identity_tests(instructions)
    for place, (name, argument) in enumerate(instructions):
        if name in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"):
            taken = itertools.takewhile(lambda step: step[0] in _ATTRIBUTES, instructions[place + 1 :])
            global_names.add((argument, *(attribute for _, attribute in taken)))
        elif name in _ATTRIBUTES or name in _OTHER_ATTRIBUTES:
            attributes.add(argument)
            stored.update([argument] if name in ("STORE_ATTR", "DELETE_ATTR") else [])
        elif name == "BINARY_OP":
            in_place |= argument == "|="
    precision, because = _allowed(code)
    remainders = [
        operands_of(step, code)
        for step in dis.get_instructions(code)
        if step.opname == "BINARY_OP" and step.argrepr in ("%", "%=")
    ]
    for constant in _constants(code.co_consts):
        if isinstance(constant, str):
            attributes.update(part for part in constant.split(".") if part.isidentifier())
        elif isinstance(constant, CodeType):
            inner = read(constant)
            global_names |= inner.global_names
            attributes |= inner.attributes
            stored |= inner.stored
            in_place |= inner.in_place
            local |= inner.local_names
            remainders += inner.remainders
            tests += inner.identity_tests
            if inner.precision < precision:
                precision, because = inner.precision, inner.because
    names = frozenset(global_names), frozenset(attributes), frozenset(stored)
    return Code(*names, in_place, tuple(remainders), frozenset(local), precision, because, tuple(tests))


def _allowed(code: CodeType) -> tuple[Precision, Construct | None]:
    """Return the precision that a function's own opcodes allow. Also return the construct that lowers the precision, or
    None if nothing lowers it.
    """
    because: Construct | None = None
    found, line = Precision.COPIES, code.co_firstlineno
    for instruction in dis.get_instructions(code):
        if instruction.positions is not None:
            line = instruction.positions.lineno or line
        allows, what = _allowed_by(instruction)
        if allows < found:
            found, because = allows, Construct.of(what, code, line)
    return found, because


def _allowed_by(instruction: dis.Instruction) -> tuple[Precision, str]:
    """Return the precision that an instruction allows, and a user-facing description of the instruction."""
    name, what = instruction.opname, instruction.opname
    if name == "BINARY_OP":
        what = f"operator {instruction.argrepr}"
        allows = Precision.COPIES if instruction.argrepr in OPERATORS else Precision.STATES
    elif name.startswith("CALL_INTRINSIC") and instruction.argrepr not in _INTRINSICS:
        what, allows = instruction.argrepr, Precision.STATES
    else:
        allows = OPCODES.get(name, Precision.STATES)
    return allows, _WORDS.get(name, what)


def _constants(constants: Iterable[Any]) -> Iterator[Any]:
    """Yield constants and, for tuples and frozensets, also their elements.

    For example, a class pattern stores the names of its keywords in a tuple.
    """
    for constant in constants:
        yield constant
        if isinstance(constant, tuple | frozenset):
            yield from _constants(constant)


_WORDS = {
    "MATCH_SEQUENCE": "a pattern",
    "MATCH_MAPPING": "a pattern",
    "BEFORE_WITH": "with",
    "PUSH_EXC_INFO": "try or with",
    "IMPORT_NAME": "import",
    "STORE_GLOBAL": "a global name that is assigned",
    "DELETE_GLOBAL": "a global name that is deleted",
}


def _instructions(code: CodeType) -> Iterator[Instruction]:
    """Yield the relevant instructions, under names that do not depend on the version of Python."""
    for instruction in dis.get_instructions(code):
        name, argument = instruction.opname.replace("_BORROW", "").replace("_CHECK", ""), instruction.argval
        if instruction.is_jump_target:
            yield _JUMP_TARGET
        if name == "LOAD_FAST_LOAD_FAST":
            yield from (("LOAD_FAST", local) for local in argument)
        elif name == "BINARY_OP" and instruction.argrepr == "[]":
            yield "BINARY_SUBSCR", None
        elif name == "BINARY_OP":
            yield name, instruction.argrepr
        elif name == "LOAD_SMALL_INT":
            yield "LOAD_CONST", argument
        elif name not in _SKIPPED:
            yield name, argument


def _identity_tests(instructions: Sequence[Instruction]) -> list[IdentityTest]:
    """Return the tests with ``is`` and ``is not`` among the instructions of a function."""
    found = []
    for place, (name, _) in enumerate(instructions):
        if name == "IS_OP":
            found.append(_identity_test(instructions[:place]))
        elif name.endswith(("_IF_NONE", "_IF_NOT_NONE")):
            found.append(IdentityTest((("LOAD_CONST", None),)))
    return found


def _identity_test(before: Sequence[Instruction]) -> IdentityTest:
    """Return the test that an ``is`` makes after the given instructions."""
    if before and before[-1] == ("CALL", 1):
        argument = _loaded(before[:-1])
        rest = before[: len(before) - 1 - len(argument)]
        is_type = bool(argument) and bool(rest) and rest[-1] == ("LOAD_GLOBAL", "type")
        return IdentityTest(argument if is_type else (), is_type)
    return IdentityTest(_loaded(before))


def _loaded(before: Sequence[Instruction]) -> tuple[Instruction, ...]:
    """Return the last instructions, if they load a name or a constant and then attributes; otherwise nothing."""
    begin = len(before) - 1
    while begin > 0 and before[begin][0] == "LOAD_ATTR":
        begin -= 1
    return tuple(before[begin:]) if begin >= 0 and before[begin][0] in _LOADS else ()


def is_number(operand: ast.expr, names: Mapping[str, object], local: frozenset[str]) -> bool:
    """Return whether the value of an expression is certainly neither a str nor a tuple.

    Strings and tuples do not support ``-`` or most other operators. They support ``+``, but not with a number.

    Parameters:
        local: names that may not be global in the expression.
    """
    match operand:
        case ast.Constant(value=value):
            return type(value) in (int, float)
        case ast.Name(id=name):
            return name not in local and type(names.get(name)) in (int, float)
        case ast.Call(func=ast.Name(id="len")):
            return "len" not in local and "len" not in names
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return is_number(left, names, local) or is_number(right, names, local)
        case ast.BinOp(op=op):
            return not isinstance(op, ast.Mult | ast.Mod)
        case ast.UnaryOp():
            return True
    return False
