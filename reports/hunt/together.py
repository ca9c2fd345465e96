"""One search of many failures: all of them are allowed, but only a few happen in one behaviour.

It visits what as many searches as there are combinations of failures would visit, and their common states only once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from leadline.checker.properties import Kind, Property
from leadline.checker.spec import Spec

Numbers = Mapping[str, int]
"""How often each failure happens, keyed by its bound."""


@attrs.frozen
class Together:
    """What limits a search of many failures.

    Attributes:
        counted: the names of the bounds of failures, which the states of the spec count in `spent`.
        most: the maximum number of these failures in one behaviour. The last one may be one more: its step is judged.
        unless: the names of properties, each with failures after which it is not judged.
    """

    counted: tuple[str, ...]
    most: int
    unless: tuple[tuple[str, Numbers], ...] = ()

    def limited(self, spec: Spec[Any]) -> Spec[Any]:
        """Return a spec with these limits."""
        return attrs.evolve(
            spec,
            within=_AtMost(self.counted, self.most),
            properties=[self._judged(item) for item in spec.properties],
            optional=[self._judged(item) for item in spec.optional],
        )

    def numbers(self, bounds: Mapping[str, Any]) -> dict[str, int]:
        """Return how many failures some bounds allow."""
        return {name: bounds[name] for name in self.counted if bounds.get(name)}

    def happened(self, state: Any) -> dict[str, int]:
        """Return the failures that have happened in a state."""
        return {name: getattr(state.spent, name) for name in self.counted if getattr(state.spent, name)}

    def without(self, found: Iterable[tuple[str, Numbers]]) -> Together:
        """Return limits with which further properties are not judged after the given failures."""
        return attrs.evolve(self, unless=(*self.unless, *found))

    def _judged(self, item: Property) -> Property:
        numbers = [numbers for name, numbers in self.unless if item.is_named(name)]
        if not numbers or item.kind.is_witness or item.kind is Kind.TEMPORAL:
            return item
        return attrs.evolve(item, function=_Unless(item.function, tuple(numbers)))


@attrs.frozen
class _AtMost:
    """Whether at most some number of failures have happened."""

    names: tuple[str, ...]
    most: int

    def __call__(self, state: Any) -> bool:
        spent = state.spent
        return bool(sum(getattr(spent, name) for name in self.names) <= self.most)


@attrs.frozen
class _Unless:
    """A predicate that is true where one of some failures has happened. It has for ever, so that a promise about the
    future is kept then.
    """

    function: Callable[..., Any]
    failures: tuple[Numbers, ...]

    def __call__(self, *states: Any) -> Any:
        spent = states[-1].spent
        if any(all(getattr(spent, name) >= most for name, most in each.items()) for each in self.failures):
            return True
        return self.function(*states)
