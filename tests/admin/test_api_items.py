"""Queues and items over the API: added, handed out, settled, edited, listed."""

from typing import Any

import httpx
import pytest
from calling import V1, Api


def make_queue(client: httpx.Client, **fields: Any) -> dict[str, Any]:
    answer = client.post(f"{V1}/queues", json={"name": "invoices", **fields})
    assert answer.status_code == 201, answer.text
    return answer.json()


def add(client: httpx.Client, **fields: Any) -> dict[str, Any]:
    answer = client.post(f"{V1}/queue-items", json={"queue_name": "invoices", **fields})
    assert answer.status_code == 201, answer.text
    return answer.json()


def take(client: httpx.Client, **fields: Any) -> list[dict[str, Any]]:
    answer = client.post(f"{V1}/queue-items/next", json={"queue_name": "invoices", **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


def say(client: httpx.Client, item: dict[str, Any], status: str, **fields: Any) -> httpx.Response:
    return client.put(f"{V1}/queue-items/{item['id']}", json={"status": status, "fence": item["fence"], **fields})


def test_an_item_goes_from_its_queue_to_a_robot_and_ends(every_api: Api) -> None:
    with (
        every_api.client(every_api.token("root", "admin")) as root,
        every_api.client(every_api.token("desk-7", "robot")) as robot,
    ):
        queue = make_queue(root)
        added = add(root, payload={"invoice": 17}, reference="17", priority=3)
        assert (added["status"], added["queue_id"]) == ("NEW", queue["id"])
        (item,) = take(robot)
        assert (item["payload"], item["locked_by_robot_id"], item["fence"]) == ({"invoice": 17}, "desk-7", 1)
        assert take(robot) == []
        done = say(robot, item, "DONE", result={"booked": True})
        assert done.status_code == 200, done.text
        assert done.json()["status"] == "DONE"
        shown = root.get(f"{V1}/queue-items/{item['id']}").json()
        assert (shown["status"], shown["result"], shown["locked_by_robot_id"]) == ("DONE", {"booked": True}, "desk-7")
        stats = root.get(f"{V1}/queues/invoices/stats").json()
        assert stats["counts"] == {"NEW": 0, "IN_PROGRESS": 0, "POSTPONED": 0, "DONE": 1, "FAILED": 0, "ABANDONED": 0}


@pytest.mark.parametrize("prefix", ["/api", V1])
def test_robots_of_old_find_it_where_it_was(api: Api, prefix: str) -> None:
    with api.client(api.token("root", "admin")) as root, api.client(api.token("desk-7", "robot")) as robot:
        make_queue(root)
        assert robot.post(f"{prefix}/queue-items/add", json={"queue_name": "invoices"}).status_code == 201
        answer = robot.get(f"{prefix}/queue-items/next", params={"queue_name": "invoices"})
        assert answer.status_code == 200
        assert answer.json()["locked_by_robot_id"] == "desk-7"
        assert robot.get(f"{prefix}/queue-items/next", params={"queue_name": "invoices"}).status_code == 204
    with api.client(None) as nobody:
        assert nobody.get(f"{prefix}/queue-items/next", params={"queue_name": "invoices"}).status_code == 401
