"""The page's view of schedules: added, run, paused, resumed and removed."""

import pytest
from playwright.sync_api import expect

from page.looking import Look
from page.served_page import Installation

pytestmark = pytest.mark.slow


def test_a_schedule_is_added_run_paused_and_removed(look: Look, installation: Installation) -> None:
    page = look.signed_in(installation.admin, "schedules")
    for label, text in (
        ("Name", "paged"),
        ("Times", "0 0 1 1 *"),
        ("Time zone", "UTC"),
        ("Shell command", "echo paged"),
    ):
        page.get_by_label(label, exact=True).fill(text)
    page.get_by_role("button", name="Add schedule").click()
    row = page.locator("tr[data-row='paged']")
    expect(row).to_contain_text("0 0 1 1 *")
    expect(row).to_contain_text("sh -c echo paged")
    row.get_by_role("button", name="Pause paged").click()
    expect(row).to_contain_text("paused")
    assert installation.call("GET", "/schedules/paged")["paused"] is True
    row.get_by_role("button", name="Resume paged").click()
    expect(row.get_by_role("button", name="Pause paged")).to_be_visible()
    row.get_by_role("button", name="Run now: paged").click()
    expect(page.locator(".said")).to_contain_text("paged runs now")
    installation.listed("schedule:paged:run-", "COMPLETED")
    reader = look.signed_in(installation.token("ann", "operate"), "schedules")
    expect(reader.locator("tr[data-row='paged']")).to_contain_text("a program, as action")
    expect(reader.get_by_role("button", name="Remove paged")).to_have_count(0)
    row.get_by_role("button", name="Remove paged").click()
    page.get_by_role("button", name="Remove it").click()
    expect(row).to_have_count(0)


def test_a_line_that_is_none_is_told_and_adds_nothing(look: Look, installation: Installation) -> None:
    page = look.signed_in(installation.admin, "schedules")
    for label, text in (("Name", "wrong"), ("Times", "61 * * * *"), ("Time zone", "UTC"), ("Shell command", "true")):
        page.get_by_label(label, exact=True).fill(text)
    page.get_by_role("button", name="Add schedule").click()
    expect(page.locator(".said")).to_contain_text("wrong was not added")
    expect(page.locator(".said")).to_contain_text("61")
    expect(page.get_by_label("Times", exact=True)).to_have_value("61 * * * *")
    expect(page.locator("tr[data-row='wrong']")).to_have_count(0)
