"""Functions that list subsets, combinations and permutations, for domains, actions and initial states.

The functions return tuples, so that a result can be the domain of a parameter.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator
from types import FunctionType
from typing import Generic, TypeVar

import attrs

from leadline.checker.errors import SpecError
from leadline.checker.parameters import Domain, check_domain, domain_values
from leadline.checker.values import distinct

S = TypeVar("S")
T = TypeVar("T")


def subsets(values: Collection[T], /, *, at_least: int = 0, at_most: int | None = None) -> tuple[frozenset[T], ...]:
    """Return the subsets of a collection, the smallest first.

    Parameters:
        values: the values. Values that are the same count as one.
        at_least: the minimum size of a subset.
        at_most: the maximum size of a subset. By default, there is no limit.

    Raises:
        SpecError: if `values` is not a collection, or if two values are equal but not the same.

    Example:
        >>> [sorted(quorum) for quorum in subsets(range(3), at_least=2)]
        [[0, 1], [0, 2], [1, 2], [0, 1, 2]]
    """
    different = distinct(_collection("subsets", values), "the argument of subsets")
    last = len(different) if at_most is None else min(at_most, len(different))
    return tuple(
        frozenset(chosen) for size in range(at_least, last + 1) for chosen in itertools.combinations(different, size)
    )


def one_of_each(collections: Iterable[Iterable[T]], /) -> tuple[tuple[T, ...], ...]:
    """Return all tuples that contain one value from each collection, in the order of the collections.

    Parameters:
        collections: the collections, for example the values that each process can have.

    Raises:
        SpecError: if `collections` or one of them is not a collection.

    Example:
        >>> one_of_each([range(2), "ab"])
        ((0, 'a'), (0, 'b'), (1, 'a'), (1, 'b'))
    """
    return tuple(
        itertools.product(*[_collection("one_of_each", each) for each in _collection("one_of_each", collections)])
    )


def permutations(values: Iterable[T], /, *, length: int | None = None) -> tuple[tuple[T, ...], ...]:
    """Return all permutations of the values of a collection.

    Parameters:
        length: the number of values in a permutation. By default, a permutation contains all values.

    Raises:
        SpecError: if `values` is not a collection.

    Example:
        >>> permutations("ab")
        (('a', 'b'), ('b', 'a'))
    """
    return tuple(itertools.permutations(_collection("permutations", values), length))


def _collection(name: str, values: Iterable[T]) -> Iterable[T]:
    """Check that `values` is a collection, and return it.

    Raises:
        SpecError: if `values` is not a collection, but for example a function of the bounds.
    """
    if isinstance(values, Iterable):
        return values
    if isinstance(values, FunctionType):
        raise SpecError(
            f"{name} takes a collection, not the function {values.__name__}: write a function of the bounds, as in "
            f"lambda bounds: {name}({values.__name__}(bounds))"
        )
    raise SpecError(f"{name} takes a collection, not {values!r}")


@attrs.frozen(eq=False)
class Product(Generic[S]):
    """A function that yields one initial state for each combination of values. `product` creates it.

    Attributes:
        make: the state class, or a function that takes the same arguments and returns a state.
        domains: the possible values of each field, keyed by the name of the field.
    """

    make: Callable[..., S]
    domains: dict[str, Domain]

    def __call__(self, bounds: object) -> Iterator[S]:
        values = [domain_values("initial states", name, domain, bounds) for name, domain in self.domains.items()]
        for combination in itertools.product(*values):
            yield self.make(**dict(zip(self.domains, combination, strict=True)))


def product(make: Callable[..., S], /, **domains: Domain) -> Product[S]:
    """Return a function that yields the initial states of a spec, one for each combination of field values.

    Parameters:
        make: the state class. Fields without a domain have their default values.
        domains: the possible values of each field: an iterable, or a function that takes the spec's bounds and returns
            an iterable.

    Raises:
        SpecError: if there are no domains, or if a domain is not valid.

    Example:
        >>> @attrs.frozen
        ... class State:
        ...     x: int
        ...     on: bool
        >>> len([*product(State, x=range(3), on=(False, True))(None)])
        6
    """
    if not callable(make):
        raise SpecError(f"product takes the state class and the values of its fields, not {make!r}")
    if not domains:
        raise SpecError("product needs the values of at least one field, as in product(State, counter=range(3))")
    for name, domain in domains.items():
        check_domain(f"product: the domain of {name!r}", domain)
    return Product(make, dict(domains))
