"""A browser for tests of pages: the system's Chromium, without a window."""

from __future__ import annotations

import shutil

import pytest


@pytest.fixture(scope='module')
def browser():
    """Chromium, driven by Playwright; the test is skipped where either is missing.

    It lives as long as a module: while it does, its event loop runs in this thread, and
    ``asyncio.run`` in tests of other modules would be refused.
    """
    playwright = pytest.importorskip('playwright.sync_api')
    chromium = shutil.which('chromium') or shutil.which('chromium-browser')
    if chromium is None:
        pytest.skip('there is no Chromium')
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=['--no-sandbox'])
        yield browser
        browser.close()


@pytest.fixture
def console():
    """What ``page`` wrote to its console as warning or error, and what it threw."""
    return []


@pytest.fixture
def page(browser, console):
    """A fresh page of 1280x800 pixels without cookies; tests assert that ``console`` is empty."""
    context = browser.new_context(viewport={'width': 1280, 'height': 800})
    context.set_default_timeout(20_000)
    page = context.new_page()
    page.on('console', lambda message: message.type in ('error', 'warning')
            and console.append(message.text))
    page.on('pageerror', lambda error: console.append(str(error)))
    yield page
    context.close()
