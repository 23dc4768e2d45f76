"""The way through the page that everybody takes: sign in, see what runs, open one, read its output, cancel it."""

import httpx
import pytest
import redis
from playwright.sync_api import expect

from bandmaster.admin.auth.browser_sessions import BrowserSessions
from bandmaster.admin.auth.token_table import TokenTable
from bandmaster.admin.page.assets import FOLDER, Assets
from bandmaster.configs.api import ApiSettings
from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.asking import Asking
from bandmaster.scheduler.queue import ExecutionQueueService
from page.looking import Look
from page.served_page import V1, Installation
from waiting import wait_until

pytestmark = pytest.mark.slow

TALKS = r"printf '\033[32mhello\033[0m <b>bold</b>\n'; until [ -e go ]; do sleep 0.05; done"


def test_one_is_found_followed_and_cancelled(look: Look, installation: Installation) -> None:
    execution_id = installation.submit("sh", "-c", TALKS, user_id="ann")
    page = look.signed_in(installation.admin, "executions")
    page.get_by_role("link", name=execution_id).click()
    log = page.get_by_role("log")
    expect(log).to_contain_text("hello <b>bold</b>")
    expect(log.locator(".ansi-ink-2")).to_have_text("hello")
    expect(page.get_by_role("main")).to_contain_text("granted a slot")
    page.get_by_role("button", name="Cancel…").click()
    page.get_by_label("Why").fill("seen enough")
    page.get_by_role("button", name="Cancel it").click()
    expect(page.locator(".heading")).to_contain_text("cancelled")
    expect(page.get_by_role("button", name="Cancel…")).to_have_count(0)
    wait_until(lambda: installation.state(execution_id) == "CANCELLED", what="its end")


def test_a_wrong_token_signs_nobody_in_and_the_page_says_why(look: Look, installation: Installation) -> None:
    page = look.at()
    page.get_by_label("Token").fill("bm_x_y")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("unauthorized")
    page.get_by_label("Token").fill(installation.admin)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("navigation", name="Views")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Token")).to_have_value("")


def test_a_code_signs_in_once_and_is_never_kept(look: Look, installation: Installation) -> None:
    token = installation.call("POST", "/tokens", {"owner": "dora", "scopes": ["read"]})
    database = Database(f"sqlite:///{installation.folder}/var/ledger.sqlite3")
    table = TokenTable(Asking(database, queue="exec_queue"))
    hers = next(each for each in table.all() if each.token_id == token["token_id"])
    with redis.Redis.from_url(f"unix://{installation.folder}/var/redis/redis.sock") as client:
        code = BrowserSessions(ExecutionQueueService(client).scripts, ApiSettings()).new_code(hers)
    database.close()
    page = look.at(f"/#code={code.text}")
    expect(page.locator(".owner")).to_have_text("dora")
    assert code.text not in page.url
    assert code.text not in page.content()
    look.again(page, f"/#code={code.text}")
    expect(page.locator(".owner")).to_have_text("dora")
    assert code.text not in page.url
    expect(look.at(f"/#code={code.text}").get_by_role("alert")).to_contain_text("no such code")


@pytest.mark.nightly
def test_a_provider_is_offered_only_where_there_is_one(look: Look, installation: Installation) -> None:
    with_one, without = (Assets.read().documents[each].body.decode() for each in (True, False))
    assert httpx.get(installation.url).text == without
    page = look.at()
    expect(page.get_by_label("Token")).to_be_visible()
    expect(page.get_by_role("link")).to_have_count(0)
    page.route(f"{installation.url}/", lambda route: route.fulfill(body=with_one, content_type="text/html"))
    page.reload()
    expect(page.get_by_role("link", name="OpenID Connect")).to_have_attribute("href", f"{V1}/session/oidc")


def test_a_code_is_gone_from_the_address_at_once(look: Look) -> None:
    page = look.at("/#code=nobody-knows-it")
    expect(page.get_by_role("alert")).to_contain_text("no such code")
    assert "code" not in page.url
    page.go_back()
    assert "code" not in page.url


@pytest.mark.nightly
def test_a_code_that_can_be_none_leads_to_the_form_and_says_why(look: Look) -> None:
    page = look.at(f"/#code={'x' * 101}")
    expect(page.get_by_label("Token")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("code")


def test_what_a_browser_is_told_lets_nothing_foreign_in_and_is_kept_by_content(installation: Installation) -> None:
    document = httpx.get(installation.url)
    policy = document.headers["Content-Security-Policy"]
    assert "unsafe" not in policy
    for part in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"):
        assert part in policy
    assert document.headers["Cache-Control"] == "no-cache"
    again = httpx.get(installation.url, headers={"If-None-Match": document.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    files = [each.split('"')[0] for each in document.text.split('href="')[1:]]
    assert len(files) > 30
    with httpx.Client(base_url=installation.url) as client:
        for path in files:
            file = client.get(path)
            assert file.status_code == 200, path
            assert "immutable" in file.headers["Cache-Control"]
            assert file.headers["X-Content-Type-Options"] == "nosniff"
    other = files[0].replace(files[0].split("/")[2], "0" * 16)
    assert httpx.get(installation.url + other).json()["code"] == "not_found"
    assert httpx.get(f"{installation.url}/page/{files[0].split('/')[2]}/../../../pyproject.toml").status_code == 404
    assert httpx.get(f"{installation.url}{V1}/session").status_code == 401


def test_no_file_of_the_page_is_long_or_turns_text_into_html() -> None:
    for path in (*(FOLDER / "app").rglob("*.js"), *(FOLDER / "style").rglob("*.css")):
        text = path.read_text()
        assert len(text.splitlines()) <= 250, path
        for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
            assert way not in text, path
