"""What the token of a trigger's execution opens: its items until its end, and nothing else."""

from typing import Any

import httpx
import pytest
import redis
from calling import ITEM_KEYS, V1, Api, api_with
from firing import Firing

from bandmaster.admin.api.item_requests import NewQueue
from bandmaster.ledger.schema.tables import metadata
from bandmaster.scheduler.model.item_tokens import item_token
from bandmaster.scheduler.model.states import State


def say(client: httpx.Client, item: dict[str, Any], status: str, **fields: Any) -> httpx.Response:
    return client.put(f"{V1}/queue-items/{item['id']}", json={"status": status, "fence": item["fence"], **fields})


def held(client: httpx.Client, item: dict[str, Any]) -> httpx.Response:
    return client.get(f"{V1}/queue-items/{item['id']}/held")


def code_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_a_program_reads_its_items_and_says_what_came_of_them(every_api: Api) -> None:
    firing = Firing(every_api)
    file = firing.fire({"number": 1}, {"number": 2})
    first, second = file["items"]
    assert (file["api_url"], first["payload"]) == (every_api.url, {"number": 1})
    with every_api.client(file["token"]) as program, every_api.client(every_api.token("root", "admin")) as root:
        read = held(program, first).json()
        assert (read["payload"], read["fence"]) == ({"number": 1}, first["fence"])
        assert say(program, first, "IN_PROGRESS", progress="at page 3").status_code == 200
        assert root.get(f"{V1}/queue-items/{first['id']}").json()["progress"] == "at page 3"
        assert say(program, first, "DONE", result={"booked": True}).status_code == 200
        # Its answer was lost, and it comes again.
        assert say(program, first, "DONE", result={"booked": True}).json()["status"] == "DONE"
        assert code_of(held(program, first)) == (409, "lease_lost")
        assert say(program, second, "FAILED", error_message="no such customer", failure="business").status_code == 200
        firing.end(file["execution_id"])
        shown = [root.get(f"{V1}/queue-items/{each['id']}").json() for each in (first, second)]
    assert [(each["status"], each["result"], each["error_message"]) for each in shown] == [
        ("DONE", {"booked": True}, None),
        ("FAILED", None, "no such customer"),
    ]


def test_items_of_others_are_as_if_there_were_none(every_api: Api) -> None:
    firing = Firing(every_api)
    file, other = firing.fire(1, 2), firing.fire(3, 4)
    settings = NewQueue(name="others").model_dump()
    of_no_trigger = every_api.services.items.queues.create(by="a test", **settings)
    alone = every_api.services.items.adding.add(of_no_trigger, by="a test", payload=5)
    waiting = {"id": alone.item_id, "fence": 0}
    with every_api.client(file["token"]) as program:
        for item in (*other["items"], waiting, {"id": "none", "fence": 1}):
            for answer in (held(program, item), say(program, item, "DONE"), say(program, item, "IN_PROGRESS")):
                assert code_of(answer) == (404, "not_found")
        asked = {"status": "DONE", "robot_id": other["execution_id"]}
        as_another = program.put(f"{V1}/queue-items/{other['items'][0]['id']}", json=asked)
        assert code_of(as_another) == (403, "forbidden")
    with every_api.client(other["token"]) as program:
        assert [held(program, item).json()["payload"] for item in other["items"]] == [3, 4]


@pytest.mark.parametrize("state", [State.COMPLETED, State.FAILED, State.CANCELLED])
def test_it_ends_with_its_execution(every_api: Api, state: State) -> None:
    firing = Firing(every_api)
    file = firing.fire(1)
    (item,) = file["items"]
    with every_api.client(file["token"]) as program:
        assert held(program, item).status_code == 200
        firing.end(file["execution_id"], state)
        for answer in (held(program, item), say(program, item, "DONE")):
            assert code_of(answer) == (401, "unauthorized")
    # Another execution that gets the item has another token.
    if state is State.CANCELLED:
        again = firing.fire()
        assert again["token"] != file["token"]
        with every_api.client(file["token"]) as program:
            assert code_of(say(program, again["items"][0], "DONE")) == (401, "unauthorized")


def test_what_nobody_made_with_the_key_opens_nothing(every_api: Api) -> None:
    firing = Firing(every_api)
    file, other = firing.fire(1, 2), firing.fire(3)
    text, execution_id = file["token"], file["execution_id"]
    token_id = text[len("bm_") : -len("_") - 43]
    unfired = item_token(ITEM_KEYS[0], execution_id.replace("trigger:", "trigger:9"))
    forged = [
        text[:-1] + ("A" if text[-1] != "A" else "B"),
        f"bm_{token_id}_{other['token'][-43:]}",
        f"{text[:-43]}{'A' * 43}",
        item_token(b"another key, of somebody else's", execution_id),
        unfired,
        text.replace("items.", "items.."),
    ]
    with every_api.client(text) as program:
        assert held(program, file["items"][0]).status_code == 200
    for each in forged:
        with every_api.client(each) as program:
            assert code_of(held(program, file["items"][0])) == (401, "unauthorized"), each


def test_it_opens_no_other_route_and_no_session(api: Api) -> None:
    firing = Firing(api)
    file = firing.fire(1)
    with api.client(file["token"]) as program:
        for method, path, body in (
            ("POST", "queue-items/next", {"queue_name": "invoices"}),
            ("GET", "queue-items/next?queue_name=invoices", None),
            ("POST", "queue-items/add", {"queue_name": "invoices"}),
            ("POST", "queue-items", {"queue_name": "invoices"}),
            ("GET", "queue-items", None),
            ("GET", f"queue-items/{file['items'][0]['id']}", None),
            ("GET", f"executions/{file['execution_id']}", None),
            ("POST", "executions/", {"command": ["true"]}),
            ("GET", "whoami", None),
            ("GET", "queues", None),
        ):
            assert code_of(program.request(method, f"{V1}/{path}", json=body)) == (403, "forbidden"), path
    with api.client(None) as nobody:
        assert code_of(nobody.post(f"{V1}/session", json={"token": file["token"]})) == (403, "forbidden")


def test_an_attempt_that_is_made_again_gets_the_same_token(api: Api) -> None:
    firing = Firing(api)
    file = firing.fire(1)
    api.queue.try_schedule()
    assert firing.handed(file["execution_id"]) == file
    with api.client(firing.handed(file["execution_id"])["token"]) as program:
        assert held(program, file["items"][0]).status_code == 200


def test_programs_that_are_known_by_their_key_are_no_failed_logins(api: Api) -> None:
    firing = Firing(api)
    file = firing.fire(1)
    with api_with(api, failed_logins_per_minute=1) as bounded, bounded.client(file["token"]) as program:
        assert [held(program, file["items"][0]).status_code for _ in range(5)] == [200] * 5
        # Nor are those whose execution has ended: nobody guesses such a token.
        firing.end(file["execution_id"])
        assert [held(program, file["items"][0]).status_code for _ in range(5)] == [401] * 5


def test_it_is_in_nothing_that_is_kept_or_answered(
    every_api: Api, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    firing = Firing(every_api)
    caplog.set_level("DEBUG")
    file = firing.fire({"number": 1})
    secret, execution_id = file["token"][-43:], file["execution_id"]
    with every_api.client(file["token"]) as program:
        said = [held(program, file["items"][0]).text, say(program, file["items"][0], "DONE").text]
    with every_api.client(every_api.token("root", "admin")) as root:
        for path in (f"{execution_id}", f"{execution_id}/payload", f"{execution_id}/timeline"):
            answer = root.get(f"{V1}/executions/{path}")
            assert answer.status_code == 200, answer.text
            said.append(answer.text)
        said += [root.get(f"{V1}/{path}").text for path in ("tokens", "triggers", "queue-items", "admin/audit")]
    firing.end(execution_id)
    client: Any = redis_client
    kept = "".join(str(value_of(client, key)) for key in client.scan_iter("*"))
    rows = "".join(str(row) for table in tables(every_api) for row in table)
    assert execution_id in kept
    assert execution_id in rows
    for text in (*said, kept, rows, caplog.text):
        assert secret not in text
        assert ITEM_KEYS[0].decode() not in text


def value_of(client: Any, key: bytes) -> list[Any]:
    """A key with what Redis has there, as it is, and as it keeps it."""
    how: dict[str, tuple[Any, ...]] = {
        "string": (client.get, key),
        "hash": (client.hgetall, key),
        "list": (client.lrange, key, 0, -1),
        "set": (client.smembers, key),
        "zset": (client.zrange, key, 0, -1),
        "stream": (client.xrange, key),
    }
    ask, *asked = how[client.type(key).decode()]
    return [key, client.dump(key), ask(*asked)]


def tables(api: Api) -> list[list[Any]]:
    with api.database.reading() as connection:
        return [list(connection.execute(table.select())) for table in metadata.sorted_tables]
