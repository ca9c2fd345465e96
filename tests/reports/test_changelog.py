"""The changelog has the version of the project, and fragments from then on."""

from __future__ import annotations

import tomllib

import pytest

from tests.documents.changelog import PROJECT, fragments, with_version

CHANGELOG = (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_newest_version_is_that_of_the_project() -> None:
    version = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert CHANGELOG.partition("\n## ")[2].startswith(f"{version}\n")


def test_the_fragments_can_be_put_into_the_changelog() -> None:
    texts = [file.read_text(encoding="utf-8") for file in fragments(PROJECT / "changes")]
    made = with_version(CHANGELOG, "9.9.9", [*texts, "- One more\n  line.\n"])
    assert made.count("\n## ") == CHANGELOG.count("\n## ") + 1
    assert made.index("## 9.9.9") < made.index("- One more\n  line.\n") < made.index("## 0.2.0")
    assert made.replace(f"## 9.9.9\n\n{''.join(texts)}- One more\n  line.\n\n", "") == CHANGELOG


@pytest.mark.parametrize("changes", [[], ["a sentence\n"], ["- an item\nand a sentence\n"]])
def test_what_is_no_list_of_changes_is_refused(changes: list[str]) -> None:
    with pytest.raises(ValueError, match=r"must be a list|nothing to put"):
        with_version(CHANGELOG, "9.9.9", changes)
