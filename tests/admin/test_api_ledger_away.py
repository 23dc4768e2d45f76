"""What is told of executions while the ledger cannot be read, and what is not; on every database."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from calling import V1, Api
from sending import ALL, send

from bandmaster.admin.api import living


@pytest.fixture
def api(every_api: Api) -> Api:
    return every_api


def test_without_the_ledger_nobody_learns_whether_anothers_lives(api: Api) -> None:
    send(api, "bobs", user="bob")
    with api.client(api.token("ann", "read")) as client:
        assert client.get(f"{V1}/executions/bobs").status_code == 404
        with api.database.writing() as connection:
            connection.exec_driver_sql("ALTER TABLE executions RENAME TO gone")
        answers = {client.get(f"{V1}/executions/{name}").status_code for name in ("bobs", "nobodys")}
    assert answers == {503}


def test_without_the_ledger_only_history_is_missing(api: Api) -> None:
    send(api, "one")
    with api.client(api.token("root", "admin")) as client:
        assert client.get(f"{V1}/whoami").status_code == 200
        with api.database.writing() as connection:
            connection.exec_driver_sql("ALTER TABLE executions RENAME TO gone")
        assert client.get(f"{V1}/executions/one").json()["state"] == "PENDING"
        assert client.get(f"{V1}/executions/queue").json()["queue_depth"] == 1
        for path in (ALL, f"{V1}/executions/unknown"):
            answer = client.get(path)
            assert (answer.status_code, answer.json()["code"]) == (503, "ledger_unavailable"), answer.text
            assert answer.headers["Retry-After"] == "5"


def test_what_lives_is_listed_without_a_ledger(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    with api.database.writing() as connection:
        connection.exec_driver_sql("ALTER TABLE executions RENAME TO gone")
    for name, user in (("runs", "ann"), ("a", "ann"), ("b", "bob"), ("c", "ann")):
        send(api, name, user=user)
    send(api, "later", user="ann", scheduled_at=datetime.now(UTC) + timedelta(hours=1))
    api.queue.try_schedule()
    url = f"{V1}/executions/living"

    def listed(client: httpx.Client, **params: Any) -> tuple[list[tuple[str, int | None]], bool]:
        answer = client.get(url, params=params)
        assert answer.status_code == 200, answer.text
        found = answer.json()
        return [(each["execution_id"], each["position"]) for each in found["executions"]], found["complete"]

    with api.client(api.token("root", "operate")) as client:
        assert listed(client, group="running") == ([("runs", None)], True)
        assert listed(client, group="waiting") == ([("a", 0), ("b", 1), ("c", 2)], True)
        assert listed(client, group="waiting", limit=2) == ([("a", 0), ("b", 1)], False)
        assert listed(client, group="waiting", user="bob") == ([("b", 1)], True)
        assert listed(client, group="scheduled") == ([("later", None)], True)
        assert listed(client, group="waiting", action="other") == ([], True)
        monkeypatch.setattr(living, "SEARCHED", 1)
        assert listed(client, group="waiting", user="bob") == ([], False), "it was not looked at"
        assert client.get(url, params={"group": "ended"}).status_code == 422
    monkeypatch.undo()
    with api.client(api.token("ann", "read")) as client:
        assert listed(client, group="waiting") == ([("a", 0), ("c", 2)], True)
        assert client.get(url, params={"group": "waiting", "user": "bob"}).status_code == 403
