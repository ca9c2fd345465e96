"""Random specs: a model of `grammar`, with properties of which the twin says whether they hold.

A property that holds is sharp: an invariant forbids a combination of conditions that no state has, although each
smaller combination occurs, and a liveness property is preferred if it holds only because of fairness. Its mutant is
violated.
"""

from __future__ import annotations

import functools
import itertools
import operator
import random
import sys
import tempfile
from collections.abc import Iterable, Sequence
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs

from leadline.checker import Kind, Property, Spec, SpecError
from tests.reference import grammar, liveness
from tests.reference.search import Search, TooLarge
from tests.reference.values import Refused

FEWEST = (60, 30, 12, 12, 6)
"""The minimum number of states of a model, for each attempt; the last is for all further ones."""

MOST_STEPS = 2_000
"""Models with more steps have no properties of steps."""


@attrs.frozen
class Text:
    """A spec as the text of a module.

    Attributes:
        name: the kind, the seed and what it is, for example ``drawn 17 holds``.
        text: the text.
        is_ordered: see `grammar.Model`.
        most: the maximum number of its states.
    """

    name: str
    text: str
    is_ordered: bool
    most: int

    def load(self, folder: Path | None = None) -> Spec[Any]:
        """Import the module from a file, and return its spec."""
        spec: Spec[Any] = _imported(self.text, folder).spec
        return spec


@attrs.frozen
class Claim:
    """A property as text, of which it is known whether it holds."""

    decorator: str
    parameters: str
    conditions: tuple[str, ...]
    joined: str
    is_negated: bool
    before: str = ""

    def source(self, name: str, style: int) -> str:
        """Return the text of the property; there are several ways to write the same."""
        terms = [f"({each})" for each in self.conditions]
        whole = f" {self.joined} ".join(terms) or "True"
        head = f"{self.before}@{self.decorator}\ndef {name}({self.parameters}):\n"
        if not self.is_negated:
            if style != 1 or self.joined == "or":
                return head + f"    return bool({whole})\n"
            tests = (f"    if not {term}:\n        return False\n" for term in terms)
            return f"{head}{''.join(tests)}    return True\n"
        if style == 1 and self.decorator.startswith("invariant"):
            return head + f"    if {whole}:\n        yield 'it is so'\n"
        if style == 2 and len(terms) > 1:
            return head + f"    if {terms[0]}:\n        return not ({' and '.join(terms[1:])})\n    return True\n"
        if style == 3:
            return head + f"    return not all([{', '.join(terms)}])\n"
        return head + f"    return not ({whole})\n"


_FOLDER = tempfile.TemporaryDirectory(prefix="leadline-reference-")
_numbers = itertools.count()


def _imported(text: str, folder: Path | None = None) -> ModuleType:
    name = f"reference_{next(_numbers)}"
    path = (folder or Path(_FOLDER.name)) / f"{name}.py"
    path.write_text(text)
    found = util.spec_from_file_location(name, path)
    assert found is not None
    assert found.loader is not None
    module = util.module_from_spec(found)
    sys.modules[name] = module
    try:
        found.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def unload(spec: Spec[Any]) -> None:
    """Forget the module of a spec."""
    sys.modules.pop(spec.actions[0].function.__module__, None)


def pair(kind: str, seed: int) -> tuple[Text, Text]:
    """Return two specs of one model: one that holds, and one with mutated properties, which is violated."""
    chance = random.Random(f"{kind} {seed}")
    for attempt in itertools.count(chance.randrange(len(FEWEST))):
        model = grammar.model(kind, chance)
        search = _searched(model, FEWEST[min(attempt, len(FEWEST) - 1)])
        if search is None:
            continue
        holding, mutants = Finder(model, search, chance).chosen()
        if holding and mutants:
            return _written(model, holding, f"{kind} {seed} holds"), _written(model, mutants, f"{kind} {seed} mutant")
    raise AssertionError("there is always another attempt")


def refused(kind: str, seed: int) -> Text | None:
    """Return a spec that is to be refused, if one is found soon."""
    chance = random.Random(f"{kind} {seed} refused")
    for _ in range(20):
        model = grammar.model(kind, chance)
        made = _damaged(model, chance) if kind == "door" else _written(model, [], "")
        made = attrs.evolve(made, name=f"{kind} {seed} refused")
        try:
            spec = made.load()
        except SpecError:
            return made  # a decorator, or `Spec`, refuses it
        try:
            Search(spec, made.most).run()
        except Refused:
            return made
        except (TooLarge, TypeError, LookupError):
            continue
        finally:
            unload(spec)
    return None


def _searched(model: grammar.Model, fewest: int) -> Search | None:
    """Return a search of all states of a model, or None if it has fewer states, too many, or is to be refused."""
    made = _written(model, [], "")
    spec = made.load()
    search = Search(spec, made.most)
    try:
        search.run()
    except (TooLarge, Refused, TypeError):
        unload(spec)
        return None
    if "deadlock" in search.seen:
        model.settings = [each for each in model.settings if not each.startswith(("check_deadlock", "final"))]
    if len(search.states) < fewest or search.rules.places.doubtful.startswith("in "):
        unload(spec)
        return None
    return search


def _written(model: grammar.Model, claims: Sequence[str], name: str) -> Text:
    names = ", ".join(f"p{number}" for number in range(len(claims)))
    actions = ", ".join(text.partition("def ")[2].partition("(")[0] for text in model.actions)
    given = ["name='reference'", "initial_states=initial_states", f"actions=[{actions}]", f"properties=[{names}]"]
    spec = f"spec = Spec({', '.join([*given, *model.settings])})\n"
    return Text(name, "\n\n".join([model.text, *claims, spec]), model.is_ordered, grammar.KINDS[model.kind].most)


Claims = tuple[Claim, Claim]
"""A property that holds, and one that is violated."""


def _claims(
    found: tuple[list[str], list[str]] | None,
    decorator: str,
    parameters: str = "s",
    *,
    is_negated: bool = True,
    before: str = "",
) -> Claims | None:
    """Return properties made of the conditions that `Finder._never` finds."""
    if found is None:
        return None
    good, bad = found if is_negated else found[::-1]
    return (
        Claim(decorator, parameters, tuple(good), "and", is_negated, before),
        Claim(decorator, parameters, tuple(bad), "and", is_negated, before),
    )


_LIVELY = ("eventually", "always_eventually", "eventually_always", "leads_to", "recoverable", "always_eventually")


class Finder:
    """Finds properties of a model.

    Sets of states and steps are the bits of integers.
    """

    def __init__(self, model: grammar.Model, search: Search, chance: random.Random) -> None:
        self.model, self.search, self.chance = model, search, chance
        self.names = vars(sys.modules[search.rules.spec.actions[0].function.__module__])
        self.states = self._bits(model.atoms, [{"s": state} for state in search.states])
        self.atoms = [atom for atom in model.atoms if 0 < self.states[atom] < (1 << len(search.states)) - 1]

    def _bits(self, atoms: Sequence[str], contexts: Sequence[dict[str, Any]]) -> dict[str, int]:
        found = {}
        for atom in atoms:
            code = compile(atom.format(s="s", before="before", after="after"), "<atom>", "eval")
            truth = [bool(eval(code, self.names, context)) for context in contexts]
            found[atom] = sum(is_true << index for index, is_true in enumerate(truth))
        return found

    def chosen(self) -> tuple[list[str], list[str]]:
        """Return the texts of properties that hold, and those of mutants, at least one of which is violated."""
        makers = [self._invariant, self._invariant, self._of_steps, self._witness, self._lively, self._lively]
        makers += [self._lively]
        if any("effect='healing'" in action for action in self.model.actions):
            makers += [self._at_rest, self._lively]
        if self.model.kind == "initials":  # what a property of a part of the initial states is about
            makers += [functools.partial(self._lively, ("leads_to",))]
        found = [claims for make in makers if (claims := make()) is not None]
        self.chance.shuffle(found)
        mutated = self.chance.randrange(len(found)) if found else 0
        style = self.chance.randrange(4)
        holding = [good.source(f"p{number}", style) for number, (good, _) in enumerate(found)]
        mutants = [
            (bad if number == mutated or self.chance.random() < 0.3 else good).source(f"p{number}", style)
            for number, (good, bad) in enumerate(found)
        ]
        unload(self.search.rules.spec)
        return holding, mutants

    def _never(self, bits: dict[str, int], among: int) -> tuple[list[str], list[str]] | None:
        """Return conditions that are never true at once, and all but one of them, which are as rarely as possible."""

        def common(atoms: Iterable[str]) -> int:
            return functools.reduce(operator.and_, (bits[atom] for atom in atoms), among)

        bits = {atom: found & among for atom, found in bits.items() if found & among not in (0, among)}
        for _ in range(5):
            chosen: list[str] = []
            for atom in self.chance.sample(sorted(bits), min(len(bits), 8)):
                if common([*chosen, atom]) != common(chosen):
                    chosen.append(atom)
                if not common(chosen):
                    break
            if common(chosen) or not chosen:
                continue
            for atom in list(chosen):
                fewer = [each for each in chosen if each != atom]
                chosen = chosen if common(fewer) else fewer
            ways = [[each for each in chosen if each != atom] for atom in chosen]
            return chosen, min(ways, key=lambda way: common(way).bit_count())
        return None

    def _of_states(self, among: int | None = None) -> tuple[list[str], list[str]] | None:
        """Return conditions as `_never` does, for some states, or for all."""
        among = (1 << len(self.search.states)) - 1 if among is None else among
        found = self._never({atom: self.states[atom] for atom in self.atoms}, among)
        return found and ([atom.format(s="s") for atom in found[0]], [atom.format(s="s") for atom in found[1]])

    def _invariant(self) -> Claims | None:
        decorator, before = "invariant('it never is')", ""
        if self.chance.random() < 0.3:
            name, before = self._premise(self.chance.choice(self.model.atoms).format(s="s"))
            decorator = f"invariant('it never is', premise={name})"
        return _claims(self._of_states(), decorator, before=before)

    def _witness(self) -> Claims | None:
        return _claims(self._of_states(), "witness('it can be')", is_negated=False)

    def _at_rest(self) -> Claims | None:
        rest = self.search.where(self.search.rules.is_at_rest)
        return _claims(self._of_states(sum(1 << index for index in rest)), "invariant('never at rest', at_rest=True)")

    def _of_steps(self) -> Claims | None:
        pairs = [
            {"before": state, "after": self.search.states[target]}
            for state, steps in zip(self.search.states, self.search.steps, strict=True)
            for _, target in steps
        ]
        if len(pairs) > MOST_STEPS:
            return None
        atoms = [atom.format(s=self.chance.choice(("before", "after"))) for atom in self.atoms]
        found = self._never(self._bits(atoms, pairs), (1 << len(pairs)) - 1)
        if self.chance.random() < 0.5:
            return _claims(found, "step_invariant('no such step')", "before, after")
        return _claims(found, "step_witness('such a step')", "before, after", is_negated=False)

    def _premise(self, text: str) -> tuple[str, str]:
        """Return the name of a predicate, and its text."""
        name = f"premise{self.chance.randrange(10**6)}"
        return name, f"def {name}(s):\n    return bool({text})\n\n\n"

    def _lively(self, kinds: Sequence[str] = _LIVELY) -> Claims | None:
        """Return a liveness property that holds, preferably because of fairness, and one that is violated."""
        holds, violated = [], []
        for _ in range(14 if self.atoms else 0):
            item, claim = self._random_lively(self.chance.choice(kinds))
            verdict, _ = liveness.judge(self.search, ("p", item, {}))
            if verdict == "violated":
                violated.append(claim)
            elif verdict == "holds":
                without, _ = liveness.judge(self.search, ("p", item, {}), ignore_fairness=True)
                holds.append((without == "holds", claim))
            if violated and holds and not holds[-1][0]:
                break
        if not holds or not violated:
            return None
        return min(holds, key=operator.itemgetter(0))[1], self.chance.choice(violated)

    def _random_lively(self, kind: str) -> tuple[Property, Claim]:
        chance = self.chance
        given, before, premise = "'it happens'", "", None
        if kind == "leads_to":
            groups = [atom for atom in self.atoms if ".group" in atom]  # some initial states have no other as successor
            after = chance.choice(groups or self.atoms).format(s="s")
            premise = self._function(after)
            name, before = self._premise(after)
            given += f", after={name}"
        option = "by_healing" if kind == "recoverable" else "quiet"
        is_special = chance.random() < 0.5 and any("effect=" in action for action in self.model.actions)
        given += f", {option}=True" if is_special else ""
        chosen = chance.sample(self.atoms, min(len(self.atoms), chance.choice((1, 1, 2))))
        conditions = tuple(atom.format(s="s") for atom in chosen)
        joined = chance.choice(("and", "or"))
        item = Property(
            name="p",
            kind=Kind[kind.upper()],
            sentence="",
            function=self._function(f" {joined} ".join(f"({each})" for each in conditions)),
            source="",
            premise=premise,
            quiet=is_special and option == "quiet",
            by_healing=is_special and option == "by_healing",
        )
        return item, Claim(f"{kind}({given})", "s", conditions, joined, is_negated=False, before=before)

    def _function(self, text: str) -> Any:
        return eval(f"lambda s: bool({text})", self.names)


def _damaged(model: grammar.Model, chance: random.Random) -> Text:
    """Return a spec one of whose functions returns what it must not return."""
    atom = chance.choice(model.atoms).format(s="s")
    claims: list[str] = []
    match chance.choice((0, 0, *range(9))):
        case 0:
            action = model.actions[-1]
            head, body = action.split("\n    ", 1)
            model.text = model.text.replace(action, f"{head}\n    if {atom}:\n        return s\n    {body}")
        case 1:
            claims = [f"invariant|s|if {atom}:|    return False|for each in ():|    yield 'x'"]
        case 2:
            claims = [f"witness|s|if {atom}:|    yield 'x'"]
        case 3:
            kind = chance.choice(("always_eventually", "eventually", "recoverable"))
            claims = [f"{kind}|s|if {atom}:|    yield 'x'"]
        case 4:
            kind = chance.choice(("invariant", "witness", "always_eventually"))
            claims = [f"{kind}|s|return {chance.choice(('1', 'None', 's', repr('yes')))} if {atom} else True"]
        case 5:
            model.settings = ["within=lambda s: False"]
        case 6:
            name = chance.choice(("within", "cut", "final"))
            model.settings = [f"{name}=lambda s: None if {atom} else True"]
            claims = ["recoverable|s|return True"]
        case 7:
            returned = chance.choice(("True", "False"))
            claims = [f"step_invariant|before, after|if before == after:|    yield 'x'|return {returned}"]
        case 8:
            claims = [f"invariant|s|if {atom}:|    yield 3"]
    texts = []
    for claim in claims:
        decorator, parameters, *lines = claim.split("|")
        head = f"@{decorator}('x')\ndef p0({parameters}):\n"
        texts.append(head + "".join(f"    {line}\n" for line in lines))
    return _written(model, texts, "")
