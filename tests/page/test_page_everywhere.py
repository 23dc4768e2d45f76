"""What holds in every view: hostile text, the keyboard, a restart, one stream, few questions, and who sees badly."""

from itertools import count, pairwise
from typing import Final

import pytest
from playwright.sync_api import Page, expect

from bandmaster.ledger.database import Database
from bandmaster.ledger.schema.upgrading import upgrade
from page.accessible import wrong_for_some
from page.letters import make_dead
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


def test_what_users_write_stays_text(look: Look, installation: Installation) -> None:
    execution_id = installation.submit(
        "sh", "-c", f'echo "{HOSTILE}"', metadata={"labels": {"note": HOSTILE}}, user_id="mallory"
    )
    installation.listed(execution_id, "COMPLETED")
    waits = installation.submit("true", gates=["tenant:closed-for-good"], scheduled_at="2099-01-01T00:00:00Z")
    installation.call("POST", f"/executions/{waits}/cancel", {"reason": HOSTILE})
    installation.listed(waits, "CANCELLED")
    page = look.signed_in(installation.admin, f"executions/{execution_id}")
    expect(page.get_by_role("log")).to_contain_text(HOSTILE)
    expect(page.locator(".pairs")).to_contain_text(HOSTILE)
    look.go(page, f"executions/{waits}")
    expect(page.get_by_role("main")).to_contain_text(HOSTILE)
    look.go(page, "executions")
    expect(page.get_by_role("main")).to_contain_text(HOSTILE)
    look.go(page, "audit")
    expect(page.get_by_role("main")).to_contain_text(waits)
    look.go(page, f"executions?text={HOSTILE}")
    expect(page.get_by_role("searchbox").first).to_have_value(HOSTILE)
    assert page.locator("#page img").count() == 0
    assert page.title() == "Executions – Bandmaster"


def test_the_keyboard_moves_opens_and_helps(look: Look, installation: Installation) -> None:
    ids = [installation.submit("true", action="keyed") for _ in range(3)]
    for each in ids:
        installation.listed(each, "COMPLETED")
    page = look.signed_in(installation.admin, "executions?action=keyed")
    expect(page.locator("tr[data-row]")).to_have_count(3)
    page.keyboard.press("j")
    expect(page.get_by_role("link", name=ids[2])).to_be_focused()
    page.keyboard.press("j")
    expect(page.get_by_role("link", name=ids[1])).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text(ids[2])
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("search executions")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("s")
    expect(page.locator("h1")).to_have_text("Settings")
    page.keyboard.press("/")
    expect(page.locator("h1")).to_have_text("Executions")
    expect(page.get_by_role("searchbox").first).to_be_focused()


def test_it_survives_a_restart_of_the_api_and_is_right_afterwards(look: Look, installation: Installation) -> None:
    held = installation.submit("sh", "-c", f"echo before; {HOLDS}; echo after")
    page = look.signed_in(installation.admin, f"executions/{held}")
    expect(page.get_by_role("log")).to_contain_text("before")
    expect(page.locator(".live")).to_have_text("Live")
    pod = installation.call("GET", f"/executions/{held}")["pod"]
    installation.stop_api()
    expect(page.locator(".live")).to_have_text("Connecting")
    expect(page.get_by_role("alert").first).to_contain_text("unreachable")
    (installation.folder / "var" / "pods" / pod / "work" / "go").touch()
    installation.start_api()
    expect(page.locator(".heading")).to_contain_text("completed")
    expect(page.get_by_role("log")).to_have_text("before\nafter\n")
    expect(page.locator(".live")).to_have_text("Live")
    expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.nightly
def test_without_a_ledger_it_lists_what_runs_and_waits(look: Look, installation: Installation) -> None:
    running = installation.submit("sh", "-c", HOLDS)
    wait_until(lambda: installation.state(running) == "POD", what="its start")
    with installation.with_ledger("nowhere/ledger.sqlite3") as other:
        page = look.signed_in(other.admin, "executions", of=other)
        expect(page.get_by_role("alert").first).to_contain_text("ledger_unavailable")
        expect(page.get_by_role("link", name=running)).to_be_visible()
        look.go(page, f"executions/{running}", of=other)
        page.get_by_role("button", name="Cancel…").click()
        page.get_by_role("button", name="Cancel it").click()
        wait_until(lambda: installation.state(running) == "CANCELLED", what="its end")
        page.context.close()


@pytest.mark.nightly
def test_a_history_that_nobody_writes_says_so(look: Look, installation: Installation) -> None:
    upgrade(Database(f"sqlite:///{installation.folder / 'unwritten.sqlite3'}"))
    with installation.with_ledger("unwritten.sqlite3") as other:
        page = look.signed_in(other.admin, "executions", of=other)
        expect(page.get_by_role("alert").first).to_contain_text("Nobody writes the history.")
        page.context.close()
    page = look.signed_in(installation.admin, "executions")
    installation.submit("true")
    expect(page.get_by_role("table")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_all_tabs_of_a_browser_share_one_stream(look: Look, installation: Installation) -> None:
    page = look.signed_in(installation.admin, "now")
    streams = list[str]()
    page.context.on("request", lambda request: streams.append(request.url) if request.url.endswith("/events") else None)
    second = page.context.new_page()
    second.goto(installation.url)
    for each in (page, second):
        expect(each.locator(".live")).to_have_text("Live")
    # What the shared worker asks for is no request of a page.
    assert streams == []
    alone = page.context.new_page()
    alone.add_init_script("delete window.SharedWorker")
    alone.goto(installation.url)
    expect(alone.locator(".live")).to_have_text("Live")
    assert len(streams) == 1


@pytest.mark.nightly
def test_however_much_happens_the_page_asks_twice_a_second_at_most(look: Look, installation: Installation) -> None:
    installation.submit("true", execution_id="burst")
    page = look.signed_in(installation.admin, "executions")
    expect(page.locator("tr[data-row]").first).to_be_visible()
    page.evaluate("performance.clearResourceTimings()")
    numbers = count()

    def asked() -> list[float]:
        return page.evaluate(
            """performance.getEntriesByType("resource").filter((each) => each.name.includes("/executions/?"))
               .map((each) => each.startTime)"""
        )

    def has_asked_often() -> bool:
        installation.submit("true", execution_id=f"burst-{next(numbers):03}")
        return len(asked()) > 3

    wait_until(has_asked_often, what="the page's questions")
    assert min(later - earlier for earlier, later in pairwise(asked())) >= 450


@pytest.mark.nightly
def test_axe_finds_nothing_in_any_view_light_or_dark(look: Look, installation: Installation) -> None:
    make_dead(installation, "dead-for-axe")
    held = installation.submit("sh", "-c", rf"printf '\033[31mred\033[0m\n'; {HOLDS}", action="held")
    queue_id = installation.call("POST", "/queues", {"name": "seen"})["id"]
    of_trigger = {"type": "QUEUE", "queue_id": queue_id, "command": ["true"], "action": "see", "enabled": False}
    installation.call("POST", "/triggers", {"name": "seen", **of_trigger})
    item = installation.call("POST", "/queue-items", {"queue_name": "seen", "payload": {"number": 1}})["id"]
    page = look.at()
    expect(page.get_by_label("Token")).to_be_visible()
    assert wrong_for_some(page) == []
    page.get_by_label("Token").fill(installation.admin)
    page.get_by_role("button", name="Sign in").click()
    page.locator("h1").wait_for()
    for view, shown in (
        ("now", ".figure"),
        ("executions", "tr[data-row]"),
        ("executions?text=nothing-begins-so", ".empty"),
        (f"executions/{held}", ".log .ansi-ink-1"),
        ("executions/unknown", ".trouble"),
        ("actions", "tr[data-row]"),
        ("dead", "tr[data-row]"),
        ("schedules", "form"),
        ("queues", "tr[data-row='seen']"),
        ("queues/seen", "tr[data-row]"),
        (f"queues/seen/{item}", ".code"),
        ("triggers/seen", ".figures"),
        ("settings", "tr[data-row]"),
        ("audit", "tr[data-row]"),
        ("tokens", "form"),
    ):
        look.go(page, view)
        page.locator(shown).first.wait_for()
        assert wrong_for_some(page) == [], view
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    assert wrong_for_some(page) == []
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 390, "height": 844})
    look.go(page, "executions")
    page.locator("tr[data-row]").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert wrong_for_some(page) == []
    installation.call("POST", f"/executions/{held}/cancel")
    installation.call("DELETE", "/executions/dead-for-axe/dead")
