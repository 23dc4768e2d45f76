"""Makes the images of the documents, from an installation at work: `make screenshots`."""

import random
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from page.letters import make_dead
from page.looking import Look
from page.served_page import Installation

pytestmark = pytest.mark.nightly

WORK = r"""printf '\033[1mtrain\033[0m  model \033[36mresnet-lite\033[0m\n'
for epoch in 1 2 3 4 5 6; do
  printf '\033[2mepoch\033[0m %s  loss \033[33m0.%s\033[0m  \033[32mok\033[0m\n' $epoch $((97 - 9 * epoch))
  sleep 0.4
done
printf '\033[31mwarning\033[0m  validation did not improve\n'; sleep 600"""
FILL = "sleep $0"


def test_images_for_the_documents(look: Look, installation: Installation, images: Path | None) -> None:
    if images is None:
        pytest.skip("BANDMASTER_SCREENSHOTS names no folder: make screenshots")
    chances = random.Random(7)
    installation.call("PUT", "/limits/tenant:acme", {"limit": 3})
    installation.call("PUT", "/limits/action:train", {"limit": 2})
    installation.call("PUT", "/rates/tenant:initech", {"rate": "6/m burst 4"})
    installation.call("PUT", "/rates/action:resize", {"rate": "100/m burst 10"})
    installation.call("PUT", "/weights/user:ann", {"weight": 3})
    page = look.signed_in(installation.admin, "now", device_scale_factor=2)
    for seconds in ("9", "14"):
        installation.submit("sh", "-c", FILL, seconds, action="train", user_id="carol")
    shown = installation.submit("sh", "-c", WORK, action="train", user_id="ann", priority="CRITICAL")
    make_dead(installation, "invoice-2041", "invoice-2042", user="bob", action="invoice", lane="billing")
    for number in range(40):
        # It comes in waves, so that a queue grows and shrinks.
        for _ in range(chances.randint(3, 9) if number % 14 < 6 else chances.randint(0, 3)):
            installation.submit(
                *("sh", "-c", FILL, f"{chances.uniform(2, 7):.1f}"),
                action=chances.choice(["report", "resize", "train", "invoice"]),
                user_id=chances.choice(["ann", "bob", "carol", "dave"]),
                priority=chances.choices(["CRITICAL", "HIGH", "NORMAL", "LOW", "BACKGROUND"], [1, 3, 5, 3, 2])[0],
                gates=[f"tenant:{chances.choice(['acme', 'globex', 'initech'])}"],
            )
        page.wait_for_timeout(1500)
    keep(page, images / "page-now.png")
    page.emulate_media(color_scheme="dark")
    keep(page, images / "page-now-dark.png")
    page.emulate_media(color_scheme="light")
    for view, name in (
        ("executions", "page-executions"),
        (f"executions/{shown}", "page-execution"),
        ("actions", "page-actions"),
        ("dead", "page-dead-letters"),
    ):
        # What was waited for stands below the tables of what is so now.
        page.set_viewport_size({"width": 1360, "height": 900 if view == "actions" else 860})
        look.go(page, view)
        page.wait_for_timeout(1500)
        if view == "actions":
            expect(page.locator("tr[data-row='waited:train']")).to_contain_text("behind action:train")
            expect(page.locator("tr[data-row='waited:train']")).to_be_in_viewport(ratio=1)
        keep(page, images / f"{name}.png")
    page.set_viewport_size({"width": 390, "height": 844})
    look.go(page, "now")
    page.wait_for_timeout(1500)
    keep(page, images / "page-phone.png")


def keep(page: Page, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    page.mouse.move(0, 0)
    # By the viewport: a screenshot of all of a long list tells less.
    page.screenshot(path=path, scale="css")
