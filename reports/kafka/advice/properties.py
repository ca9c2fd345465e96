"""Java properties files, such as Kafka's ``server.properties``."""

from __future__ import annotations

import re
from pathlib import Path

import attrs
import javaproperties

from leadline.checker.errors import LeadlineError
from leadline.checker.support.files import file_text

_STATEMENT = re.compile(r"\s*(\{%|\{#|<%|\{\{)")
"""Matches a line that a template engine removes or replaces, such as ``{% if secure %}``."""

_PLACEHOLDER = re.compile(r"\$\{|\{\{|<%|^\$\w+$|^@[\w.]+@$|^<.+>$|^%\w+%$|^__\w+__$")
"""Matches a value that something replaces before Kafka reads the file, or that Kafka reads from elsewhere."""


@attrs.frozen
class Entry:
    """A setting in a properties file.

    Attributes:
        value: the value, without surrounding white space.
        place: the file and line of the setting, such as ``server.properties:12``.
    """

    name: str
    value: str
    place: str

    @property
    def is_placeholder(self) -> bool:
        """Whether the value contains a placeholder such as ``${MIN_ISR}`` or ``{{ min_isr }}``."""
        return _PLACEHOLDER.search(self.value) is not None


def read_properties(path: Path) -> dict[str, Entry]:
    """Return the settings in a file, keyed by name. As in Java, the last line with a name overrides earlier lines.

    Parameters:
        path: a file in the format of `java.util.Properties`: comments, continued lines, ``=``, ``:`` or white space
            after a name, and escapes.

    Raises:
        LeadlineError: if the file cannot be read, is not text, or contains an invalid escape or template statements.
    """
    entries: dict[str, Entry] = {}
    number = 1
    try:
        for element in javaproperties.parse(file_text(path)):
            if isinstance(element, javaproperties.KeyValue):
                place = f"{path.name}:{number}"
                if _STATEMENT.match(element.source):
                    statement = element.source.strip().splitlines()[0]
                    raise LeadlineError(
                        f"{place}: {statement[:60]!r} is a template statement, not a setting: fill in the "
                        "template, and pass the result"
                    )
                entries[element.key] = Entry(element.key, element.value.strip(), place)
            number += len(element.source.splitlines())
    except OSError as error:
        raise LeadlineError(f"cannot read {path}: {error.strerror or error}") from error
    except javaproperties.InvalidUEscapeError as error:
        raise LeadlineError(
            f"{path.name}:{number}: invalid escape {error.escape}: write \\u followed by four hexadecimal digits"
        ) from error
    except UnicodeDecodeError as error:
        raise LeadlineError(f"{path} is not a properties file: it is not UTF-8 text") from error
    return entries
