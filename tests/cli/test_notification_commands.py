"""Addresses of queues and triggers, and what was not delivered to them, with the real command."""

import json
from collections.abc import Iterator

import pytest
from cli.driving import Driver, driving
from receiver import SECRET, receiving

from bandmaster.client import verify_notification

pytestmark = pytest.mark.slow

QUEUE = "notifying-of-commands"
URL = "https://hooks.example/token"


@pytest.fixture(scope="module")
def beside() -> Iterator[Driver]:
    """Commands in a folder where nothing runs, with a queue."""
    with driving() as driver:
        driver.json("queue", "create", QUEUE)
        yield driver


def test_without_a_secret_an_address_is_refused_with_what_to_do(beside: Driver) -> None:
    for words in (
        ("queue", "create", "notifying-other", "--notify", URL),
        ("queue", "change", QUEUE, "--notify", URL),
        ("trigger", "create", "notifying", "--cron", "0 6 1 1 *", "--command", "true", "--notify", URL),
    ):
        refused = beside.run(*words)
        assert (refused.code, refused.out) == (2, ""), refused
        assert "notify.secret_file" in refused.err
    assert [each["name"] for each in beside.json("queue")["queues"]] == [QUEUE]


def test_an_address_is_set_shown_and_taken_away(beside: Driver) -> None:
    beside.environment["BANDMASTER_NOTIFY__SECRET"] = SECRET
    changed = beside.json("queue", "change", QUEUE, "--notify", URL)
    assert changed["queue"]["notify_url"] == URL
    assert beside.json("queue", "change", QUEUE, "--max-retries", "3")["queue"]["notify_url"] == URL
    assert beside.json("queue", "change", QUEUE, "--notify", "")["queue"]["notify_url"] is None
    private = beside.run("queue", "change", QUEUE, "--notify", "http://127.0.0.1/")
    assert (private.code, "notify.private_networks" in private.err) == (2, True)
    line = ("--cron", "0 6 1 1 *", "--command", "true", "--notify", URL)
    assert beside.json("trigger", "create", "notifying", *line)["trigger"]["notify_url"] == URL
    assert beside.json("trigger", "change", "notifying", "--notify", "")["trigger"]["notify_url"] is None


def test_what_was_not_delivered_is_listed(beside: Driver) -> None:
    assert beside.run("notifications").out == "0 wait, 0 were given up\n"
    listed = beside.json("notifications", "--queue", QUEUE)
    assert (listed["waiting"], listed["failed"], listed["notifications"]) == (0, 0, [])
    assert set(listed) == {"waiting", "failed", "notifications", "source", "as_of"}
    both = beside.run("notifications", "--queue", QUEUE, "--trigger", "notifying")
    assert (both.code, both.out) == (2, "")


def test_a_test_is_delivered_and_says_what_the_receiver_answered_with(driver: Driver) -> None:
    with receiving(204, 503, 204) as receiver:
        driver.json("queue", "create", "tried", "--notify", receiver.url)
        line = ("--cron", "0 6 1 1 *", "--command", "true", "--notify", receiver.url)
        driver.json("trigger", "create", "tried", *line)
        try:
            delivered = driver.run("queue", "test-notify", "tried")
            assert (delivered.code, delivered.out) == (0, "delivered: the receiver answered with 204\n"), delivered
            refused = driver.run("trigger", "test-notify", "tried")
            assert (refused.code, refused.out) == (1, "")
            assert refused.err == "bandmaster: not delivered: it answered with 503\n"
            told = driver.json("trigger", "test-notify", "tried")["notification"]
            # Programs read these names: another one may come, and none goes.
            assert set(told) >= {
                *("id", "subject", "name", "event", "state", "item_id", "created_at", "attempts"),
                *("again_at", "sent_at", "failed_at", "last_problem", "last_status"),
            }
            assert (told["subject"], told["event"], told["state"], told["last_status"]) == (
                *("trigger", "test", "sent"),
                204,
            )
        finally:
            driver.run("trigger", "delete", "tried")
            driver.run("queue", "delete", "tried", "--force", "--yes")
    for got in receiver.got:
        verify_notification(got.headers, got.body, SECRET)
        assert json.loads(got.body)["type"] == "test"


def test_where_nobody_delivers_it_says_what_is_missing(beside: Driver) -> None:
    beside.environment["BANDMASTER_NOTIFY__SECRET"] = SECRET
    refused = beside.run("queue", "test-notify", QUEUE)
    assert (refused.code, "`bandmaster queue change" in refused.err) == (2, True)
    beside.json("queue", "change", QUEUE, "--notify", URL)
    late = beside.run("queue", "test-notify", QUEUE, "--wait", "1", "--json")
    assert (late.code, late.json["notification"]["state"]) == (1, "waiting")
    assert "not delivered after 1 s: does `python -m bandmaster.ledger` run" in late.err
    assert beside.run("notifications").out == "0 wait, 0 were given up\n"
    beside.json("queue", "change", QUEUE, "--notify", "")
    assert beside.run("queue", "test-notify", "nobodys").code == 3
