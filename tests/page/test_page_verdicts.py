"""Now says in words what the API says is to be looked at, the worst first, and of an action why it waits."""

import re

import pytest
import redis
from playwright.sync_api import expect

from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.queue import ExecutionQueueService
from page.looking import Look
from page.served_page import Installation

pytestmark = pytest.mark.slow


def test_now_tells_of_a_full_queue_and_of_an_action_that_its_limit_holds_back(
    look: Look, installation: Installation
) -> None:
    with redis.Redis.from_url(f"unix://{installation.folder}/var/redis/redis.sock") as client:
        queue = ExecutionQueueService(client, lane="jammed")
        queue.controls.set_limit("action:jam", 0)
        queue.controls.change_setting("max_queue_size", 2)
        for number in range(2):
            queue.transitions.park(Candidate(f"jam-{number}", "jammed", 2, "jam", message=b"x"))
        assert not queue.transitions.admit(("jammed",), 1).grants, "the gate is closed to them"
        began_ms = queue.views.server_time_ms() - 4 * 60_000 - 1_000  # nearly a minute before it is five
        client.zadd("exec_queue:action:jam:pending", {"jam-0": began_ms})
        page = look.signed_in(installation.admin)
        words = page.get_by_role("list", name="The state in words")
        full = "Lane jammed: 2 of 2 places are taken by what waits or is scheduled; it is full, and refuses"
        expect(words.locator("li.bad").filter(has_text=full)).to_be_visible()
        limited = "Action jam has waited for 4 min: limit 0 reached, 2 executions wait."
        expect(words.get_by_text(limited)).to_be_visible()
        expect(words.get_by_text(re.compile("Action jam: limit 0 reached"))).to_have_count(0)
        for number in range(2):
            queue.cancel(f"jam-{number}")
        expect(words.get_by_text(full)).to_have_count(0)
        queue.controls.set_limit("action:jam", None)
        queue.controls.change_setting("max_queue_size", None)
