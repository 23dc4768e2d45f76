"""The API of one shard shows all of them: with real servers, one of which is killed or hangs, and real processes."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest
from faults_server.own_server import OwnServer
from two_servers import queue_of, two_servers

from bandmaster.client import Client, calls
from bandmaster.ledger.database import Database
from bandmaster.ledger.schema.upgrading import upgrade
from bandmaster.scheduler.model.errors import QueueUnavailable
from bandmaster.scheduler.server.connection import client_of
from bandmaster.scheduler.shards.asking import ask_all
from waiting import GENEROUS_SECONDS, wait_until

pytestmark = pytest.mark.slow

SECRET = "A" * 43
DEADLINE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Shared:
    """Two servers, and an API of the first of them that was there before the test."""

    servers: dict[str, OwnServer]
    client: httpx.Client


@contextmanager
def served(urls: dict[str, str], folder: Path, **settings: str) -> Generator[httpx.Client]:
    """An API of all these servers, as an admin of its machine; band LOW is on the second."""
    folder.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BANDMASTER_")} | {
        "BANDMASTER_REDIS__URL": urls["default"],
        "BANDMASTER_REDIS__DEADLINE_SECONDS": f"{DEADLINE_SECONDS}",
        "BANDMASTER_API__PORT": "0",
    }
    environment |= {f"BANDMASTER_SHARDS__{name.upper()}": url for name, url in urls.items() if name != "default"}
    var = folder / "var"
    if "BANDMASTER_SHARDS__ONLY" in settings:
        var = var / "shards" / settings["BANDMASTER_SHARDS__ONLY"]
    var.mkdir(parents=True, mode=0o700)
    with closing(Database(f"sqlite:///{var / 'ledger.sqlite3'}")) as database:
        upgrade(database)  # else an unknown id is one that only the ledger could know
    with (folder / "api.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "bandmaster.admin"], cwd=folder, env=environment | settings, stdout=log, stderr=log
        )
    try:

        def address() -> str:
            text = (folder / "api.log").read_text()
            assert process.poll() is None, text
            found = re.search(r"api_started.*?(http://127\.0\.0\.1:\d+)", text)
            return found[1] if found else ""

        wait_until(address, what="the API")
        url = address()
        is_local = "BANDMASTER_API__TOKENS_FILE" not in settings
        token = (var / "api-token").read_text().strip() if is_local else f"bm_ann_{SECRET}"
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=120) as client:
            wait_until(lambda: _answers(client), what="the API answers")
            yield client
    finally:
        process.terminate()
        process.wait(60)


def _answers(client: httpx.Client) -> bool:
    try:
        return client.get("/healthz").status_code == 200
    except httpx.TransportError:
        return False


def sent(url: str, *names: str, user: str = "ann") -> None:
    with queue_of(url) as queue:
        for name in names:
            queue.enqueue({"execution_id": name, "command": ["true"], "metadata": {"user_id": user}})


def shown(client: httpx.Client) -> dict[str, Any]:
    answer = client.get("/api/v1/shards")
    assert answer.status_code == 200, answer.text
    return {each["shard"]: each for each in answer.json()["shards"]}


def urls_of(servers: dict[str, OwnServer]) -> dict[str, str]:
    return {name: each.url for name, each in servers.items()}


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    """Started once; those of an API of other settings start another one, cold."""
    with two_servers() as own, served(urls_of(own), tmp_path_factory.mktemp("shared") / "api") as client:
        yield Shared(own, client)


@pytest.fixture
def shared(first: Shared) -> Shared:
    """Both servers are empty, and known to be there."""
    for each in first.servers.values():
        with client_of(each.url) as client:
            client.flushall()
    wait_until(lambda: not any(each["is_away"] for each in shown(first.client).values()), what="both are there")
    return first


@pytest.mark.parametrize("way", ["killed", "stopped"])
@pytest.mark.parametrize("away", ["low", "default"])
def test_one_that_is_away_is_told_within_the_deadline_and_the_other_is_shown(
    shared: Shared, away: str, way: str
) -> None:
    servers, client = shared.servers, shared.client
    there = "default" if away == "low" else "low"
    sent(servers["default"].url, "a", "b")
    sent(servers["low"].url, "c")
    with queue_of(servers["low"].url) as queue:
        queue.controls.pause("tenant:acme")
    depths = {"default": 2, "low": 1}
    before = shown(client)
    assert list(before) == ["default", "low"]
    assert {name: each["figures"]["queue_depth"] for name, each in before.items()} == depths
    assert (before["default"]["bands"], before["low"]["bands"]) == (
        ["CRITICAL", "HIGH", "NORMAL", "BACKGROUND"],
        ["LOW"],
    )
    assert [each["is_own"] for each in before.values()] == [True, False]
    assert before["low"]["figures"]["paused"] == ["tenant:acme"]
    assert before["low"]["url"] == servers["low"].url
    if way == "killed":
        servers[away].kill()
    else:
        servers[away].signal(signal.SIGSTOP)
    try:
        during = shown(client)  # the answer comes while the server sleeps, or it would never come
    finally:
        if way == "stopped":
            servers[away].signal(signal.SIGCONT)
        else:
            servers[away].start()
    assert (during[away]["is_away"], during[away]["figures"]) == (True, None)
    assert "did not answer" in during[away]["away_because"]
    assert (during[there]["is_away"], during[there]["away_because"]) == (False, None)
    assert during[there]["figures"]["queue_depth"] == depths[there]
    wait_until(lambda: not shown(client)[away]["is_away"], what="it is back")


def test_many_who_ask_about_one_that_hangs_take_no_turn_of_the_others_routes(shared: Shared) -> None:
    servers, client = shared.servers, shared.client
    servers["low"].signal(signal.SIGSTOP)
    try:
        found = list[dict[str, Any]]()
        asking = [threading.Thread(target=lambda: found.append(shown(client))) for _ in range(60)]
        for each in asking:
            each.start()
        statuses = {client.get("/api/v1/executions/queue").status_code for _ in range(20)}
        for each in asking:
            each.join(GENEROUS_SECONDS)
    finally:
        servers["low"].signal(signal.SIGCONT)
    assert statuses == {200}
    assert len(found) == 60
    assert all(each["low"]["is_away"] and not each["default"]["is_away"] for each in found)


def test_an_execution_of_another_shard_is_said_to_be_there(shared: Shared) -> None:
    servers, client = shared.servers, shared.client
    sent(servers["low"].url, "there")
    for method, path in (("GET", ""), ("GET", "/logs"), ("GET", "/timeline"), ("POST", "/cancel")):
        problem = client.request(method, f"/api/v1/executions/there{path}")
        assert (problem.status_code, problem.json()["shard"]) == (404, "low"), problem.text
        assert "this API is that of shard default, and the execution is on shard low" in problem.json()["detail"]
    nowhere = client.get("/api/v1/executions/nowhere").json()
    assert "shard" not in nowhere
    assert "shard" not in nowhere["detail"]
    servers["low"].signal(signal.SIGSTOP)
    try:
        unheard = client.get("/api/v1/executions/there")
    finally:
        servers["low"].signal(signal.SIGCONT)
    assert (unheard.status_code, unheard.json()["shards_away"]) == (404, ["low"])
    assert "low did not answer" in unheard.json()["detail"]


def test_strangers_are_told_neither_addresses_nor_where_others_executions_are(
    servers: dict[str, OwnServer], tmp_path: Path
) -> None:
    sent(servers["low"].url, "bobs", user="bob")
    sent(servers["low"].url, "anns", user="ann")
    with queue_of(servers["low"].url) as queue:
        queue.controls.pause("user:bob")
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(
        f'[[token]]\nid = "ann"\nsha256 = "{sha256(SECRET.encode()).hexdigest()}"\nowner = "ann"\nscopes = ["submit"]\n'
    )
    with served(urls_of(servers), tmp_path / "api", BANDMASTER_API__TOKENS_FILE=str(tokens)) as client:
        anns, bobs, nobodys = (client.get(f"/api/v1/executions/{name}").json() for name in ("anns", "bobs", "nobodys"))
        assert anns["shard"] == "low"
        assert bobs["detail"].replace("bobs", "nobodys") == nobodys["detail"]
        assert bobs.keys() == nobodys.keys()
        servers["default"].kill()
        rows = shown(client)
        assert [each["url"] for each in rows.values()] == [None, None]
        assert rows["low"]["figures"]["paused"] == []
        assert rows["default"]["away_because"] == "its server did not answer in time, or refused"


def test_the_api_of_another_shard_knows_all_of_them_too(servers: dict[str, OwnServer], tmp_path: Path) -> None:
    sent(servers["default"].url, "there")
    with served(urls_of(servers), tmp_path / "api", BANDMASTER_SHARDS__ONLY="low") as client:
        rows = shown(client)
        assert {name: each["is_own"] for name, each in rows.items()} == {"default": False, "low": True}
        assert {name: each["figures"]["queue_depth"] for name, each in rows.items()} == {"default": 1, "low": 0}
        assert client.get("/api/v1/executions/there").json()["shard"] == "default"


def test_no_password_is_told(servers: dict[str, OwnServer], tmp_path: Path) -> None:
    urls = urls_of(servers)
    urls["low"] = urls["low"].replace("unix://", "unix://:hunter2@")
    with served(urls, tmp_path / "api") as client:
        answer = client.get("/api/v1/shards")
        low = answer.json()["shards"][1]
        assert low["is_away"], "that server has no password, and refuses one"
        assert low["url"].startswith("unix://:***@")
        assert "hunter2" not in answer.text
        assert "hunter2" not in (tmp_path / "api" / "api.log").read_text()


def test_without_shards_there_is_one(servers: dict[str, OwnServer], tmp_path: Path) -> None:
    with served({"default": servers["default"].url}, tmp_path / "api") as client:
        with Client(str(client.base_url), client.headers["Authorization"].removeprefix("Bearer ")) as asking:
            (row,) = asking.send(calls.shards()).shards
        assert (row.shard, row.is_own, row.is_away, len(row.bands)) == ("default", True, False, 5)
        assert "shard" not in client.get("/api/v1/executions/nowhere").json()["detail"]


def test_a_question_of_several_calls_has_one_deadline() -> None:
    ends = threading.Event()

    def answer(name: str) -> str:
        if name == "hangs":
            ends.wait(60)
        if name == "refuses":
            raise QueueUnavailable("no")
        return name

    answers = ask_all({name: name for name in ("hangs", "refuses", "answers")}, answer, within_seconds=1)
    ends.set()
    assert answers.found == {"answers": "answers"}
    assert answers.away == {"hangs": "Redis did not answer within 1 s", "refuses": "no"}
