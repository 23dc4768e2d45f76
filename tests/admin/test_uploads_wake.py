"""An upload wakes the robots that wait: one for each item that is new, and not more than a bound."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import httpx
import pytest
from calling import V1, Api

from bandmaster.admin.api.item_files import WOKEN_AT_ONCE
from bandmaster.items import waking
from waiting import wait_until

WAIT_SECONDS: Final = 20


@pytest.fixture
def root(api: Api) -> Generator[httpx.Client]:
    with api.client(api.token("root", "admin")) as client:
        for name in ("invoices", "others"):
            assert client.post(f"{V1}/queues", json={"name": name}).status_code == 201
        yield client


def upload(root: httpx.Client, count: int, key: str, *, queue: str = "invoices") -> dict[str, Any]:
    content = "".join(json.dumps({"payload": number}) + "\n" for number in range(count))
    headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": key}
    answer = root.post(f"{V1}/queues/{queue}/items/upload", content=content, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


@contextmanager
def hearing(api: Api) -> Generator[Any]:
    """What is told to all API processes."""
    scripts = api.queue.scripts
    with scripts.client.pubsub(ignore_subscribe_messages=True) as heard:
        heard.subscribe(scripts.keys.items_channel)
        heard.get_message(timeout=60)
        yield heard


def told_until(heard: Any, queue_id: int) -> list[int]:
    """The ids of the queues that are told before that one, which is told last."""
    told = list[int]()
    while not told or told[-1] != queue_id:
        message = heard.get_message(timeout=60)
        assert message is not None
        told.append(int(message["data"]))
    return told[:-1]


def test_a_robot_that_waits_is_woken_by_an_upload(
    api: Api, root: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So nobody looks by itself before the wait is over.
    monkeypatch.setattr(waking, "LOOK_SECONDS", WAIT_SECONDS + 10)
    found = list[Any]()

    def wait() -> None:
        wanted = {"queue_name": "invoices", "wait_seconds": WAIT_SECONDS}
        with api.client(api.token("desk-7", "robot")) as robot:
            answer = robot.post(f"{V1}/queue-items/next", json=wanted)
            found.extend(each["payload"] for each in answer.json()["items"])

    waiting = threading.Thread(target=wait)
    waiting.start()
    scripts = api.queue.scripts
    wait_until(lambda: scripts.client.pubsub_numsub(scripts.keys.items_channel)[0][1], what="a robot in the line")
    upload(root, 1, "k")
    waiting.join(60)
    assert found == [0]


def test_all_processes_are_told_of_each_new_item_up_to_a_bound(api: Api, root: httpx.Client) -> None:
    ids = {each["name"]: each["id"] for each in root.get(f"{V1}/queues").json()["queues"]}
    with hearing(api) as heard:
        for count, key, new, told in (
            (3, "a", 3, 3),
            (3, "a", 0, 0),
            (5, "a", 2, 2),
            (WOKEN_AT_ONCE + 5, "b", WOKEN_AT_ONCE + 5, WOKEN_AT_ONCE),
        ):
            report = upload(root, count, key)
            assert report["added"] - report["known"] == new
            upload(root, 1, f"after {count} {key} {new}", queue="others")
            assert told_until(heard, ids["others"]) == [ids["invoices"]] * told
