"""Triggers over the API: made, shown, changed under what was seen, deleted, and in the audit."""

from typing import Any, Final

import pytest
from calling import V1, Api

TIDY: dict[str, Any] = {"name": "tidy", "type": "TIME", "cron": "0 6 1 1 *", "command": ["tidy", "--all"]}


@pytest.mark.parametrize("prefix", ["/api", V1])
def test_a_trigger_is_made_changed_and_deleted(api: Api, prefix: str) -> None:
    with api.client(api.token("root", "admin")) as root, api.client(api.token("desk", "operate")) as desk:
        made = root.post(f"{prefix}/triggers", json=TIDY)
        assert made.status_code == 201, made.text
        assert made.json()["command"] == ["tidy", "--all"]
        assert root.post(f"{prefix}/triggers", json=TIDY).json()["code"] == "name_taken"
        shown = desk.get(f"{prefix}/triggers/tidy")
        assert (shown.json()["command"], shown.headers["ETag"]) == (None, '"1"')
        assert desk.put(f"{prefix}/triggers/tidy", json={}, headers={"If-Match": "*"}).status_code == 403
        change = {"enabled": False, "tz": "Europe/Berlin"}
        assert root.put(f"{prefix}/triggers/tidy", json=change).status_code == 428
        assert root.put(f"{prefix}/triggers/tidy", json=change, headers={"If-Match": '"7"'}).status_code == 412
        after = root.put(f"{prefix}/triggers/tidy", json=change, headers={"If-Match": '"1"'}).json()
        assert (after["state"], after["revision"], after["next_fire_at"]) == ("disabled", 2, None)
        again = root.put(f"{prefix}/triggers/tidy", json={"enabled": True}, headers={"If-Match": '"2"'}).json()
        assert (again["state"], again["next_fire_at"][4:]) == ("active", "-01-01T05:00:00.000Z")
        assert [each["name"] for each in desk.get(f"{prefix}/triggers").json()["triggers"]] == ["tidy"]
        assert root.delete(f"{prefix}/triggers/tidy").json() == {"name": "tidy", "live_jobs": 0}
        assert root.get(f"{prefix}/triggers/tidy").status_code == 404
        audited = {each["verb"] for each in root.get(f"{V1}/audit").json()["entries"]}
        assert {"create_trigger", "change_trigger", "delete_trigger"} <= audited


WRONG: Final[list[tuple[dict[str, Any], str]]] = [
    ({"cron": "61 * * * *"}, "cron"),
    ({"cron": None}, "cron"),
    ({"queue_id": 1}, "queue_id"),
    ({"command": []}, "command"),
    ({"max_jobs": 0}, "max_jobs"),
    ({"batch_size": 2}, "batch_size"),
    ({"polling_interval": 5}, "polling_interval"),
    ({"tz": "Berlin"}, "tz"),
]


def test_what_is_wrong_is_refused_and_leaves_nothing(api: Api, subtests: pytest.Subtests) -> None:
    for wrong, field in WRONG:
        with subtests.test(wrong=wrong, field=field), api.client(api.token("root", "admin")) as root:
            answer = root.post(f"{V1}/triggers", json=TIDY | wrong)
            assert answer.status_code == 422, answer.text
            assert field in answer.text
            assert root.get(f"{V1}/triggers").json()["triggers"] == []


def test_a_queue_for_which_a_trigger_fires_is_not_deleted(api: Api) -> None:
    with api.client(api.token("root", "admin")) as root:
        queue = root.post(f"{V1}/queues", json={"name": "invoices"}).json()
        book = {"name": "book", "type": "QUEUE", "queue_id": queue["id"], "command": ["true"]}
        assert root.post(f"{V1}/triggers", json=book).status_code == 201
        refused = root.delete(f"{V1}/queues/invoices?force=true")
        assert (refused.status_code, refused.json()["code"]) == (409, "queue_has_triggers")
        assert root.post(f"{V1}/triggers", json=book | {"name": "b", "queue_id": 99}).status_code == 404
