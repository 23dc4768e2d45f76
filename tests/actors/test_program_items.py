"""What the program of a trigger's execution finds in its file, by the settings of the worker that makes it."""

import json
from pathlib import Path
from typing import Any

import pytest

from bandmaster.actors.program_items import ProgramItems
from bandmaster.configs.api import URL_FILE
from bandmaster.configs.items import KEY_FILE
from bandmaster.configs.settings import Settings
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.item_tokens import execution_of, item_token, secret_of, token_id_of

EXECUTION = "trigger:7-01a21bed:3-20300131T060000Z"
KEY = "k" * 40


def event(execution_id: str = EXECUTION, items: str | None = '[{"id":"one"}]') -> ExecutionRequestedEvent:
    return ExecutionRequestedEvent(execution_id=execution_id, command=("true",), items=items)


def found(settings: Settings, **of: Any) -> dict[str, Any]:
    text = ProgramItems.of(settings).file_of(event(**of))
    assert text is not None
    return json.loads(text)


def settings(folder: Path, **sections: Any) -> Settings:
    return Settings.model_validate({"paths": {"var_dir": folder}, **sections})


def test_a_program_gets_its_items_their_token_and_the_address(tmp_path: Path) -> None:
    configured = settings(tmp_path, items={"token_key": f"{KEY} {'old' * 20}", "api_url": "https://api.example"})
    assert found(configured) == {
        "execution_id": EXECUTION,
        "api_url": "https://api.example",
        "token": item_token(KEY.encode(), EXECUTION),
        "items": [{"id": "one"}],
    }
    assert ProgramItems.of(configured).file_of(event(items=None)) is None
    assert found(configured, execution_id="somebodys-own")["token"] is None, "no trigger started it"


def test_local_programs_need_no_settings(tmp_path: Path) -> None:
    assert found(settings(tmp_path))["api_url"] is None
    (tmp_path / URL_FILE).write_text("http://127.0.0.1:8640\n")
    file = found(settings(tmp_path))
    assert file["api_url"] == "http://127.0.0.1:8640"
    assert file["token"] == item_token((tmp_path / KEY_FILE).read_text().strip().encode(), EXECUTION)
    assert found(settings(tmp_path, api={"url": "https://there.example"}))["api_url"] == "https://there.example"


def test_without_a_key_or_with_one_that_cannot_be_read_there_is_no_token(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / URL_FILE).write_text("http://127.0.0.1:8640\n")
    assert found(settings(tmp_path, k8s={"backend": "kubernetes"}))["token"] is None
    assert not (tmp_path / KEY_FILE).exists()
    (tmp_path / "key").write_text("secretive")
    file = found(settings(tmp_path, items={"token_key_file": tmp_path / "key"}))
    assert (file["token"], file["items"]) == (None, [{"id": "one"}])
    assert "item_token_not_made" in caplog.text
    assert "secretive" not in caplog.text


@pytest.mark.parametrize(
    "other", ["schedule:x:1", "plain", "trigger:a.b:1", "trigger:a_b:1", "trigger:", f"trigger:{'7' * 60}:1"]
)
def test_what_has_no_token_of_its_own_gets_none(other: str) -> None:
    assert token_id_of(other) is None
    assert item_token(KEY.encode(), other) is None


def test_each_execution_has_a_token_of_its_own() -> None:
    token_id = token_id_of(EXECUTION)
    assert token_id == "items.7-01a21bed.3-20300131T060000Z"
    assert execution_of(token_id) == EXECUTION
    assert execution_of("2f5a1c") is None
    others = [EXECUTION, EXECUTION.replace("7-", "8-"), EXECUTION.replace(":3-", ":4-")]
    assert len({secret_of(key, each) for key in (b"one", b"two") for each in others}) == 6
