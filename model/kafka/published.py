"""The version numbers of the published Kafka releases that `releases` describes, beginning with 0.10.2.0."""

from __future__ import annotations

PUBLISHED = (
    *("0.10.2.0", "0.10.2.1", "0.10.2.2"),
    *("0.11.0.0", "0.11.0.1", "0.11.0.2", "0.11.0.3"),
    *("1.0.0", "1.0.1", "1.0.2", "1.1.0", "1.1.1"),
    *("2.0.0", "2.0.1", "2.1.0", "2.1.1", "2.2.0", "2.2.1", "2.2.2", "2.3.0", "2.3.1", "2.4.0", "2.4.1"),
    *("2.5.0", "2.5.1", "2.6.0", "2.6.1", "2.6.2", "2.6.3", "2.7.0", "2.7.1", "2.7.2", "2.8.0", "2.8.1", "2.8.2"),
    *("3.0.0", "3.0.1", "3.0.2", "3.1.0", "3.1.1", "3.1.2", "3.2.0", "3.2.1", "3.2.2", "3.2.3"),
    *("3.3.0", "3.3.1", "3.3.2", "3.4.0", "3.4.1", "3.5.0", "3.5.1", "3.5.2", "3.6.0", "3.6.1", "3.6.2"),
    *("3.7.0", "3.7.1", "3.7.2", "3.8.0", "3.8.1", "3.9.0", "3.9.1", "3.9.2"),
    *("4.0.0", "4.0.1", "4.0.2", "4.1.0", "4.1.1", "4.1.2", "4.2.0", "4.2.1", "4.2.2", "4.3.0", "4.3.1", "4.4.0"),
)
"""The published versions, oldest first. (3.3.0 was replaced by 3.3.1 before it was announced.)"""


def between(first: str, last: str) -> tuple[str, ...]:
    """Return the published versions from `first` to `last`, inclusive."""
    return PUBLISHED[PUBLISHED.index(first) : PUBLISHED.index(last) + 1]


def minor(version: str) -> str:
    """Return the minor version of a patch release, such as ``3.7`` for ``3.7.1`` or ``0.11`` for ``0.11.0.3``."""
    parts = version.split(".")
    if parts[:2] == ["0", "11"]:
        return "0.11"
    return ".".join(parts[:3] if parts[0] == "0" else parts[:2])


def known_like(version: str) -> tuple[str, ...]:
    """Return the published versions that have the same minor version as a given version.

    Parameters:
        version: a version, which may be unpublished, or a minor version. Examples are ``3.6.9`` and ``3.6``.
    """
    return tuple(known for known in PUBLISHED if minor(known) == minor(version))


def aliases(name: str, versions: tuple[str, ...], suffix: str = "") -> tuple[str, ...]:
    """Return the other names of a column: those of its releases, and of the minor versions that begin with them.

    Parameters:
        name: the name of the column, such as ``kafka/3.7``.
        versions: the published releases of the column.
        suffix: the text that follows the version in the names.
    """
    family = name.partition("/")[0]
    begins = [(minor(each),) if known_like(each)[:1] in ((), (each,)) else () for each in versions]
    found = [number for minors, each in zip(begins, versions, strict=True) for number in (*minors, each)]
    return tuple(each for each in dict.fromkeys(f"{family}/{number}{suffix}" for number in found) if each != name)


def span(versions: tuple[str, ...]) -> str:
    """Return the first and the last of some versions, such as ``3.7.0 to 3.8.1``, or an empty string for none."""
    return " to ".join(dict.fromkeys([*versions[:1], *versions[-1:]]))
