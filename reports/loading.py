"""Load specs that are named in the catalog or defined in a Python file."""

from __future__ import annotations

import hashlib
import importlib.util
import linecache
import logging
import os
import re
import shlex
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs

from leadline.checker.action import Action
from leadline.checker.bounds import bounds_text
from leadline.checker.errors import LeadlineError, SpecError, error_text
from leadline.checker.mutation.changes import Mutation
from leadline.checker.properties import Property
from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.checker.support.inspection import is_a
from leadline.checker.support.messages import nearest
from leadline.checker.trace import Trace
from leadline.model.rules import RuleColumn

_PRIVATE = "_leadline_spec_"
"""The prefix of the module names given to users' files."""

_OLD_PACKAGES = ("checker", "model", "invariants", "reports")
"""The top-level names that leadline's packages had before they were moved into the package `leadline`."""

_folders: list[str] = []
"""The folders of the loaded files, most recent first."""

_neighbours: set[str] = set()
"""The modules that the last loaded file imported from its folder."""

_warned: set[tuple[str, str]] = set()
"""The modules and names of the actions and properties about which `_warn_of_unlisted` has warned."""

_log = logging.getLogger("leadline")


def load_spec(reference: str, folder: Path | None = None, loaded: dict[Path, ModuleType] | None = None) -> Spec[object]:
    """Return the spec that a command line or a suite refers to.

    Parameters:
        reference: a name in the catalog, optionally with changed rules, as in ``kafka/3.7+elr=on``;
            ``path/to/file.py:name``, or ``path/to/file.py`` if there is only one spec in the file.
        folder: the folder that relative paths start from. By default, the working directory.
        loaded: the modules of the files that have already been loaded. These files are not loaded again, so that two
            specs in the same file use the same state class. The modules of newly loaded files are added.

    Returns:
        The spec, with the reference as its name.

    Raises:
        SpecError: if there is no such spec (the message suggests similar names), or if its file cannot be loaded.
    """
    path, name = _file_and_name(reference)
    if not path:
        if os.path.isfile((folder or Path()) / reference):  # unlike Path.is_file, False for a name that is too long
            raise SpecError(f"{reference} is not a Python file: the name of a file with specs must end in .py")
        return shipped_spec(reference)
    if "+" in name:
        named = ":".join(filter(None, [path, name.partition("+")[0]]))
        raise SpecError(
            f"{named} has no rules that can be changed: only Kafka releases and KIP designs have such rules"
        )
    loaded, file = {} if loaded is None else loaded, (folder or Path()) / path
    module = loaded[file] = loaded.get(file) or _load_module(file)
    specs = {key: value for key, value in vars(module).items() if is_a(value, Spec)}
    if not specs:
        raise SpecError(f"{path} defines no spec: write spec = Spec(name=..., ...) at its top level")
    _warn_of_unlisted(path, module)
    if not name and (own := {key: value for key, value in specs.items() if _is_own(value, module)}):
        specs = own
    if not name and len(specs) > 1:
        raise SpecError(f"{path} defines several specs: choose {' or '.join(f'{path}:{each}' for each in specs)}")
    if name and name not in specs:
        raise SpecError(f"{path} has no spec {name!r}{nearest(name, specs)}")
    name = name or next(iter(specs))
    return attrs.evolve(specs[name], name=f"{path}:{name}")


def _is_own(spec: Spec[object], module: ModuleType) -> bool:
    """Return whether a module defines a function of a spec. If not, it may have imported the spec."""
    functions = (spec.initial_states, *(action.function for action in spec.actions))
    return any(getattr(each, "__module__", None) == module.__name__ for each in functions)


def _warn_of_unlisted(path: str, module: ModuleType) -> None:
    """Warn once about actions and properties that are defined in a file but not listed in any of its specs."""
    values = list(vars(module).values())
    values += [each for value in values if type(value) in (list, tuple) for each in value]
    values += [each for value in values if type(value) is dict for each in value.values()]
    specs = [value for value in values if is_a(value, Spec)]
    listed = {id(item.function) for spec in specs for item in (*spec.actions, *spec.properties, *spec.optional)}
    for value in vars(module).values():
        is_action = is_a(value, Action)
        if not is_action and not is_a(value, Property):
            continue
        own = getattr(value.function, "__module__", None) == module.__name__
        if own and id(value.function) not in listed and (module.__name__, value.name) not in _warned:
            _warned.add((module.__name__, value.name))
            kind = "action" if is_action else value.kind.value.replace(" ", "_")
            line = f"{value.name} is decorated with @{kind}, but no spec in {path} lists it"
            _log.warning("%s", visible(line))


def shipped_spec(name: str) -> Spec[object]:
    """Return a spec from the catalog. No file is read or run, so the name may come from an untrusted source.

    Raises:
        SpecError: if there is no such spec or rule. The message suggests similar names.
    """
    from leadline.invariants.catalog import CATALOG, find, releases_like

    spec = find(name)
    if spec is None:
        name = name.partition("+")[0]
        if known := releases_like(name):
            raise SpecError(
                f"unknown release {name!r}: the known releases of this minor version are {', '.join(known)}"
            )
        raise SpecError(f"unknown spec {name!r}{nearest(name, CATALOG)} (`leadline specs` lists all specs)")
    return spec


def shipped_column(name: str) -> RuleColumn | None:
    """Return the column of a spec from the catalog, or None if there is no such spec.

    Raises:
        SpecError: if the name changes a rule that does not exist, or changes it to a value that does not exist.
    """
    from leadline.invariants.catalog import column_of

    return column_of(name)


def mixed_in(reference: str) -> list[str]:
    """Return the names of the two releases that a mix such as ``kafka/2.0..2.1`` has, or nothing for any other spec."""
    old, _, new = reference.partition("..")
    return [old, f"{old.partition('/')[0]}/{new}"] if new and not names_a_file(reference) else []


def releases_with_rules_of(protocol: object) -> Sequence[RuleColumn]:
    """Return the releases of the family whose rules a protocol has, oldest first. There may be none."""
    from leadline.invariants.catalog import FAMILIES

    found = (family.releases for family in FAMILIES.values() if type(family.releases[0].protocol()) is type(protocol))
    return next(found, ())


def known_mutations(reference: str) -> list[Mutation]:
    """Return the mutations of a shipped spec that change Kafka's rules. Other specs have no such mutations."""
    if names_a_file(reference):
        return []
    from leadline.invariants.catalog import mutations

    return mutations(reference)


def is_shipped(name: str | None) -> bool:
    """Return whether the catalog has a spec with this name. The name may contain changed rules."""
    if name is None or names_a_file(name):
        return False
    from leadline.invariants.catalog import find

    try:
        return find(name) is not None
    except SpecError:
        return False


def names_a_file(reference: str) -> bool:
    """Return whether a reference names a Python file, which `load_spec` would run."""
    return bool(_file_and_name(reference)[0])


def _file_and_name(reference: str) -> tuple[str, str]:
    """Split a reference to a spec into the file and the name of the spec. Both are empty if the reference does not name
    a file.
    """
    path, colon, name = reference.rpartition(":")
    if colon and path.endswith(".py"):
        return path, name
    path, changed, rules = reference.partition(".py+")
    if changed:
        return f"{path}.py", f"+{rules}"
    return (reference, "") if reference.endswith(".py") else ("", "")


def _load_module(path: Path) -> ModuleType:
    """Run a user's file as a module with a private name, so that it does not replace any other module."""
    if not path.is_file():
        raise SpecError(f"there is no file {path}")
    name = f"{_PRIVATE}{hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:16]}"
    located = importlib.util.spec_from_file_location(name, path)
    if located is None or located.loader is None:
        raise SpecError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(located)
    sys.modules[name] = module
    try:
        with _among_its_neighbours(path.resolve().parent):
            located.loader.exec_module(module)
            _keep_lines(located.origin)
    except LeadlineError as error:
        raise SpecError(f"cannot load {path}{_line(located.origin, error)}: {error}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a file that calls exit(0) must not end leadline as if all properties held
        if isinstance(error, ModuleNotFoundError) and str(error.name).partition(".")[0] in _OLD_PACKAGES:
            raise SpecError(
                f"cannot load {path}{_line(located.origin, error)}: there is no module {error.name!r}; "
                f'write "from leadline.{error.name} import ..."'
            ) from error
        own_syntax = isinstance(error, SyntaxError) and error.filename == located.origin
        # the message already contains the file and line
        text = str(error.args[0]) if own_syntax else error_text(error)
        if field := _MANDATORY.search(text):
            raise SpecError(
                f"cannot load {path}{_line(located.origin, error)}: field {field[1]} has no default, but a field "
                "before it has one: give it a default, or move it up"
            ) from error
        said = _of_call(text) if isinstance(error, TypeError) else ""
        said = said or f"{type(error).__name__}: {text}"
        raise SpecError(f"cannot load {path}{_line(located.origin, error)}: {said}") from error
    return module


def _of_call(text: str) -> str:
    """Return what is wrong with a call of `Spec` or `leads_to`, or an empty string if Python says something else."""
    if found := re.fullmatch(r"Spec\.__init__\(\) got an unexpected keyword argument '(\w+)'", text):
        known = [field.name for field in attrs.fields(Spec)]
        near = nearest(found[1], known)
        return f"Spec(...) takes no {found[1]!r}{near or ': it takes ' + ', '.join(known)}"
    if re.match(r"leads_to\(\) (missing 1 required keyword-only|takes 1 positional) argument", text):
        return "leads_to takes a sentence and the left side, as in @leads_to('...', after=requested)"
    return ""


_MANDATORY = re.compile(r"^No mandatory attributes allowed after .*Attribute\(name='(\w+)'")
"""What attrs says of a field without a default after one with a default, followed by a dump of the whole field."""


@contextmanager
def _among_its_neighbours(folder: Path) -> Iterator[None]:
    """Let a file import modules from its folder within a ``with`` block. These modules never replace modules of
    leadline.

    First remove the modules that the previously loaded file imported from its folder. Otherwise, this file would import
    them instead of the modules with the same names in its own folder.
    """
    for name in _neighbours:
        sys.modules.pop(name, None)
    _neighbours.clear()
    _folders[:] = [str(folder), *(other for other in _folders if other != str(folder))]
    sys.path[:] = [
        *(entry for entry in sys.path if entry not in _folders),
        *_folders,
    ]  # last, the file's own folder first
    known = set(sys.modules)
    try:
        yield
    finally:
        _neighbours.update(name for name in set(sys.modules) - known if _is_neighbour(folder, name))
        for name in _neighbours:
            _keep_lines(getattr(sys.modules[name], "__file__", None))


def _keep_lines(file: str | None) -> None:
    """Read the lines of a file that has been loaded, so that reports show them even if the file changes later."""
    linecache.checkcache(file)
    linecache.getlines(file or "")


def _is_neighbour(folder: Path, name: str) -> bool:
    top = name.partition(".")[0]
    file = getattr(sys.modules.get(top), "__file__", None)
    own = (folder / f"{top}.py", folder / top / "__init__.py")
    return top != "leadline" and file is not None and Path(file).resolve() in own


def _line(filename: str | None, error: BaseException) -> str:
    """Return the line at which the user's file raised an error, as in ", line 3", or "" if it is unknown."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == filename]
    if isinstance(error, SyntaxError) and error.filename == filename:
        lines.append(error.lineno)
    return f", line {lines[-1]}" if lines and lines[-1] else ""


def changed_bounds(spec: Spec[Any]) -> str:
    """Return the bounds that differ from the spec's defaults, as in ``acks=all,crashes=2``."""
    default = attrs.asdict(load_spec(spec.name).bounds)
    return bounds_text({name: value for name, value in attrs.asdict(spec.bounds).items() if value != default[name]})


def explore_command(spec: Spec[Any], names: Sequence[str] | None = None) -> str:
    """Return the command that searches a spec within its bounds.

    Parameters:
        names: the names of the properties to check. By default, the spec's only property and the witnesses on which it
            rests; all properties if there are several.
    """
    words = ["leadline", "explore", spec.name]
    if bounds := changed_bounds(spec):
        words += ["-b", bounds]
    witnesses = spec.rests_on if names is None else ()
    own = [item.name for item in spec.checks if item.name not in witnesses]
    for name in names if names is not None else own if len(own) == 1 else ():
        words += ["-i", name]
    return shlex.join([*words, *(word for name in witnesses for word in ("--witness", name))])


def command_for_trace(trace: Trace[Any]) -> str:
    """Return the command that searches for the violation or witness at the end of a trace."""
    return explore_command(trace.spec, [] if trace.about is None else [trace.about.name])
