"""A real browser: Chromium, headless, as the system has it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here: apt-get install chromium")

MERMAID = Path(__file__).parent / "node" / "node_modules" / "mermaid" / "dist" / "mermaid.min.js"

needs_mermaid = pytest.mark.skipif(not MERMAID.is_file(), reason="mermaid is not installed: make test does, with npm")


def chromium() -> Iterator[Browser]:
    """A browser, for a fixture."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()
