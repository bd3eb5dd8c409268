"""A report page open in a browser, for tests: how to ask it, and what it did that it should not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Page, Route

# Names that are dangerous in a page, or hard to show.
HOSTILE_TEXTS = [
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "<!--<script>",
    "\"'&`${window.hacked = 1}",
    "nul\0escape\x1b[31m",
    "\u202eevil\u2066",
    "שלום עולם",
    "世界 🙂",
    "__proto__",
    "y" * 10_000,
    "",
]

# Runs before the page's own scripts; violations are events of the document.
WATCH_POLICY = """
window.violations = [];
document.addEventListener('securitypolicyviolation',
  (event) => window.violations.push(event.violatedDirective + ' ' + event.blockedURI));
"""


@dataclass
class Opened:
    """A page that is open, and what it did that it should not."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    def state(self, expression: str) -> Any:
        """Return a value from the viewer's state, such as "rects.length"."""
        self.settle()
        return self.page.evaluate(f"() => window.__viewer.{expression}")

    def settle(self) -> None:
        """Wait until the viewer has drawn what it has to draw."""
        for _ in range(400):
            if self.page.evaluate("() => Boolean(window.__viewer) && !window.__viewer.busy"):
                return
            self.page.wait_for_timeout(25)
        pytest.fail(f"the viewer did not come to rest: {self.complaints}")

    def until(self, expression: str, value: object) -> None:
        """Wait until a value of the state is as given: for what the browser tells the page late."""
        for _ in range(200):
            if self.state(expression) == value:
                return
            self.page.wait_for_timeout(25)
        pytest.fail(f"{expression} is {self.state(expression)!r}, not {value!r}")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
        self.settle()

    def search(self, pattern: str) -> None:
        self.page.fill("#search", pattern)
        self.settle()

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()


OpenPage = Callable[..., Opened]


def watch(opened: Opened, own: str) -> None:
    """Collect complaints of a page; requests for anything but the page are refused."""
    page, complaints = opened.page, opened.complaints

    def route(route: Route) -> None:
        if route.request.url.split("#")[0] == own:
            route.continue_()
        else:
            complaints.append(f"request {route.request.url}")
            route.abort()

    page.route("**/*", route)
    page.add_init_script(WATCH_POLICY)
    page.on("pageerror", lambda error: complaints.append(f"exception {error}"))
    page.on(
        "console",
        lambda message: (
            complaints.append(f"console {message.text}")
            if message.type in {"error", "warning"}
            else None
        ),
    )
