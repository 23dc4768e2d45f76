"""Claims that a database holds up keep none of the threads that routes share: others are answered meanwhile, one more
is told, and neither a caller that goes nor the end of the process takes what others claim."""

import json
import signal
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import httpx
import pytest
from calling import V1, Api
from running import Start, local_token, start

from bandmaster.items import joining
from bandmaster.items.joining import Claiming
from bandmaster.ledger.database import Database
from bandmaster.ledger.schema.upgrading import upgrade
from waiting import GENEROUS_SECONDS, wait_until

__all__ = ["local_token", "start"]

MANY = 60
"""More than there are threads for routes."""


def test_claims_that_hang_leave_threads_to_others_and_one_more_is_told(api: Api) -> None:
    with api.client(api.token("root", "admin")) as root:
        assert root.post(f"{V1}/queues", json={"name": "invoices"}).status_code == 201
    robot, operator = api.token("desk-7", "robot"), api.token("desk", "operate")
    statuses = list[int]()

    def claim() -> None:
        with api.client(robot) as client:
            statuses.append(client.post(f"{V1}/queue-items/next", json={"queue_name": "invoices"}).status_code)

    threads = [threading.Thread(target=claim) for _ in range(MANY)]
    with api.database.writing(), api.client(operator) as desk:
        for thread in threads:
            thread.start()
        wait_until(lambda: 503 in statuses, what="a claim that has no turn")
        assert desk.get(f"{V1}/queues").status_code == 200
        assert len(statuses) < MANY, "some hang still"
        with api.client(robot) as client:
            refused = client.post(f"{V1}/queue-items/next", json={"queue_name": "invoices"})
        assert (refused.status_code, refused.json()["code"]) == (503, "busy")
        assert "others claim items already" in refused.json()["detail"]
        assert "Retry-After" in refused.headers
    for thread in threads:
        thread.join(60)
    assert sorted(set(statuses)) == [200, 503]


def test_who_hangs_up_in_the_middle_of_a_claim_gets_it_again_by_its_key(
    every_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its going is not noticed before its claim is carried out.
    monkeypatch.setattr(joining, "LONG_SECONDS", 1000)
    api, token = every_api, every_api.token("desk-7", "robot")
    with api.client(api.token("root", "admin")) as root, api.client(token) as robot:
        assert root.post(f"{V1}/queues", json={"name": "invoices"}).status_code == 201
        added = [root.post(f"{V1}/queue-items", json={"queue_name": "invoices"}).json()["id"] for _ in range(2)]

        def held() -> list[str]:
            asked = {"queue": "invoices", "status": "IN_PROGRESS"}
            return [each["id"] for each in root.get(f"{V1}/queue-items", params=asked).json()["items"]]

        def take(key: str) -> list[tuple[str, int]]:
            sent = robot.post(
                f"{V1}/queue-items/next", json={"queue_name": "invoices"}, headers={"Idempotency-Key": key}
            )
            return [(each["id"], each["fence"]) for each in sent.json()["items"]]

        with api.database.writing() as connection:
            if not api.database.is_sqlite:
                connection.exec_driver_sql("LOCK TABLE queue_items IN ACCESS EXCLUSIVE MODE")
            with asked(api.url, f"Bearer {token}", {"queue_name": "invoices"}, key="k"):
                assert httpx.get(f"{api.url}/healthz").status_code == 200, "it is under way"
        assert wait_until(held, what="its claim") == added[:1]
        assert take("k") == [(added[0], 1)]
        assert take("another") == [(added[1], 1)]


def test_who_hangs_up_while_others_claims_are_under_way_takes_nothing(
    every_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However short its wait was, it is asked whether it is still there.
    monkeypatch.setattr(joining, "LONG_SECONDS", 0)
    api, token = every_api, every_api.token("desk-7", "robot")
    with api.client(api.token("root", "admin")) as root:
        assert root.post(f"{V1}/queues", json={"name": "invoices"}).status_code == 201
        for _ in range(3):
            root.post(f"{V1}/queue-items", json={"queue_name": "invoices"})

        def held() -> list[str]:
            wanted = {"queue": "invoices", "status": "IN_PROGRESS"}
            return [each["locked_by_robot_id"] for each in root.get(f"{V1}/queue-items", params=wanted).json()["items"]]

        with ExitStack() as stays:
            with api.database.writing() as connection:
                if not api.database.is_sqlite:
                    connection.exec_driver_sql("LOCK TABLE queue_items IN ACCESS EXCLUSIVE MODE")
                first = stays.enter_context(asked(api.url, f"Bearer {token}", {"queue_name": "invoices"}))
                wait_until(lambda: not claiming_of(api).is_idle, what="a claim whose transaction has begun")
                with asked(api.url, f"Bearer {token}", {"queue_name": "invoices"}):
                    wait_until(lambda: claiming_of(api).waiting == 1, what="another behind it")
                assert httpx.get(f"{api.url}/healthz").status_code == 200, "its going was noticed"
            assert len(answer_of(first)["items"]) == 1
            wait_until(lambda: claiming_of(api).is_idle, what="the end of both")
            assert held() == ["desk-7"]


def test_who_hangs_up_while_its_own_claim_is_held_up_takes_nothing(
    every_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "LONG_SECONDS", 0)
    api, token = every_api, every_api.token("desk-7", "robot")
    with api.client(api.token("root", "admin")) as root, ExitStack() as stays:
        assert root.post(f"{V1}/queues", json={"name": "invoices"}).status_code == 201
        for _ in range(3):
            root.post(f"{V1}/queue-items", json={"queue_name": "invoices"})
        with api.database.writing() as connection:
            if not api.database.is_sqlite:
                connection.exec_driver_sql("LOCK TABLE queue_items IN ACCESS EXCLUSIVE MODE")
            with asked(api.url, f"Bearer {token}", {"queue_name": "invoices"}):
                wait_until(lambda: not claiming_of(api).is_idle, what="a claim whose transaction has begun")
            stays_on = stays.enter_context(asked(api.url, f"Bearer {token}", {"queue_name": "invoices"}))
            wait_until(lambda: claiming_of(api).waiting == 1, what="another behind it")
            assert httpx.get(f"{api.url}/healthz").status_code == 200, "the going of the first was noticed"
        (taken,) = answer_of(stays_on)["items"]
        wanted = {"queue": "invoices", "status": "IN_PROGRESS"}
        held = root.get(f"{V1}/queue-items", params=wanted).json()["items"]
        assert [(each["id"], each["fence"]) for each in held] == [(taken["id"], 1)]


def claiming_of(api: Api) -> Claiming:
    return api.services.items.claiming


@pytest.mark.slow
def test_claims_under_way_are_answered_when_the_process_ends(
    start: Start, local_token: Callable[[], dict[str, str]], tmp_path: Path
) -> None:
    database = Database(f"sqlite:///{tmp_path / 'ledger.sqlite3'}")
    upgrade(database)
    running = start(ledger__url=f"sqlite:///{tmp_path / 'ledger.sqlite3'}")
    url, headers = running.url(), local_token()
    with httpx.Client(base_url=f"{url}{V1}", headers=headers, timeout=60) as root:
        assert root.post("/queues", json={"name": "invoices"}).status_code == 201
        for _ in range(8):
            assert root.post("/queue-items", json={"queue_name": "invoices"}).status_code == 201
    with ExitStack() as robots:
        with database.writing():
            sent = list[socket.socket]()
            for number in range(8):
                wanted = {"queue_name": "invoices", "robot_id": f"robot-{number}"}
                sent.append(robots.enter_context(asked(url, headers["Authorization"], wanted)))
            assert httpx.get(f"{url}/healthz").status_code == 200, "they are under way"
            running.process.send_signal(signal.SIGTERM)
            wait_until(lambda: is_refused(url), what="the end of its listening")
        taken = [item["id"] for each in sent for item in answer_of(each)["items"]]
    assert running.process.wait(GENEROUS_SECONDS) == 0
    assert len(set(taken)) == 8
    with database.reading() as connection:
        held = connection.exec_driver_sql("SELECT item_id FROM queue_items WHERE status = 'IN_PROGRESS'").scalars()
        assert set(held) == set(taken)
    database.close()


@contextmanager
def asked(url: str, authorization: str, wanted: dict[str, str], *, key: str = "") -> Generator[socket.socket]:
    """A connection over which a claim was sent; it ends with the block."""
    body = json.dumps(wanted)
    lines = [f"POST {V1}/queue-items/next HTTP/1.1", "Host: localhost", f"Authorization: {authorization}"]
    lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    lines += [f"Idempotency-Key: {key}"] if key else []
    with socket.create_connection(address_of(url), timeout=60) as connection:
        connection.sendall("\r\n".join([*lines, "", body]).encode())
        yield connection


def answer_of(connection: socket.socket) -> dict[str, Any]:
    answer = HTTPResponse(connection)
    answer.begin()
    document: dict[str, Any] = json.loads(answer.read())
    assert answer.status == 200, document
    return document


def is_refused(url: str) -> bool:
    try:
        socket.create_connection(address_of(url), timeout=60).close()
    except OSError:
        return True
    return False


def address_of(url: str) -> tuple[str, int]:
    host, _, port = url.removeprefix("http://").rpartition(":")
    return host, int(port)
