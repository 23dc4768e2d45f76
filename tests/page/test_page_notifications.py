"""The page's cards of notifications: where they go, what was not delivered and why, and the test of an address."""

import json

import pytest
from playwright.sync_api import Locator, Page, expect
from receiver import SECRET, receiving

from bandmaster.client import verify_notification
from page.looking import Look
from page.served_page import Installation

pytestmark = pytest.mark.slow


def card(page: Page) -> Locator:
    return page.locator(".card", has=page.get_by_role("heading", name="Notifications"))


def failed_item(installation: Installation, queue: str) -> str:
    """An item that failed for good."""
    added = installation.call("POST", "/queue-items", {"queue_name": queue, "payload": {"secret": 17}})
    wanted = {"queue_name": queue, "robot_id": "r1"}
    (claimed,) = installation.call("POST", "/queue-items/next", wanted)["items"]
    said = {"status": "FAILED", "fence": claimed["fence"], "robot_id": "r1", "failure": "business"}
    installation.call("PUT", f"/queue-items/{added['id']}", said)
    return added["id"]


@pytest.mark.nightly
def test_an_address_is_tried_from_the_queue_and_the_page_says_what_came_of_it(
    look: Look, installation: Installation
) -> None:
    with receiving(204, 404) as receiver:
        installation.call("POST", "/queues", {"name": "told", "notify_url": receiver.url})
        page = look.signed_in(installation.token("ann", "operate"), "queues/told")
        # Its path may have a secret.
        expect(card(page)).to_contain_text(f"to http://127.0.0.1:{receiver.port}/…")
        expect(card(page)).to_contain_text("Nothing waits, and nothing was given up.")
        test = page.get_by_role("button", name="Test the address of told")
        test.click()
        expect(card(page).get_by_role("status")).to_have_text("Delivered: the receiver answered with 204")
        test.click()
        expect(card(page).get_by_role("status")).to_have_text("Not delivered: it answered with 404")
        (first, _) = receiver.got
        verify_notification(first.headers, first.body, SECRET)
        assert json.loads(first.body)["data"]["queue"]["name"] == "told"
    test.click()
    expect(card(page).get_by_role("status")).to_contain_text("Not delivered: no connection")


def test_what_is_not_delivered_is_listed_and_an_item_tells_when_it_was_sent(
    look: Look, installation: Installation
) -> None:
    with receiving(500) as receiver:  # until the page has shown it
        installation.call("POST", "/queues", {"name": "away", "notify_url": receiver.url})
        item_id = failed_item(installation, "away")
        page = look.signed_in(installation.admin, "queues/away")
        row = card(page).locator("tr[data-row]")
        expect(row).to_contain_text("item.failed")
        expect(row).to_contain_text("it answered with 500")
        expect(card(page)).to_contain_text("1 waits, 0 were given up.")
        look.go(page, f"queues/away/{item_id}")
        expect(row).to_contain_text("waits")
        receiver.statuses = [204]
        expect(row.locator("td[data-label='Delivery']")).to_contain_text("sent")
        assert len(receiver.got) >= 2
        expect(row.locator("td[data-label='Tries']")).to_have_text(str(len(receiver.got)))
        look.go(page, "queues/away")
        expect(card(page)).to_contain_text("Nothing waits, and nothing was given up.")


@pytest.mark.nightly
def test_a_trigger_has_its_own_and_one_without_an_address_says_how_to_set_it(
    look: Look, installation: Installation
) -> None:
    with receiving() as receiver:
        new = {"name": "at-six", "type": "TIME", "cron": "0 6 1 1 *", "command": ["true"]}
        installation.call("POST", "/triggers", new)
        page = look.signed_in(installation.admin, "triggers/at-six")
        expect(card(page)).to_contain_text("bandmaster trigger change at-six --notify")
        expect(page.get_by_role("button", name="Test the address of at-six")).to_have_count(0)
        changed = {"notify_url": receiver.url}
        revision = installation.call("GET", "/triggers/at-six")["revision"]
        installation.call("PUT", "/triggers/at-six", changed, **{"If-Match": f'"{revision}"'})
        page.get_by_role("button", name="Test the address of at-six").click()
        expect(card(page).get_by_role("status")).to_have_text("Delivered: the receiver answered with 204")
        assert json.loads(receiver.got[0].body)["data"]["trigger"]["name"] == "at-six"
