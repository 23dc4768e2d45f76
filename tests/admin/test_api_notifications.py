"""Addresses of queues and triggers over the API, told whole to admins only, and what was not delivered to them."""

from typing import Any, Final

import pytest
from calling import V1, Api
from sqlalchemy import update

from bandmaster.ledger.schema.tables import notifications

URL = "https://hooks.example/services/T0KEN?k=1"
TIDY: dict[str, Any] = {"name": "tidy", "type": "TIME", "cron": "0 6 1 1 *", "command": ["tidy"]}
ANY = {"If-Match": "*"}


@pytest.mark.parametrize(("path", "body"), [("queues", {"name": "tidy"}), ("triggers", TIDY)])
def test_an_address_is_set_and_told_whole_to_admins_only(api: Api, path: str, body: dict[str, Any]) -> None:
    with api.client(api.token("root", "admin")) as root, api.client(api.token("desk", "operate")) as desk:
        made = root.post(f"{V1}/{path}", json=body | {"notify_url": URL})
        assert (made.status_code, made.json()["notify_url"]) == (201, URL)
        assert root.get(f"{V1}/{path}/tidy").json()["notify_url"] == URL
        told = desk.get(f"{V1}/{path}/tidy").json()
        assert told["notify_url"] == desk.get(f"{V1}/{path}").json()[path][0]["notify_url"] == "https://hooks.example/…"
        kept = root.put(f"{V1}/{path}/tidy", json={"name": "tidy"}, headers=ANY).json()
        assert kept["notify_url"] == URL
        gone = root.put(f"{V1}/{path}/tidy", json={"notify_url": None}, headers=ANY).json()
        assert gone["notify_url"] is None
        again = root.put(f"{V1}/{path}/tidy", json={"notify_url": "http://8.8.8.8:81/"}, headers=ANY).json()
        assert again["notify_url"] == "http://8.8.8.8:81/"
        audit = root.get(f"{V1}/audit").text
    assert "https://hooks.example/…" in audit
    assert "T0KEN" not in audit


NO_ADDRESSES: Final[list[str]] = ["http://169.254.169.254/", "https://me:hunter2@a.example/", "file:///etc/passwd", ""]


def test_what_is_no_address_is_refused(api: Api, subtests: pytest.Subtests) -> None:
    for url in NO_ADDRESSES:
        with subtests.test(url=url), api.client(api.token("root", "admin")) as root:
            for path, body in (("queues", {"name": "tidy"}), ("triggers", TIDY)):
                refused = root.post(f"{V1}/{path}", json=body | {"notify_url": url})
                assert (refused.status_code, "notify_url" in refused.text) == (422, True), refused.text
                assert "hunter2" not in refused.text
                assert root.get(f"{V1}/{path}").json()[path] == []


def test_what_was_not_delivered_is_listed_with_its_problem(api: Api) -> None:
    with (
        api.client(api.token("root", "admin")) as root,
        api.client(api.token("desk", "operate")) as desk,
        api.client(api.token("desk-7", "robot", queues=("tidy",))) as robot,
    ):
        root.post(f"{V1}/queues", json={"name": "tidy", "notify_url": URL})
        assert desk.get(f"{V1}/notifications").json()["waiting"] == 0
        for number in range(2):
            robot.post(f"{V1}/queue-items/add", json={"queue_name": "tidy", "payload": number})
            held = robot.post(f"{V1}/queue-items/next", json={"queue_name": "tidy"}).json()["items"][0]
            said = {"status": "FAILED", "fence": held["fence"], "failure": "business", "error_message": "no"}
            assert robot.put(f"{V1}/queue-items/{held['id']}", json=said).status_code == 200
        found = desk.get(f"{V1}/notifications").json()
        assert (found["waiting"], found["failed"]) == (2, 0)
        with api.database.writing() as connection:
            of = notifications.c
            one = update(notifications).where(of.delivery_id == found["notifications"][0]["id"])
            connection.execute(one.values(failed_ms=1, attempts=30, last_problem="it answered with 500"))
        found = desk.get(f"{V1}/notifications?subject=queue").json()
        assert (found["waiting"], found["failed"]) == (1, 1)
        first = found["notifications"][0]
        assert (first["subject"], first["name"], first["event"]) == ("queue", "tidy", "item.failed")
        assert (first["attempts"], first["again_at"], first["last_problem"]) == (30, None, "it answered with 500")
        assert len(desk.get(f"{V1}/notifications?name=tidy").json()["notifications"]) == 2
        assert desk.get(f"{V1}/notifications?name=other").json()["notifications"] == []
        of_item = f"{V1}/notifications?item_id={first['item_id']}"
        assert [each["id"] for each in desk.get(of_item).json()["notifications"]] == [first["id"]]
        with api.database.writing() as connection:
            one = update(notifications).where(of.delivery_id == first["id"])
            connection.execute(one.values(failed_ms=None, sent_ms=7))
        assert desk.get(of_item).json()["notifications"] == []
        (sent,) = desk.get(f"{of_item}&taken=true").json()["notifications"]
        assert (sent["state"], sent["sent_at"]) == ("sent", "1970-01-01T00:00:00.007Z")
        assert desk.get(f"{V1}/notifications?subject=trigger").json()["notifications"] == []
        assert desk.get(f"{V1}/notifications?subject=other").status_code == 422
        for path, field in (("notifications/a_b", "notification"), ("notifications?item_id=a_b", "item_id")):
            refused = desk.get(f"{V1}/{path}")
            assert (refused.status_code, refused.json()["field"]) == (422, field)
        assert robot.get(f"{V1}/notifications").status_code == 403
        assert "T0KEN" not in desk.get(f"{V1}/notifications").text


def test_who_operates_tries_an_address_and_others_do_not(api: Api) -> None:
    with (
        api.client(api.token("root", "admin")) as root,
        api.client(api.token("desk", "operate")) as desk,
        api.client(api.token("ann", "submit")) as ann,
    ):
        root.post(f"{V1}/queues", json={"name": "tidy"})
        refused = desk.post(f"{V1}/queues/tidy/test-notification")
        assert (refused.status_code, refused.json()["field"]) == (422, "notify_url")
        root.put(f"{V1}/queues/tidy", json={"notify_url": URL}, headers=ANY)
        root.post(f"{V1}/triggers", json=TIDY | {"notify_url": URL})
        for path in ("queues", "triggers"):
            assert ann.post(f"{V1}/{path}/tidy/test-notification").status_code == 403
            assert desk.post(f"{V1}/{path}/other/test-notification").status_code == 404
            sent = desk.post(f"{V1}/{path}/tidy/test-notification")
            assert (sent.status_code, sent.json()["event"], sent.json()["state"]) == (202, "test", "waiting")
            sent_id = sent.json()["id"]
            assert desk.get(f"{V1}/notifications/{sent_id}").json() == sent.json()
            assert desk.post(f"{V1}/{path}/tidy/test-notification").json()["id"] == sent_id
            with api.database.writing() as connection:
                one = update(notifications).where(notifications.c.delivery_id == sent_id)
                connection.execute(one.values(failed_ms=1, last_problem="it answered with 404", last_status=404))
            told = desk.get(f"{V1}/notifications/{sent_id}").json()
            assert (told["state"], told["again_at"], told["last_status"]) == ("failed", None, 404)
        # What was only tried is no notification that somebody missed.
        listed = desk.get(f"{V1}/notifications").json()
        assert (listed["waiting"], listed["failed"], listed["notifications"]) == (0, 0, [])
        assert desk.get(f"{V1}/notifications/{sent_id[:-1]}").status_code == 404
        assert ann.get(f"{V1}/notifications/{sent_id}").status_code == 403
        audited = [each for each in root.get(f"{V1}/audit").json()["entries"] if each["verb"] == "test_notification"]
        assert {each["subject"] for each in audited} == {"queue:tidy", "trigger:tidy"}
        assert all("T0KEN" not in str(each) for each in audited)
