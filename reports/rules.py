"""Rules: where two specs differ, as far as the constants of their states say it.

A protocol is a constant of the state: an attrs value of functions and plain values. What differs there is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from checker.spec import Spec
from checker.state import is_constant
from checker.visible import visible
from reports.rows import written

NOT_RULES = frozenset({"name", "summary"})
"""Fields that say what a protocol is called."""


def differing_rules(first: Spec[Any], second: Spec[Any]) -> list[str]:
    """The rules in which two specs differ: ``truncates_to: own high watermark → end of agreement``."""
    one, other = first.initials()[0], second.initials()[0]
    if type(one) is not type(other):
        return []
    return list(dict.fromkeys(_differences(one, other)))


def _differences(one: Any, other: Any) -> Iterator[str]:
    for field in attrs.fields(type(one)):
        values = [getattr(state, field.name) for state in (one, other)]
        if not is_constant(field) or type(values[0]) is not type(values[1]) or not attrs.has(type(values[0])):
            continue
        for rule in attrs.fields(type(values[0])):
            was, now = (getattr(value, rule.name) for value in values)
            if rule.name not in NOT_RULES and was != now:
                yield visible(f"{rule.name}: {_value(was)} → {_value(now)}")


def _value(value: Any) -> str:
    return value.__name__.replace("_", " ") if callable(value) and hasattr(value, "__name__") else written(value)
