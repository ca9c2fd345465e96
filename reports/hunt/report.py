"""The report of a hunt: the causes that were found, what was searched, and what was not.

A report contains only text and numbers. It can be saved to a file, from which the hunt can be resumed.
"""

from __future__ import annotations

from pathlib import Path

import attrs
import cattrs

from leadline.checker.bounds import bounds_text
from leadline.checker.errors import LeadlineError
from leadline.checker.support.durable import replace_file, sealed_json, unsealed_json
from leadline.checker.support.files import file_text
from leadline.checker.support.messages import counted
from leadline.reports.kafka.bugs import NO_TICKET
from leadline.reports.toml_files import Values

FORMAT = 3
"""The version of the format of saved hunts."""

NOT_DECIDED = "not decided"
"""What the name of a violation begins with if its cause has not been looked for."""


@attrs.define(kw_only=True)
class Cause:
    """A cause of a violation.

    Attributes:
        name: the cure that was applied before the hunt continued, such as ``same_record=skipped``, or a phrase if
            there is none.
        ticket: the ticket of the cause. Empty if there is none.
        sentence: a description of the cause. Empty if it is not known.
        by_design: why the behaviour is by design, with a source. Empty if it is not by design.
        fixes: the cures that prevent the violation, in order of preference.
        decided: whether searches have shown that the cures prevent the violation within `bounds`. If not, the cures
            only make the steps of the trace impossible.
        violates: the name of the violated property.
        complaint: why the last state or step violates the property.
        spec: the spec that was searched, with the cures for causes that were found earlier.
        left_out: the actions that the cures in `spec` leave out.
        bounds: the smallest bounds that allow the trace.
        changed: the names of the bounds that differ from the defaults of the spec.
        length: the number of states in the trace.
        is_shortest: whether there is no shorter trace within `bounds`.
        steps: the steps of the trace, in words.
        instances: the steps, as the names of action instances.
        loop: for a trace that ends in a loop, the number of steps before the loop, otherwise None.
        search: the name of the search of the plan that found it.
        cpu_seconds: the processor time that the hunt had spent on the spec when it found the violation.
    """

    name: str
    ticket: str
    sentence: str
    by_design: str
    fixes: list[str]
    decided: bool
    violates: str
    complaint: str
    spec: str
    left_out: list[str]
    bounds: Values
    changed: list[str]
    length: int
    is_shortest: bool
    steps: list[str]
    instances: list[str]
    loop: int | None = None
    search: str = ""
    cpu_seconds: float = 0.0

    @property
    def is_known(self) -> bool:
        """Whether the cause has a ticket or is by design."""
        return bool(self.by_design) or bool(self.ticket and not self.ticket.startswith(NO_TICKET))

    @property
    def is_only_listed(self) -> bool:
        """Whether the cause has not been looked for."""
        return self.name.startswith(NOT_DECIDED)

    @property
    def kind(self) -> str:
        """The kind of the cause: its ticket, "by design", "changed rule" (of a release), "without a name", or "listed"
        if it has not been looked for.
        """
        if self.is_only_listed:
            return "listed"
        if self.by_design:
            return f"by design{f' ({self.ticket})' if self.ticket else ''}"
        return self.ticket or ("changed rule" if self.sentence else "without a name")

    @property
    def command(self) -> str:
        """The command that shows the trace, or an empty string if the cures leave out actions."""
        if self.left_out:
            return ""
        changed = bounds_text({name: self.bounds[name] for name in self.changed})
        return f"leadline explore {self.spec} -i {self.violates}{f' -b {changed}' if changed else ''}"


@attrs.frozen(kw_only=True)
class SearchDone:
    """A completed search of the plan.

    Attributes:
        name: the name of the search.
        verdict: ``holds`` if all states were searched and, with the cures, no property is violated; ``incomplete``
            otherwise.
        distinct: the number of distinct states of the last exhaustive search.
        open: the number of these that are open: no verdict about liveness covers behaviours that stay in them.
        depth: the depth of that search.
        behaviours: the number of behaviours of the random search, or 0 if there was none.
        seconds: the time in seconds, including the time for finding causes.
        cures: the names of the cures in the last search.
        not_searched: the properties that were not searched, because they are violated by a cause that has no cure.
        allowed: the time limit of the exhaustive search in seconds.
    """

    name: str
    verdict: str
    distinct: int
    depth: int
    behaviours: int
    seconds: float
    cures: list[str]
    not_searched: list[str] = attrs.field(factory=list)
    allowed: float = 0.0
    open: int = 0

    def is_open(self, most: float) -> bool:
        """Return whether the search has not ended, and may take more time than it had: up to `most` seconds."""
        return self.verdict != "holds" and self.allowed < most


@attrs.frozen(kw_only=True)
class Situation:
    """A situation that a search has reached: a witness in which a rule can do harm.

    Attributes:
        name: the name of the witness.
        search: the name of the search of the plan that reached it first.
        bounds: the bounds of that search.
        length: the number of states of the shortest trace to it within these bounds.
    """

    name: str
    search: str
    bounds: Values
    length: int


@attrs.define(kw_only=True)
class SpecHunt:
    """The part of a hunt that is about one spec.

    Attributes:
        reference: the spec.
        code: a digest of the code and the data of the spec, and of leadline.
        planned: the names of the searches in the plan.
        wanted: the names of all situations that the hunt wants to reach.
        situations: the situations that were reached, in this order.
        searches: the searches that were made, with the longest time limit that each had.
        causes: the causes that were found.
        cpu_seconds: the processor time that was spent.
    """

    reference: str
    code: str
    planned: list[str]
    wanted: list[str] = attrs.field(factory=list)
    situations: list[Situation] = attrs.field(factory=list)
    searches: list[SearchDone] = attrs.field(factory=list)
    causes: list[Cause] = attrs.field(factory=list)
    cpu_seconds: float = 0.0

    @property
    def left(self) -> list[str]:
        """The names of the searches that were not made."""
        done = {search.name for search in self.searches}
        return [name for name in self.planned if name not in done]

    @property
    def unreached(self) -> list[str]:
        """The names of the situations that no search has reached."""
        reached = {each.name for each in self.situations}
        return [name for name in self.wanted if name not in reached]

    def is_open(self, most: float) -> bool:
        """Return whether a search was not made, or may take more time than it had; see `SearchDone.is_open`."""
        return bool(self.left) or any(search.is_open(most) for search in self.searches)

    @property
    def incomplete(self) -> list[SearchDone]:
        """The searches that did not visit every state, or did not check every property."""
        return [search for search in self.searches if search.verdict != "holds" or search.not_searched]


@attrs.define(kw_only=True)
class HuntReport:
    """The results of a hunt.

    Attributes:
        plan: the name of the plan.
        digest: a number that identifies the content of the plan and the bounds of the specs.
        specs: the results for each spec, in the order of the command line.
        seconds: the time that the hunt has taken.
        interrupted: whether the user interrupted the hunt.
        format: the version of the format.
    """

    plan: str
    digest: str
    specs: list[SpecHunt] = attrs.field(factory=list)
    seconds: float = 0.0
    interrupted: bool = False
    format: int = FORMAT

    @property
    def causes(self) -> dict[str, dict[str, Cause]]:
        """The causes of all specs, keyed by kind and name. Each value maps a spec's reference to the cause in that
        spec.
        """
        found: dict[str, dict[str, Cause]] = {}
        for spec in self.specs:
            for cause in spec.causes:
                found.setdefault(f"{cause.kind}\n{cause.name}", {}).setdefault(spec.reference, cause)
        return found

    @property
    def is_complete(self) -> bool:
        """Whether every search of the plan was completed, and every cause was decided."""
        decided = all(cause.decided for spec in self.specs for cause in spec.causes)
        return decided and not any(spec.left or spec.incomplete for spec in self.specs)

    @property
    def is_as_expected(self) -> bool:
        """Whether every cause is known that has been looked for."""
        return all(cause.is_known or cause.is_only_listed for spec in self.specs for cause in spec.causes)


def hunt_object(report: HuntReport) -> dict[str, object]:
    """Return a report as an object for `json.dumps`. The object also contains the searches that were not made."""
    content: dict[str, object] = attrs.asdict(report)
    return {**content, "left": {spec.reference: spec.left for spec in report.specs}}


def save_hunt(report: HuntReport, path: Path) -> None:
    """Save a hunt to a file. Raise OSError if the file cannot be written."""
    replace_file(path, sealed_json(hunt_object(report)))


def read_hunt(path: Path) -> HuntReport:
    """Read a saved hunt. Raise LeadlineError if the file cannot be read, is damaged, or is not a saved hunt."""
    converter = cattrs.Converter()
    converter.register_structure_hook_func(lambda kind: bool(kind == Values), lambda value, _: dict(value))
    try:
        content = unsealed_json(file_text(path).encode(), path)
        if content.get("format") != FORMAT:
            raise LeadlineError(
                f"{path} was not written by this version of `leadline hunt`: pass another file to --save"
            )
        return converter.structure(content, HuntReport)
    except OSError as error:
        raise LeadlineError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, cattrs.BaseValidationError) as error:
        raise LeadlineError(f"{path} is not a saved hunt") from error


def lines(report: HuntReport) -> list[str]:
    """Return sentences that say how much of a hunt's plan was searched."""
    said = []
    for spec in report.specs:
        full = len(spec.searches) - len(spec.incomplete)
        text = f"{spec.reference}: {counted(full, 'search', 'searches')} complete"
        if spec.incomplete:
            text += f", {len(spec.incomplete)} incomplete"
        if spec.left:
            text += f", {len(spec.left)} not made"
        said.append(text)
        if spec.wanted:
            text = f"{spec.reference}: {len(spec.situations)} of {counted(len(spec.wanted), 'situation')} reached"
            said.append(text + (f"; not reached: {', '.join(spec.unreached)}" if spec.unreached else ""))
    return said
