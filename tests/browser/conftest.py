"""One Chromium for all browser tests, and pages that tell on themselves.

A page may load nothing but its own file; requests, console errors, exceptions and violations of
its policy are collected, and every test ends with the check that there were none.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from browser_page import Opened, OpenPage, watch
from proftrace.model.profile import Profile
from proftrace.render.flamegraph import FlamegraphOptions, render

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    given = os.environ.get("PROFTRACE_TEST_CHROMIUM")
    path = given or shutil.which("chromium") or shutil.which("chromium-browser")
    if not path:
        pytest.fail('no Chromium: install it with "apt install chromium"')
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_html(browser: Browser, tmp_path: Path) -> Iterator[OpenPage]:
    """Return a function that opens a page; when the test ends it has done nothing it should not."""
    opened: list[Opened] = []
    contexts: list[BrowserContext] = []

    def open_html(
        html: str,
        *,
        width: int = 1000,
        height: int = 700,
        fragment: str = "",
        **context_options: Any,
    ) -> Opened:
        path = tmp_path / f"page{len(opened)}.html"
        path.write_text(html, encoding="utf-8")
        context_options.setdefault("reduced_motion", "reduce")
        context = browser.new_context(
            viewport={"width": width, "height": height}, **context_options
        )
        contexts.append(context)
        result = Opened(context.new_page())
        opened.append(result)
        watch(result, path.as_uri())
        result.page.goto(path.as_uri() + fragment)
        if context_options.get("java_script_enabled", True):
            result.settle()
        return result

    yield open_html
    for result in opened:
        violations = result.page.evaluate("() => window.violations") or []
        assert (result.complaints, violations) == ([], [])
    for context in contexts:
        context.close()


@pytest.fixture
def open_page(open_html: OpenPage) -> OpenPage:
    """Return a function that renders a profile of memory and opens the page."""

    def open_page(profile: Profile, options: FlamegraphOptions | None = None, **how: Any) -> Opened:
        return open_html(render(profile, options), **how)

    return open_page
