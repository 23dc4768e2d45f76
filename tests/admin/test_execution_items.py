"""The client in the program of a trigger's execution: it finds its items, and says what came of them."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from calling import Api
from firing import Firing

from bandmaster.client import ApiProblem, Client, NotAllowed, WrongState, calls, items_of_execution
from bandmaster.scheduler.events.requested import ITEMS_MAX_BYTES


def environment_of(file: dict[str, Any], folder: Path) -> dict[str, str]:
    path = folder / "items.json"
    path.write_text(json.dumps(file))
    return {"BANDMASTER_ITEMS_FILE": str(path)}


def test_a_program_settles_each_of_its_items(api: Api, tmp_path: Path) -> None:
    firing = Firing(api, batch_size=5)
    environment = environment_of(firing.fire(*range(5)), tmp_path)
    with items_of_execution(environment=environment) as items:
        done, failed, wrong, later, back = items
        assert [each.payload for each in (done, failed, wrong, later, back)] == [0, 1, 2, 3, 4]
        done.progress("half")
        done.complete({"booked": True})
        failed.fail("no answer")
        wrong.fail("no such customer", business=True, result={"customer": 7})
        later.postpone(datetime.now(UTC) + timedelta(hours=1))
        back.give_back()
        # What an attempt has settled, the next one does not get again.
        assert list(items) == []
        with pytest.raises(WrongState):
            done.fail("too late")
    with Client(api.url, api.token("root", "admin")) as root:
        shown = [root.send(calls.item(each.id)) for each in (done, failed, wrong, later, back)]
    assert [each.status for each in shown] == ["DONE", "FAILED", "FAILED", "POSTPONED", "NEW"]
    assert [each.failure for each in shown] == [None, "application", "business", None, None]
    assert [each.result for each in shown[:3]] == [{"booked": True}, None, {"customer": 7}]
    assert shown[0].progress == "half"


def test_a_payload_that_is_too_long_for_the_file_comes_from_the_api(api: Api, tmp_path: Path) -> None:
    long = "x" * ITEMS_MAX_BYTES
    file = Firing(api).fire(long)
    assert "payload" not in file["items"][0]
    with items_of_execution(environment=environment_of(file, tmp_path)) as items:
        assert [each.payload for each in items] == [long]


def test_after_the_end_nothing_is_taken(api: Api, tmp_path: Path) -> None:
    firing = Firing(api)
    file = firing.fire(1)
    with items_of_execution(environment=environment_of(file, tmp_path)) as items:
        (item,) = items
        firing.end(file["execution_id"])
        with pytest.raises(ApiProblem) as refused:
            item.complete()
    assert isinstance(refused.value, NotAllowed)


@pytest.mark.parametrize("missing", ["token", "api_url"])
def test_what_is_missing_is_said(api: Api, tmp_path: Path, missing: str) -> None:
    file = Firing(api).fire(1) | {missing: None}
    with pytest.raises(LookupError, match=f"has no {missing}"):
        items_of_execution(environment=environment_of(file, tmp_path))
    with pytest.raises(LookupError, match="no trigger has started this program"):
        items_of_execution(environment={})
