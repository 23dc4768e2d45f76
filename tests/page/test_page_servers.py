"""Now shows the servers of an installation that has several, and says in words which one is away."""

import tempfile
from pathlib import Path

import pytest
from faults_server.own_server import OwnServer
from playwright.sync_api import expect

from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.server.connection import client_of
from page.looking import Look
from page.served_page import Installation

pytestmark = pytest.mark.nightly


def test_now_shows_each_server_and_says_which_one_is_away(look: Look, installation: Installation) -> None:
    with tempfile.TemporaryDirectory(prefix="bm-") as folder:
        low = OwnServer(Path(folder))
        low.start()
        with client_of(low.url) as client:
            queue = ExecutionQueueService(client)
            for number in range(3):
                queue.enqueue({"execution_id": f"low-{number}", "command": ["true"], "metadata": {"user_id": "ann"}})
            queue.close()
        try:
            with installation.api_with(BANDMASTER_SHARDS__LOW=low.url) as other:
                page = look.signed_in(installation.admin, of=other)
                servers = page.get_by_role("region", name="Servers")
                rows = servers.locator("tbody tr")
                expect(rows).to_have_count(2)
                expect(rows.nth(0)).to_contain_text("default")
                expect(rows.nth(0)).to_contain_text("this one")
                row = rows.nth(1)
                expect(row.locator("td").nth(1)).to_have_text("Low")
                expect(row.locator("td").nth(2)).to_have_text("3")
                expect(row).to_contain_text("answers; no scheduler leads it")
                low.kill()
                expect(row).to_contain_text("away")
                expect(row).to_contain_text("what waits there waits, and the others go on")
                expect(row.locator("td").nth(2)).to_have_text("–")
                expect(rows.nth(0)).to_contain_text("answers")
                low.start()
                expect(row.locator("td").nth(2)).to_have_text("3")
        finally:
            low.end()


def test_now_of_one_server_has_no_such_table(look: Look, installation: Installation) -> None:
    page = look.signed_in(installation.admin)
    with page.expect_response(lambda answer: answer.url.endswith("/api/v1/shards") and answer.ok):
        page.reload()
    assert len(installation.call("GET", "/shards")["shards"]) == 1
    expect(page.get_by_role("heading", name="Lanes")).to_be_visible()
    expect(page.get_by_role("region", name="Servers")).to_have_count(0)
