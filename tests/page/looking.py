"""Browsers of the tests: signed in as somebody, and watched for what the page must never do."""

from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

from page.served_page import Installation
from waiting import GENEROUS_MS

_EXPECTED = ("status of 4", "status of 503", "ERR_CONNECTION", "ERR_INCOMPLETE", "ERR_EMPTY_RESPONSE", "[DOM]")
"""What a browser says by itself of answers that the page expects: a call is refused, the API is away."""


class Look:
    """Opens the page in browsers that share nothing."""

    def __init__(self, browser: Browser, installation: Installation) -> None:
        self._browser = browser
        self._installation = installation
        self._contexts = list[BrowserContext]()
        self._wrong = list[str]()
        self._urls = {"about:"}

    def at(self, address: str = "/", *, of: Installation | None = None, **options: Any) -> Page:
        """Open an address as somebody who is not signed in; `of` another API than the usual."""
        url = (of or self._installation).url
        self._urls.add(url)
        context = self._browser.new_context(viewport={"width": 1360, "height": 860}, **options)
        context.set_default_timeout(GENEROUS_MS)
        self._contexts.append(context)
        page = context.new_page()
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self._wrong.append(f"error: {error}"))
        page.on("request", lambda request: self._asked(request.url))
        page.goto(url + address)
        return page

    def signed_in(self, token: str, view: str = "now", *, of: Installation | None = None, **options: Any) -> Page:
        """Sign in by a token, as a person does, and go to a view."""
        page = self.at(of=of, **options)
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("navigation", name="Views").wait_for(state="attached")
        self.go(page, view, of=of)
        return page

    def go(self, page: Page, view: str, *, of: Installation | None = None) -> None:
        """Go to a view by its address."""
        page.goto(f"{(of or self._installation).url}/#/{view}")

    def again(self, page: Page, address: str) -> None:
        """Open an address in a browser that has the page open, as by a link in a mail."""
        page.goto("about:blank")
        page.goto(self._installation.url + address)

    def end(self) -> None:
        """Close all, and tell what was wrong."""
        for each in self._contexts:
            each.close()
        assert not self._wrong, self._wrong

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(each in message.text for each in _EXPECTED):
            self._wrong.append(f"{message.type}: {message.text}")

    def _asked(self, url: str) -> None:
        if not url.startswith(tuple(self._urls)):
            self._wrong.append(f"asked {url}, which is not the API")
