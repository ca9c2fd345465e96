"""The source of a step: where its action is defined, and which lines of it ran."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import attrs

from leadline.checker.action import ActionInstance, Step
from leadline.checker.support.escapes import visible
from leadline.checker.support.files import short_path


@attrs.frozen
class StepSource:
    """The lines of an action that ran in a step.

    Attributes:
        file: the file that defines the action, as a short path.
        line: the number of the action's first line.
        lines: the lines that ran up to the next state, in the order of the file. Each is a (number, text) pair.
    """

    file: str = attrs.field(converter=visible)
    line: int
    lines: tuple[tuple[int, str], ...]


def place_of(instance: ActionInstance[Any]) -> tuple[Path, int] | None:
    """Return the file and the first line of an action, or None if it has no source that can be read."""
    code = _code(instance)
    if code is None or not linecache.getline(code.co_filename, code.co_firstlineno):
        return None
    return Path(code.co_filename), code.co_firstlineno


def link_to(instance: ActionInstance[Any]) -> str:
    """Return a link to the source of an action, for terminals. It is empty if the action is in no file."""
    place = place_of(instance)
    return f"{place[0].as_uri()}#{place[1]}" if place is not None and place[0].is_file() else ""


def source_of(step: Step[Any]) -> StepSource | None:
    """Take a step once more, and return the lines of its action that ran. None if there is no source to be read."""
    code, place = _code(step.instance), place_of(step.instance)
    if code is None or place is None:
        return None
    ran: set[int] = set()

    def in_action(frame: FrameType, event: str, _: object) -> Any:
        if event == "line":
            ran.add(frame.f_lineno)
        return in_action

    before = sys.gettrace()
    sys.settrace(lambda frame, _event, _: in_action if frame.f_code is code else None)
    try:
        for _, successor in step.instance.steps(step.before):
            if successor == step.after:
                break
    finally:
        sys.settrace(before)
    path, line = place
    lines = ((number, linecache.getline(str(path), number).rstrip()) for number in sorted(ran))
    return StepSource(short_path(path), line, tuple((number, visible(text)) for number, text in lines))


def _code(instance: ActionInstance[Any]) -> CodeType | None:
    found = getattr(instance.action.function, "__code__", None)
    return found if isinstance(found, CodeType) else None
