"""The designs of the `atomic` family, as columns of a table of rules."""

from __future__ import annotations

import inspect

import attrs

from leadline.model.atomic.protocols import PROTOCOLS, Protocol
from leadline.model.atomic.state import Bounds
from leadline.model.rules import Rule, RuleColumn, RuleTable, Value

QUESTIONS = {
    "truncates_to": "to which offset a new follower truncates its log",
    "trusts": "which broker a new follower asks where to truncate",
    "follows": "from which followers a leader accepts requests",
    "agrees_at": "what a leader learns of a follower's record",
    "admits": "when a leader may add followers to the ISR",
    "diverges": "whether a follower detects when it fetches that it must truncate",
}
"""The rules, which are fields of `Protocol`, and the questions that they answer."""


def _rule(name: str, question: str) -> Rule:
    """Return a rule whose values are the functions of the protocols. Their docstrings say what they do."""
    functions = dict.fromkeys(getattr(protocol, name) for protocol in PROTOCOLS)
    values = []
    for function in functions:
        first, _, rest = (inspect.getdoc(function) or "").partition("\n\n")[0].replace("\n", " ").partition(": ")
        source, sentence = (first, rest) if rest else ("", first)
        values.append(Value(function.__name__, sentence, source, {name: function}))
    return Rule(name, question, tuple(values))


RULES = tuple(_rule(name, question) for name, question in QUESTIONS.items())


@attrs.frozen(eq=False, kw_only=True)
class Column(RuleColumn):
    """The rules of a design. Its name in the catalog is, for example, ``atomic/kip-320``."""

    table = RuleTable(RULES)
    makes = Protocol
    bounds: Bounds = attrs.field(factory=Bounds)


COLUMNS = tuple(
    Column(
        name=f"atomic/{protocol.name}",
        summary=protocol.summary,
        values={name: getattr(protocol, name).__name__ for name in QUESTIONS},
    )
    for protocol in PROTOCOLS
)
