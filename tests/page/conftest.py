"""One installation, an API of the tests' own beside it, and one browser, for all tests of this folder.

The browser is Debian's Chromium. Without it these tests are skipped, unless BANDMASTER_REQUIRE_BROWSER=1 (as in CI).
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from page.looking import Look
from page.served_page import Installation, installed
from waiting import GENEROUS_MS

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="package")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with installed(tmp_path_factory.mktemp("page")) as installation:
        yield installation


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A browser. While it is there, an event loop runs in this thread, where tests of other folders begin theirs."""
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        if os.environ.get("BANDMASTER_REQUIRE_BROWSER") == "1":
            pytest.fail("BANDMASTER_REQUIRE_BROWSER=1, and there is no `chromium`: apt-get install chromium")
        pytest.skip("THE PAGE IS NOT TESTED: there is no `chromium` here (Debian, Ubuntu: apt-get install chromium)")
    expect.set_options(timeout=GENEROUS_MS)
    with sync_playwright() as playwright:
        # As root, as in a container, Chromium has no sandbox of its own.
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def look(browser: Browser, installation: Installation) -> Iterator[Look]:
    """Opens the page; at the end, nothing was wrong with it in any browser that was opened."""
    look = Look(browser, installation)
    yield look
    look.end()


@pytest.fixture(scope="session")
def images() -> Path | None:
    """Where screenshots are kept for the documents; None: nowhere. `make screenshots` says where."""
    named = os.environ.get("BANDMASTER_SCREENSHOTS")
    return None if named is None else Path(named)
