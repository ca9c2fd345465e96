"""Mixes of two releases: the brokers and the controller of a cluster while it is upgraded, such as ``kafka/2.0..2.1``.

By default, a mix does not change: it is one moment of an upgrade. Bounds say which brokers run the new release, whether
the controller does, and at which level the cluster is. The level is `inter.broker.protocol.version` or, with KRaft,
`metadata.version` and the levels of features. It stays that of the old release until everything runs the new one. The
bound `roll` lets the upgrade go on while the model runs: see `leadline.model.kafka.rolls`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

import attrs

from leadline.checker.bounds import bound, check
from leadline.checker.errors import SpecError
from leadline.model.kafka import state
from leadline.model.kafka.bounds import Bounds
from leadline.model.kafka.parties import FEATURE, GATE, RELEASE
from leadline.model.kafka.protocols import Protocol, who_was_left_over
from leadline.model.kafka.releases import KRAFT, RELEASES, Column, column_of
from leadline.model.kafka.rules import SAME_IN_ALL, TABLE
from leadline.model.rules import Rule, Value

OLD = "old"
NEW = "new"

STAGES = ("old release", "new release", "new level", "new features", "old features")
"""The stages of an upgrade: the old release, the new one at the old level, at the new level, with the features that it
has by default, and with those features lowered again."""

NO_ROLL = "no"
_LAST_STAGE = {NO_ROLL: 0, "releases": 1, "levels": 2, "features": 3, "back": 4}


@attrs.frozen
class MixBounds(Bounds):
    """The bounds of a mix: those of a release, and which release runs where."""

    upgraded: str = bound("1", "the brokers that run the new release, such as 0-2; empty: none")
    controller: str = bound(OLD, "the release of the controller", choices=(OLD, NEW))
    level: str = bound(
        OLD, "the release to whose inter.broker.protocol.version or metadata.version all are set", choices=(OLD, NEW)
    )

    roll: str = bound(
        NO_ROLL,
        "how far the upgrade goes on while the model runs: to the new release, to its level, to its features, and back "
        "from these",
        choices=tuple(_LAST_STAGE),
    )
    returns: int = bound(0, "steps of a roll that go back to the old release or level", at_least=0, at_most=9)
    min_isr_in_files: bool = bound(
        False,
        "whether min.insync.replicas is set in brokers' files only, so that the controller's own, 1, replaces it when "
        "eligible.leader.replicas.version is raised",
    )

    @check("upgraded names different brokers, joined by '-'")
    def _names_brokers(self) -> bool:
        numbers = self.upgraded.split("-") if self.upgraded else []
        known = [str(broker) for broker in range(self.brokers)]
        return len(set(numbers)) == len(numbers) and set(numbers) <= set(known)

    @check("level=new only if the controller and all brokers run the new release")
    def _raised_last(self) -> bool:
        return self.level == OLD or (self.controller == NEW and len(self.new_brokers) == self.brokers)

    @check("min_isr_in_files only with roll=features or roll=back")
    def _is_raised(self) -> bool:
        return not self.min_isr_in_files or self.last_stage > 2

    @property
    def last_stage(self) -> int:
        """The last one of `STAGES` that a roll reaches."""
        return _LAST_STAGE[self.roll]

    @property
    def new_brokers(self) -> frozenset[int]:
        """The brokers that run the new release."""
        return frozenset(int(number) for number in re.findall("[0-9]+", self.upgraded))


@attrs.frozen(eq=False)
class Mix:
    """Two releases, of which the older one is upgraded to the newer one.

    Attributes:
        old, new: the releases. They may change rules, as in ``kafka/4.0+elr=on-unchecked..4.1``.
    """

    old: Column
    new: Column

    @property
    def name(self) -> str:
        """The name of the spec, such as ``kafka/2.0..2.1``."""
        return f"{self.old.name}..{self.new.short_name}"

    @property
    def bounds(self) -> MixBounds:
        """The default bounds, which are those of the old release."""
        return MixBounds(**attrs.asdict(self.old.bounds))

    @functools.cached_property
    def _before(self) -> tuple[Protocol, Protocol]:
        return resolved(self.old, self.old), resolved(self.new, self.old)

    @functools.cached_property
    def _raised(self) -> Protocol:
        return resolved(self.new, self.new)

    @functools.cached_property
    def stages(self) -> tuple[Protocol, ...]:
        """The rules at each of `STAGES`, without the last two if the new release has no other features."""
        old, new = self._before
        level, lowered = (resolved(self.new, self.new, features=self.old) for _ in range(2))
        named = {"": old, f", level {self.old.short_name}": new, f", level {self.new.short_name}": level}
        if level.has_elr != self._raised.has_elr:
            named |= {", ELR": self._raised, ", ELR off": attrs.evolve(lowered, eligible=who_was_left_over)}
        return tuple(attrs.evolve(rules, name=rules.name + said) for said, rules in named.items())

    @property
    def last_stage(self) -> int:
        """The last one of `STAGES` that is different from the stage before it."""
        return len(self.stages) - 1

    @property
    def new_version(self) -> tuple[int, ...]:
        """The version of the new release, such as (3, 7, 1). It is the first one of a column that has several."""
        named = self.new.short_name.partition("+")[0]
        return tuple(map(int, (named if named in self.new.versions else self.new.versions[0]).split(".")))

    @property
    def registers_again(self) -> bool:
        """Whether brokers register their log directories when `metadata.version` rises, as from 3.7-IV2 on."""
        return _minor(self.old) < (3, 7) <= _minor(self.new)

    @property
    def rules(self) -> tuple[Protocol, ...]:
        """All rules that a broker or the controller can follow."""
        return (*self._before, self._raised)

    def placed(self, bounds: MixBounds) -> Protocol:
        """Return the rules that the controller follows, with those of each broker.

        If all follow the same rules, they are those of a release: the mix makes no difference.
        """
        if bounds.level == NEW:
            return self._raised
        upgraded = bounds.new_brokers
        controller = self._before[bounds.controller == NEW]
        runs = tuple(self._before[broker in upgraded] for broker in range(bounds.brokers))
        return controller if set(runs) == {controller} else attrs.evolve(controller, of_brokers=runs)


def initial_states(bounds: MixBounds, mix: Mix) -> Iterator[state.Partition]:
    """Yield the initial state of a mix; see `leadline.model.kafka.state.initial_states`."""
    yield from state.initial_states(bounds, mix.placed(bounds))


def resolved(release: Column, level: Column, features: Column | None = None) -> Protocol:
    """Return the rules that a broker or a controller follows.

    A field that depends on a level has the value of its release, or the last value before it that the level opens. All
    other fields have the value of the release.

    Parameters:
        release: the release that it runs.
        level: the release to whose level the cluster is set.
        features: the release to whose features it is set. By default, that of the level.
    """
    fields: dict[str, Any] = dict(SAME_IN_ALL)
    known = attrs.fields_dict(Protocol)
    for rule in TABLE:
        value = rule.value(release.values[rule.name])
        for field in value.sets:
            gate = known[field].metadata[GATE]
            opening = features if features is not None and gate == FEATURE else level
            fields[field] = (value if gate == RELEASE else _opened(rule, value, opening)).sets[field]
    return Protocol(name=release.short_name, summary=release.summary, **fields)


def _opened(rule: Rule, value: Value, level: Column) -> Value:
    """Return a value of a rule, or the last one before it that a level opens."""
    has = rule.values.index(rule.value(level.values[rule.name]))
    opened = {each.opens for each in rule.values[: has + 1]}
    before = rule.values[: rule.values.index(value) + 1]
    return next(each for each in reversed(before) if each.opens in opened or _is_reached(each.opens, level))


def _is_reached(opens: str, level: Column) -> bool:
    """Return whether a release has a level, such as 2.7-IV1, by default."""
    numbers = re.match(r"(\d+)\.(\d+)", opens)
    return opens == "" or (numbers is not None and _minor(level) >= (int(numbers[1]), int(numbers[2])))


def _minor(release: Column) -> tuple[int, int]:
    major, minor, *_ = release.versions[0].split(".")
    return int(major), int(minor)


# --- which releases can be mixed --------------------------------------------------------------------------------


def mix_of(reference: str) -> Mix:
    """Return the mix with the given name, such as ``kafka/2.0..2.1``.

    Each release is given as in `leadline.model.kafka.releases.column_of`, but the second one without ``kafka/``.

    Raises:
        SpecError: if a release is unknown, or Kafka's documentation has no such upgrade.
    """
    first, _, last = reference.partition("..")
    old, new = _release(first), _release(f"kafka/{last}")
    if old.controller != new.controller:
        raise SpecError(
            f"{reference} mixes {old.controller} with {new.controller}, which is a migration and not an upgrade: give "
            f"two releases with the same kind of controller, such as {_example(old)}"
        )
    if _position(old) > _position(new):
        raise SpecError(f"{reference} is not an upgrade: give the older release first")
    if old.controller == KRAFT and _minor(old) < (3, 3):
        raise SpecError(
            f"{reference}: mixes with KRaft begin with 3.3, the first release that was ready for production"
        )
    return Mix(old, new)


def _release(name: str) -> Column:
    column = column_of(name)
    if column is None or column.controller == "":
        raise SpecError(f"unknown release {name!r} in a mix: expected two releases, as in kafka/2.0..2.1")
    return column


def _position(column: Column) -> int:
    """Return the place of a release among all releases, in order."""
    known = [(each.versions, each.controller) for each in RELEASES]
    return known.index((column.versions, column.controller))


def _example(old: Column) -> str:
    last = [each for each in RELEASES if each.controller == old.controller][-1]
    return f"{old.name}..{last.short_name}"
