"""Put the fragments of `changes/` into CHANGELOG.md as a new version: `python -m tests.documents.changelog 0.3.0`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]


def fragments(folder: Path) -> list[Path]:
    """The files with changes, in the order of their names."""
    return [file for file in sorted(folder.glob("*.md")) if file.name != "README.md"]


def with_version(changelog: str, version: str, changes: list[str]) -> str:
    """A changelog with a version above the newest one.

    Raises:
        ValueError: if there are no changes, if a change is not a list, or if the changelog has the version.
    """
    for text in changes:
        if not re.fullmatch(r"(?:- .*\n(?:  .*\n)*)+", text):
            raise ValueError(f"a change must be a list, which begins with '- ': {text[:60]!r}")
    if not changes or f"\n## {version}\n" in changelog:
        raise ValueError(f"there is nothing to put into {version}")
    before, mark, after = changelog.partition("\n## ")
    return f"{before}\n## {version}\n\n{''.join(changes)}{mark}{after}"


def main(version: str) -> None:
    """Write the version into CHANGELOG.md, and remove the fragments."""
    found, changelog = fragments(PROJECT / "changes"), PROJECT / "CHANGELOG.md"
    texts = [file.read_text(encoding="utf-8") for file in found]
    changelog.write_text(with_version(changelog.read_text(encoding="utf-8"), version, texts), encoding="utf-8")
    for file in found:
        file.unlink()


if __name__ == "__main__":
    main(sys.argv[1])
