"""Every view of the page, as somebody who may and as somebody who may not; by keyboard; accessible, light and dark."""

import re
from typing import Final

import pytest
from playwright.sync_api import Page, expect

from page.letters import LANE, make_dead
from page.looking import Look
from page.served_page import Installation
from waiting import wait_until

pytestmark = pytest.mark.slow

HOSTILE: Final = "<img src=x onerror=document.title='stolen'>"
VIEWS: Final = (
    *("Now", "Executions", "Actions and users", "Dead letters", "Schedules"),
    *("Queues and triggers", "Settings", "Audit", "Tokens"),
)
HOLDS: Final = "until [ -e go ]; do sleep 0.05; done"


def seen(page: Page) -> list[str]:
    return page.get_by_role("navigation", name="Views").get_by_role("link").all_inner_texts()


@pytest.mark.nightly
def test_lists_are_filtered_by_the_address_and_turned_both_ways(look: Look, installation: Installation) -> None:
    for number in range(55):
        installation.submit("true", action="many", execution_id=f"many-{number:02}", user_id="lister")
    wait_until(lambda: installation.call("GET", "/executions/?action=many&total=true")["total"] == 55, what="all 55")
    page = look.signed_in(installation.admin, "executions?action=many")
    rows = page.locator("tr[data-row]")
    expect(rows).to_have_count(50)
    expect(rows.first).to_contain_text("many-54")
    page.get_by_role("button", name="Earlier →").click()
    expect(rows).to_have_count(5)
    expect(rows.last).to_contain_text("many-00")
    page.get_by_role("button", name="← Later").click()
    expect(rows).to_have_count(50)
    page.keyboard.press("/")
    page.keyboard.type("many-07")
    expect(rows).to_have_count(1)
    assert "text=many-07" in page.url
    page.reload()
    expect(rows).to_have_count(1)
    page.get_by_label("Priority").select_option("Critical")
    expect(page.get_by_role("main")).to_contain_text("None is like this")
    page.get_by_role("button", name="Clear").click()
    expect(rows).to_have_count(50)
    later = installation.submit("true", execution_id="comes-later")
    expect(page.get_by_role("link", name=later)).to_be_visible()


@pytest.mark.nightly
def test_what_was_waited_for_is_summed_by_action_and_by_gate(look: Look, installation: Installation) -> None:
    installation.call("PUT", "/limits/tenant:slow", {"limit": 0})
    one = installation.submit("true", action="summed", gates=["tenant:slow"], user_id="waiter")
    wait_until(lambda: installation.state(one) == "PENDING", what="one that waits")
    installation.call("DELETE", "/limits/tenant:slow")

    def is_summed() -> bool:
        return any(each["name"] == "summed" for each in installation.call("GET", "/waits")["sums"])

    wait_until(is_summed, what="sums of its wait")
    page = look.signed_in(installation.admin, "actions")
    row = page.locator("tr[data-row='waited:summed']")
    expect(row).to_contain_text(re.compile(r"\d m?s behind tenant:slow"))
    page.get_by_label("Summed by").select_option("Gate")
    expect(page.locator("tr[data-row='waited:tenant:slow']")).to_contain_text("for a full gate")
    expect(row).to_have_count(0)
    page.get_by_label("Ended in the").select_option("last week")
    expect(page.locator("tr[data-row='waited:tenant:slow']")).to_be_visible()


def test_what_waits_says_why_and_is_moved_and_many_are_cancelled(look: Look, installation: Installation) -> None:
    installation.call("PUT", "/limits/tenant:shut", {"limit": 0})
    ids = [installation.submit("true", gates=["tenant:shut"], user_id="waiter") for _ in range(3)]
    page = look.signed_in(installation.admin, f"executions/{ids[0]}")
    expect(page.locator(".card.waits")).to_contain_text("tenant:shut")
    expect(page.locator(".card.waited")).to_contain_text(re.compile(r"\d m?s behind tenant:shut, whose limit was 0"))
    page.get_by_role("button", name="Priority…").click()
    page.get_by_role("dialog").get_by_label("Priority").select_option("Critical")
    page.get_by_role("button", name="Move it").click()
    expect(page.locator(".heading")).to_contain_text("Critical")
    look.go(page, "now")
    expect(page.get_by_role("main")).to_contain_text(re.compile(r"Tenant shut: limit 0 reached, \d executions? wait"))
    look.go(page, "executions?user=waiter&status=PENDING")
    page.get_by_role("button", name="Cancel all of these…").click()
    expect(page.get_by_role("dialog")).to_contain_text("3 executions")
    page.get_by_role("button", name="Cancel them").click()
    expect(page.locator(".said")).to_contain_text("3 executions changed")
    for each in ids:
        assert installation.state(each) == "CANCELLED"


def test_limits_and_pauses_are_changed_in_place(look: Look, installation: Installation) -> None:
    installation.submit("true", action="paced", user_id="pacer")
    page = look.signed_in(installation.admin, "actions")
    row = page.locator("tr[data-row='action:paced']")
    row.get_by_role("button", name="Limit of").click()
    row.get_by_role("textbox").fill("7")
    row.get_by_role("button", name="Set").click()
    expect(row.get_by_role("button", name="Limit of action:paced: 7")).to_be_visible()
    assert installation.call("GET", "/limits/action:paced")["limit"] == 7
    row.get_by_role("button", name="Limit of").click()
    row.get_by_role("textbox").fill("auto(2,9)")
    row.get_by_role("button", name="Set").click()
    expect(row.get_by_role("button", name="Limit of action:paced: auto(2,9), now 7")).to_be_visible()
    row.get_by_role("button", name="Limit of").click()
    row.get_by_role("button", name="Lift").click()
    expect(row.get_by_role("button", name="Limit of action:paced: none")).to_be_visible()
    row.get_by_role("button", name="Pause action:paced").click()
    expect(row).to_contain_text("paused")
    assert "action:paced" in installation.call("GET", "/pauses")["paused"]
    row.get_by_role("button", name="Resume action:paced").click()
    expect(row.get_by_role("button", name="Pause action:paced")).to_be_visible()
    page.get_by_label("Gate, or kind").fill("licence:*")
    page.get_by_label("Limit", exact=True).fill("2")
    page.get_by_role("button", name="Set them").click()
    expect(page.locator("tr", has_text="licence:*")).to_contain_text("2")
    look.go(page, "audit?subject=action:paced")
    expect(page.locator("tr[data-row]")).to_have_count(5)
    installation.call("DELETE", "/limits/licence:*")


def test_rates_are_changed_in_place_and_now_says_when_one_opens_its_gate(
    look: Look, installation: Installation
) -> None:
    installation.call("PUT", "/weights/tenant:slowly", {"weight": 10})
    page = look.signed_in(installation.admin, "actions")
    page.get_by_label("Gate, or kind").fill("tenant:slowly")
    page.get_by_label("Rate", exact=True).fill("5/s burst 3")
    page.get_by_role("button", name="Set them").click()
    row = page.locator("tr[data-row='tenant:slowly']")
    row.get_by_role("button", name="Weight of tenant:slowly: 10").click()
    row.get_by_role("spinbutton").fill("20")
    row.get_by_role("button", name="Set").click()
    expect(row.get_by_role("button", name="Weight of tenant:slowly: 20")).to_be_visible()
    assert installation.call("GET", "/weights/tenant:slowly")["weight"] == 20
    row.get_by_role("button", name="Rate of tenant:slowly: 5/s burst 3").click()
    row.get_by_role("textbox").fill("1/h")
    row.get_by_role("button", name="Set").click()
    expect(row.get_by_role("button", name="Rate of tenant:slowly: 1/h")).to_be_visible()
    assert installation.call("GET", "/rates/tenant:slowly")["rate"] == "1/h"
    ids = [installation.submit("true", gates=["tenant:slowly"], user_id="pacer", action="paced") for _ in range(2)]
    expect(row).to_contain_text(re.compile(r"opens in 59 min|opens in 1 h"))
    look.go(page, "now")
    words = re.compile(
        r"Tenant slowly: rate 1/h reached, 1 execution waits for it; the next one may start in (59 min|1 h)\."
    )
    expect(page.get_by_role("list", name="The state in words")).to_contain_text(words)
    expect(page.get_by_role("region", name="Gates").locator("tr", has_text="tenant:slowly")).to_contain_text("opens in")
    reader = look.signed_in(installation.token("pacer", "read"), "actions")
    expect(reader.locator("tr[data-row='action:paced']")).to_be_visible()
    expect(reader.get_by_role("button", name="Rate of")).to_have_count(0)
    look.go(page, "actions")
    row.get_by_role("button", name="Rate of tenant:slowly").click()
    row.get_by_role("button", name="Lift").click()
    expect(row.get_by_role("button", name="Rate of tenant:slowly: none")).to_be_visible()
    wait_until(lambda: all(installation.state(each) == "COMPLETED" for each in ids), what="the end of both")
    row.get_by_role("button", name="Weight of tenant:slowly").click()
    row.get_by_role("button", name="Lift").click()
    expect(row).to_have_count(0)


@pytest.mark.nightly
def test_a_lane_is_made_fair_and_strict_again(look: Look, installation: Installation) -> None:
    page = look.signed_in(installation.admin, "settings")
    page.get_by_role("button", name="Order of lane executions: strict").click()
    page.get_by_label("Order of lane executions").fill("tenant")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.get_by_role("button", name="Order of lane executions: fair by tenant")).to_be_visible()
    assert installation.call("GET", "/shares/executions")["kind"] == "tenant"
    page.get_by_role("button", name="Order of lane executions").click()
    page.get_by_role("button", name="Lift").click()
    expect(page.get_by_role("button", name="Order of lane executions: strict")).to_be_visible()


@pytest.mark.nightly
def test_a_setting_that_somebody_else_changed_meanwhile_is_not_undone(look: Look, installation: Installation) -> None:
    page = look.signed_in(installation.admin, "settings")
    row = page.locator("tr", has=page.get_by_text("max_crashes", exact=True))
    row.get_by_role("button", name="max_crashes: 3").click()
    row.get_by_role("spinbutton").fill("4")
    row.get_by_role("button", name="Set").click()
    expect(row.get_by_role("button", name="max_crashes: 4")).to_be_visible()
    row.get_by_role("button", name="max_crashes").click()
    row.get_by_role("spinbutton").fill("6")
    token = installation.token("other", "admin")
    other = look.signed_in(token, "settings")
    theirs = other.locator("tr", has=other.get_by_text("max_crashes", exact=True))
    theirs.get_by_role("button", name="max_crashes: 4").click()
    theirs.get_by_role("button", name="Default").click()
    expect(theirs.get_by_role("button", name="max_crashes: 3")).to_be_visible()
    row.get_by_role("button", name="Set").click()
    expect(page.locator(".said")).to_contain_text("Somebody else changed it")
    assert installation.call("GET", "/settings/max_crashes")["value"] == 3


def test_dead_letters_run_again_after_a_dry_run(look: Look, installation: Installation) -> None:
    make_dead(installation, "dead-1", "dead-2", "dead-3")
    page = look.signed_in(installation.admin, "dead")
    expect(page.locator("tr[data-row]")).to_have_count(3)
    page.get_by_role("link", name="dead-3").click()
    page.get_by_role("button", name="Run again…").click()
    page.get_by_role("button", name="Run it again").click()
    expect(page.locator("h1")).not_to_have_text("dead-3")
    expect(page.locator(".heading")).to_contain_text("pending")
    look.go(page, "dead")
    page.get_by_label("Action").fill("fragile")
    page.get_by_role("button", name="Run all of these again…").click()
    expect(page.get_by_role("dialog")).to_contain_text("2 executions")
    page.get_by_role("button", name="Run them again").click()
    expect(page.locator(".said")).to_contain_text("2 executions changed")
    expect(page.get_by_role("main")).to_contain_text("There are none")
    look.go(page, "now")
    expect(page.get_by_role("main")).to_contain_text(f"No worker asks for lane {LANE}")


@pytest.mark.nightly
def test_a_token_is_shown_once_signs_in_and_is_revoked(look: Look, installation: Installation) -> None:
    page = look.signed_in(installation.admin, "tokens")
    page.get_by_label("Owner").fill("carol")
    page.get_by_label("Scope").select_option("read")
    page.get_by_role("button", name="Make token").click()
    secret = page.locator("[data-secret]").inner_text()
    page.get_by_role("button", name="I have it").click()
    assert secret not in page.content()
    page.reload()
    expect(page.locator("tr", has_text="carol")).to_be_visible()
    assert secret not in page.content()
    hers = look.signed_in(secret, "now")
    page.locator("tr", has_text="carol").get_by_role("button", name="Revoke").click()
    page.get_by_role("button", name="Revoke it").click()
    expect(page.locator("tr", has_text="carol")).to_contain_text("revoked")
    expect(hers.get_by_label("Token")).to_be_visible()
    expect(hers.get_by_role("main")).to_contain_text("You were signed out")


@pytest.mark.nightly
def test_who_lacks_a_scope_does_not_see_its_buttons(look: Look, installation: Installation) -> None:
    installation.call("PUT", "/limits/tenant:closed", {"limit": 0})
    anns = installation.submit("echo", "secret-of-ann", gates=["tenant:closed"], user_id="ann")
    bobs = installation.submit("true", gates=["tenant:closed"], user_id="bob")
    installation.listed(anns, "PENDING")
    installation.listed(bobs, "PENDING")
    may = {
        "read": (VIEWS[:4], False, True),
        "submit": (VIEWS[:4], True, True),
        "operate": (VIEWS[:7], True, True),
        "admin": (VIEWS, True, True),
    }
    for scope, (views, changes, reads) in may.items():
        page = look.signed_in(installation.token("ann", scope), f"executions/{anns}")
        assert seen(page) == list(views), scope
        expect(page.locator(".heading")).to_contain_text("pending")
        expect(page.get_by_role("button", name="Cancel…")).to_have_count(int(changes))
        if reads:
            expect(page.get_by_role("main")).to_contain_text("secret-of-ann")
        look.go(page, f"executions/{bobs}")
        if scope in ("operate", "admin"):
            expect(page.get_by_role("button", name="Cancel…")).to_be_visible()
        else:
            expect(page.get_by_role("alert").first).to_contain_text("not_found")
            expect(page.get_by_role("button", name="Cancel…")).to_have_count(0)
        look.go(page, "actions")
        expect(page.locator("tr[data-row='action:pod']")).to_be_visible()
        expect(page.get_by_role("button", name="Pause everything")).to_have_count(int(scope in ("operate", "admin")))
        look.go(page, "executions")
        expect(page.get_by_role("link", name=anns)).to_be_visible()
        expect(page.get_by_role("link", name=bobs)).to_have_count(int(scope in ("operate", "admin")))
        page.close()


@pytest.mark.nightly
def test_moving_offers_what_the_token_may_ask_for(look: Look, installation: Installation) -> None:
    waits = installation.submit("true", scheduled_at="2099-01-01T00:00:00Z")
    for scope, offered in (("operate", 3), ("admin", 5)):
        page = look.signed_in(installation.token("oper", scope), f"executions/{waits}")
        page.get_by_role("button", name="Priority…").click()
        expect(page.get_by_role("dialog").locator("option")).to_have_count(offered)
        page.close()


def test_an_operator_does_not_see_what_others_run(look: Look, installation: Installation) -> None:
    anns = installation.submit("echo", "secret-of-ann", user_id="ann")
    page = look.signed_in(installation.token("oper", "operate"), f"executions/{anns}")
    expect(page.get_by_role("main")).to_contain_text("Shown to its owner and to admins")
    assert "secret-of-ann" not in page.content()
    look.go(page, "settings")
    expect(page.get_by_role("main")).to_contain_text("Changing one needs the scope admin")
    expect(page.locator("td").get_by_role("button")).to_have_count(0)
