"""Options that several commands share, such as the spec with its bounds and properties."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import click

from leadline.checker.bounds import parse_bounds
from leadline.checker.engines import EXHAUSTIVE
from leadline.checker.errors import LeadlineError
from leadline.checker.settings import SettingsError
from leadline.checker.spec import Spec
from leadline.reports.cli.completion import bounds, changed_rules, complete_part, complete_spec, properties
from leadline.reports.diagnosis import SECONDS
from leadline.reports.kafka.known_bugs import refuse_unclaimed
from leadline.reports.loading import load_spec
from leadline.reports.shares import share_of

rule_option = click.option(
    "--rule",
    "rules",
    multiple=True,
    shell_complete=complete_part(changed_rules),
    metavar="NAME=VALUE",
    help="Change a rule of a release, e.g. --rule elr=on (can be repeated). For kafka/3.7, this is the same "
    "as passing the spec kafka/3.7+elr=on. `leadline specs SPEC --rules` lists them.",
)


bounds_option = click.option(
    "-b",
    "--bounds",
    multiple=True,
    shell_complete=complete_part(bounds),
    metavar="NAME=VALUE,...",
    help="Change bounds, e.g. -b brokers=3,max_epoch=2. `leadline specs SPEC` lists the bounds.",
)

invariant_option = click.option(
    "-i",
    "--invariant",
    "names",
    multiple=True,
    shell_complete=complete_part(properties),
    metavar="NAME",
    help="Check only this property or witness (can be repeated). By default, all are checked.",
)


witness_option = click.option(
    "--witness",
    "rests_on",
    multiple=True,
    shell_complete=complete_part(lambda reference: properties(reference, only_witnesses=True)),
    metavar="NAME",
    help="A witness on which the result rests: the situation in question (can be repeated). If it is not reached, "
    "nothing holds, and the result is incomplete.",
)


class EngineOption(click.Option):
    """An option that only some engines have."""

    def __init__(self, *names: Any, engines: Iterable[str] = (), **attributes: Any) -> None:
        """Declare the option. By default, the engines are those whose settings have the name of the option."""
        super().__init__(*names, **attributes)
        declared = [name for name, its in EXHAUSTIVE.items() if self.name in attrs.fields_dict(its.settings)]
        self.engines = list(engines) or declared


master_option = click.option(
    "--master",
    cls=EngineOption,
    engines=["spark"],
    metavar="URL",
    help="URL of the Spark master. By default, Spark uses all cores of this machine.",
)

conf_option = click.option(
    "--conf",
    cls=EngineOption,
    engines=["spark"],
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a Spark property (can be repeated).",
)

verbose_option = click.option(
    "--verbose",
    cls=EngineOption,
    engines=["spark"],
    is_flag=True,
    default=None,
    help="Show Spark's log and progress bar.",
)


class EngineCommand(click.Command):
    """A command with an option ``--engine``. It refuses the options of other engines, and its help lists the options of
    each engine in a section.
    """

    def invoke(self, ctx: click.Context) -> object:
        chosen = ctx.params["engine"]
        for option in self.get_params(ctx):
            is_given = ctx.get_parameter_source(str(option.name)) is click.core.ParameterSource.COMMANDLINE
            if is_given and isinstance(option, EngineOption) and chosen not in option.engines:
                raise click.UsageError(
                    f"{option.opts[0]} requires --engine {' or '.join(option.engines)}, not {chosen}"
                )
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            if (record := option.get_help_record(ctx)) is not None:
                engines = option.engines if isinstance(option, EngineOption) else []
                title = f"Options of --engine {' or '.join(engines)}" if engines else "Options"
                sections.setdefault(title, []).append(record)
        for title, records in sorted(sections.items(), key=lambda section: section[0] != "Options"):
            with formatter.section(title):
                formatter.write_dl(records)


@contextmanager
def settings_as_options() -> Iterator[None]:
    """Convert an error about settings that exclude each other into one that names the options."""
    try:
        yield
    except SettingsError as error:
        options = re.sub(r"{(\w+)}", lambda name: f"--{name[1].replace('_', '-')}", error.template)
        raise click.UsageError(options) from error


def refuse_options(given: Mapping[str, object], why: str) -> None:
    """Raise UsageError if one of these options was given.

    Parameters:
        given: the values of the options, keyed by name. The value of an option that was not given is false.
        why: a phrase that says why the option cannot be used, and follows its name.
    """
    for name, value in given.items():
        if value:
            raise click.UsageError(f"--{name} {why}")


def spec_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the argument SPEC and the options for its rules, bounds and properties.

    The command receives rules as part of the spec's name, as in ``kafka/3.7+elr=on``.
    """

    @functools.wraps(command)
    def with_rules(*args: object, spec: str, rules: tuple[str, ...], **kwargs: object) -> int:
        return command(*args, spec=with_rules_changed(spec, rules), **kwargs)

    decorated = with_rules
    argument = click.argument("spec", shell_complete=complete_spec(".py"))
    for decorate in (invariant_option, bounds_option, rule_option, argument):
        decorated = decorate(decorated)
    return decorated


save_results_option = click.option(
    "--save",
    "saved",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="RESULTS",
    help="Add the result of each search to the file RESULTS, and take from it those that were made before, unless "
    "their spec has changed.",
)

no_invariants_option = click.option("--no-invariants", is_flag=True, help="Do not check any properties.")


def with_rules_changed(spec: str, rules: Iterable[str]) -> str:
    """Return the name of a spec with changed rules, as in ``kafka/3.7+elr=on``."""
    return "+".join([spec, *rules])


trace_out_option = click.option(
    "--trace-out",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Save each counterexample to this folder, in the Informal Trace Format (.itf.json). Those that an earlier run "
    "saved there are replayed first.",
)

look_option = click.option(
    "--look",
    "looks",
    multiple=True,
    metavar="EXPRESSION",
    help="Show the value of a Python expression in each state of a trace, e.g. --look 'len(queue)' (can be repeated). "
    "The fields of the state have their names; `state` is the whole state, `before` the state before the step, and "
    "`step` the step, with `step.action` and `step.arguments`.",
)

coverage_option = click.option(
    "--coverage",
    is_flag=True,
    help="Report the coverage of action instances, field values and source lines.",
)

diagnose_option = click.option(
    "--diagnose",
    type=click.FloatRange(0),
    metavar="S",
    help="After an unexpected violation, spend up to S seconds searching for a rule of a later release or protocol, "
    "or a configuration, under which the property holds. For your own specs, search instead for a step that the "
    "counterexample needs in order to violate the property. "
    f"The default is {SECONDS:g} for shipped specs, and 0 for your own.",
)


def chosen_spec(
    reference: str,
    bounds: tuple[str, ...],
    names: tuple[str, ...],
    no_invariants: bool,
    loaded: dict[Path, ModuleType] | None = None,
    rests_on: tuple[str, ...] = (),
) -> Spec[object]:
    """Return the spec that the command line names, with its bounds and properties. See `load_spec`.

    Raises:
        LeadlineError: if a name is unknown, or if a bound is out of range; see also `refuse_unclaimed`.
    """
    spec = load_spec(reference, loaded=loaded).with_bounds(parse_bounds(",".join(bounds)))
    refuse_unclaimed(spec)
    if no_invariants:
        if names:
            raise LeadlineError("-i and --no-invariants cannot be used together: pass only one of them")
        return spec.with_properties([])
    wanted = [name.strip() for text in names for name in text.split(",")]
    return spec.resting_on(rests_on, wanted or None)


class Share(click.ParamType[float]):
    """The type of options whose value is a percentage."""

    name = "share"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Convert a percentage to a fraction from 0 to 1."""
        if isinstance(value, float):
            return value
        try:
            return share_of(str(value))
        except LeadlineError as error:
            self.fail(str(error), param, ctx)


VERIFY_HELP = (
    "Verify this share of the learned results by calling the spec on real states, for example 5% or 100%. By default, "
    "a few thousand results are verified first, and then another 125 each time that their number has grown by e."
)

verify_option = click.option("--verify", type=Share(), metavar="SHARE", help=VERIFY_HELP)


class MemorySize(click.ParamType[int]):
    """The type of options whose value is a memory size: a number followed by the unit K, M, G or T."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Convert a size to a number of bytes."""
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *([KMGT])(?:i?B)?", str(value).strip(), re.IGNORECASE)
        size = int(float(found[1]) * 1024 ** ("KMGT".index(found[2].upper()) + 1)) if found else 0
        if size < 1:
            self.fail(
                f"{value!r} is not a memory size: write a number and K, M, G or T, such as 800M or 12G", param, ctx
            )
        return size


max_memory_option = click.option(
    "--max-memory",
    type=MemorySize(),
    metavar="SIZE",
    help="Stop if the search uses more memory than SIZE, e.g. 800M or 12G. By default, SIZE is most of the free "
    "memory. Limits set by a container or by ulimit also apply.",
)
