"""Lets axe-core look at what a browser shows, by the rules of WCAG 2.2 AA and best practices."""

from pathlib import Path
from typing import Final

from playwright.sync_api import Page

_AXE: Final = (Path(__file__).parent / "axe-core" / "axe.min.js").read_text()
_LOOK: Final = """async (rules) => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"], ...(rules ? { runOnly: rules } : {}) });
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`));
}"""


def wrong_for_some(page: Page) -> list[str]:
    """What is not accessible to everybody: by all rules as it is shown, and what is hard to read in dark colours."""
    # By the debugger's way, which the page's own policy does not stand in.
    page.evaluate(_AXE)
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    found: list[str] = page.evaluate(_LOOK, None)
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    in_dark: list[str] = page.evaluate(_LOOK, ["color-contrast"])
    return found + in_dark
