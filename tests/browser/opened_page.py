"""A page in a browser."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, Page


class Opened:
    """A page, with all that it complained of and asked for."""

    def __init__(self, browser: Browser, file: Path, link: str = "", **options: object) -> None:
        self.context = browser.new_context(**options)  # type: ignore[arg-type]
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(f"{file.as_uri()}{link}")

    @property
    def states(self) -> list[str]:
        """The states that are to be seen, by their ids."""
        sections = self.page.locator("section:visible")
        return [sections.nth(index).get_attribute("id") or "" for index in range(sections.count())]

    def wait_for(self, state: str) -> None:
        """Wait until a state is the only one to be seen: after a click on a link, the page hears of it in an event."""
        self.page.wait_for_function(
            """name => {
              const shown = [...document.querySelectorAll("section")].filter(section => section.checkVisibility());
              return shown.length === 1 && shown[0].id === name;
            }""",
            arg=state,
        )

    def marks(self, row: int) -> dict[str, int]:
        """The marks on the log that is drawn in a row of the state that is to be seen."""
        marks = self.page.locator("section:visible .row-log").nth(row).locator(".mark").all()
        return {str(mark.get_attribute("data-mark")): int(mark.get_attribute("data-offset") or -1) for mark in marks}
