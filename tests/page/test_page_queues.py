"""The page's views of queues, items and triggers: added, counted, tried again, postponed, edited, deleted, switched."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Page, expect

from page.looking import Look
from page.served_page import Installation

pytestmark = pytest.mark.slow


def button(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def failed_item(installation: Installation, queue: str) -> str:
    """An item that a robot got and failed for good."""
    added = installation.call("POST", "/queue-items", {"queue_name": queue, "payload": {"number": 17}})
    wanted = {"queue_name": queue, "robot_id": "r1"}
    (claimed,) = installation.call("POST", "/queue-items/next", wanted)["items"]
    said = {"status": "FAILED", "fence": claimed["fence"], "robot_id": "r1", "failure": "business"}
    installation.call("PUT", f"/queue-items/{added['id']}", said | {"error_message": "the amount is wrong"})
    return added["id"]


def test_a_queue_is_added_filled_and_stopped(look: Look, installation: Installation) -> None:
    page = look.signed_in(installation.admin, "queues")
    page.get_by_label("Name", exact=True).fill("paged")
    button(page, "Add queue")
    row = page.get_by_role("region", name="Queues").locator("tr[data-row='paged']")
    expect(row.locator("td[data-label='New']")).to_have_text("0")
    row.get_by_role("link", name="paged").click()
    page.get_by_label("Reference", exact=True).first.fill("R-1")
    page.get_by_label("Payload as JSON").fill("{wrong")
    button(page, "Add item")
    expect(page.locator(".said")).to_contain_text("the payload is no JSON")
    page.get_by_label("Payload as JSON").fill('{"invoice": 17}')
    button(page, "Add item")
    item = page.get_by_role("region", name="Items").locator("tr[data-row]")
    expect(item).to_contain_text("R-1")
    expect(item).to_contain_text("new")
    assert installation.call("GET", "/queues/paged/stats")["counts"]["NEW"] == 1
    button(page, "failed")
    expect(page.get_by_text("There is none like this.")).to_be_visible()
    button(page, "Stop paged")
    expect(page.get_by_text("inactive")).to_be_visible()
    assert installation.call("GET", "/queues/paged")["is_active"] is False
    look.go(page, "queues")
    expect(row.locator("td[data-label='New']")).to_have_text("1")


def test_an_item_is_edited_tried_again_postponed_and_deleted(look: Look, installation: Installation) -> None:
    installation.call("POST", "/queues", {"name": "worked"})
    item_id = failed_item(installation, "worked")
    page = look.signed_in(installation.admin, f"queues/worked/{item_id}")
    expect(page.get_by_role("main")).to_contain_text("the amount is wrong")
    expect(page.get_by_role("main")).to_contain_text("business")
    button(page, "Try again")
    expect(page.locator(".badge.item-NEW")).to_be_visible()
    button(page, "Edit")
    page.get_by_label("JSON").fill('{"number": 18}')
    button(page, "Save")
    expect(page.locator(".code")).to_contain_text("18")
    assert installation.call("GET", f"/queue-items/{item_id}")["payload"] == {"number": 18}
    page.get_by_role("button", name="Priority of the item: 0. Change it").click()
    page.get_by_label("Priority of the item").fill("7")
    button(page, "Set")
    expect(page.get_by_role("button", name="Priority of the item: 7. Change it")).to_be_visible()
    button(page, "Postpone…")
    button(page, "Postpone it")
    expect(page.locator(".badge.item-POSTPONED")).to_be_visible()
    button(page, "Delete…")
    button(page, "Delete it")
    expect(page.locator(".badge.item-DELETED")).to_be_visible()
    assert installation.call("GET", f"/queue-items/{item_id}")["status"] == "DELETED"


def drop(page: Page, name: str, content: str) -> None:
    """Drop a file where files are taken."""
    made = "([name, content]) => { const d = new DataTransfer(); d.items.add(new File([content], name)); return d; }"
    page.locator(".drop").dispatch_event("drop", {"dataTransfer": page.evaluate_handle(made, [name, content])})


def test_a_file_is_chosen_or_dropped_sent_and_told_of(look: Look, installation: Installation) -> None:
    installation.call("POST", "/queues", {"name": "filed"})
    page = look.signed_in(installation.admin, "queues/filed")
    refused = page.get_by_role("region", name="Refused lines")
    drop(page, "november.csv", 'reference,priority\nA,1\nB,"high"\nC,3\n')
    expect(refused.locator("tr[data-row='3']")).to_contain_text("priority")
    expect(refused.locator("tr[data-row]")).to_have_count(1)
    expect(page.get_by_role("alert")).to_contain_text("nothing was added")
    assert installation.call("GET", "/queues/filed/stats")["counts"]["NEW"] == 0
    page.get_by_label("Add each line that is right").check()
    drop(page, "november.csv", 'reference,priority\nA,1\nB,"high"\nC,3\n')
    expect(page.locator(".said")).to_contain_text("2 items of november.csv added")
    expect(refused.locator("tr[data-row='3']")).to_be_visible()
    expect(page.get_by_role("region", name="Items", exact=True).locator("tr[data-row]")).to_have_count(2)
    right: FilePayload = {"name": "more.jsonl", "mimeType": "", "buffer": b'{"reference": "D"}\n'}
    page.get_by_label("Choose a file").set_input_files([right])
    expect(page.locator(".said")).to_contain_text("1 item of more.jsonl added")
    expect(refused).to_have_count(0)
    with page.expect_download() as download:
        page.get_by_role("link", name="JSON Lines", exact=True).click()
    assert download.value.suggested_filename == "filed.jsonl"
    exported = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
    assert {json.loads(each)["reference"] for each in exported} == {"A", "C", "D"}


@pytest.mark.nightly
def test_how_much_of_a_file_was_sent_is_shown(look: Look, installation: Installation) -> None:
    installation.call("POST", "/queues", {"name": "slowly"})
    page = look.signed_in(installation.admin, "queues/slowly")
    network = page.context.new_cdp_session(page)
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 100_000}
    network.send("Network.enable")
    network.send("Network.emulateNetworkConditions", slow)
    drop(page, "long.jsonl", 2_000 * f'{{"payload": "{"x" * 500}"}}\n')
    progress = page.get_by_label("What was sent of the file")
    expect(progress).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("of long.jsonl are sent")
    page.wait_for_function("() => document.querySelector('progress')?.value > 0")
    expect(page.get_by_label("Choose a file")).to_be_disabled()
    network.send("Network.emulateNetworkConditions", slow | {"uploadThroughput": -1})
    expect(page.locator(".said")).to_contain_text("2,000 items of long.jsonl added")
    expect(progress).to_have_count(0)
    assert installation.call("GET", "/queues/slowly/stats")["counts"]["NEW"] == 2_000


@pytest.mark.nightly
def test_who_may_only_operate_changes_no_queue_and_sees_no_payload(look: Look, installation: Installation) -> None:
    installation.call("POST", "/queues", {"name": "withheld"})
    item_id = failed_item(installation, "withheld")
    page = look.signed_in(installation.token("ann", "operate"), "queues")
    expect(page.locator("tr[data-row='withheld']")).to_be_visible()
    expect(page.get_by_role("button", name="Stop withheld")).to_have_count(0)
    expect(page.get_by_role("button", name="Add queue")).to_have_count(0)
    look.go(page, "queues/withheld")
    expect(page.locator("tr[data-row]")).to_be_visible()
    expect(page.get_by_text("Items from a file")).to_have_count(0)
    look.go(page, f"queues/withheld/{item_id}")
    expect(page.get_by_text("Shown to admins.")).to_be_visible()
    expect(page.get_by_role("button", name="Try again")).to_be_visible()


@pytest.mark.nightly
def test_a_trigger_is_shown_disabled_and_deleted(look: Look, installation: Installation) -> None:
    queue_id = installation.call("POST", "/queues", {"name": "triggered"})["id"]
    new = {"name": "book", "type": "QUEUE", "queue_id": queue_id, "command": ["true"], "action": "book"}
    installation.call("POST", "/triggers", new)
    page = look.signed_in(installation.admin, "queues")
    row = page.get_by_role("region", name="Triggers").locator("tr[data-row='book']")
    expect(row).to_contain_text("each item")
    expect(row.locator("td[data-label='Live']")).to_have_text("0 of 1")
    expect(row.get_by_role("link", name="triggered")).to_be_visible()
    row.get_by_role("button", name="Disable book").click()
    expect(row).to_contain_text("disabled")
    assert installation.call("GET", "/triggers/book")["enabled"] is False
    row.get_by_role("link", name="book", exact=True).first.click()
    expect(page.get_by_role("heading", name="book")).to_be_visible()
    expect(page.locator(".heading")).to_contain_text("disabled")
    expect(page.locator(".figures")).to_contain_text("never")
    expect(page.get_by_role("link", name="Queues and triggers").first).to_have_attribute("aria-current", "page")
    button(page, "Enable book")
    expect(page.locator(".heading")).not_to_contain_text("disabled")
    look.go(page, "queues")
    row.get_by_role("button", name="Delete book").click()
    button(page, "Delete it")
    expect(row).to_have_count(0)
