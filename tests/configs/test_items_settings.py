"""The key of the tokens that programs of triggers get: checked, never shown, made once where it is not configured."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from clean_settings import clean_environment, forget_settings

from bandmaster.configs.errors import SettingsError, SettingsRefused
from bandmaster.configs.items import KEY_FILE, ItemsSettings
from bandmaster.configs.settings import Settings, load_settings

__all__ = ["clean_environment", "forget_settings"]

KEYS = ("a" * 32, "b" * 40)
BYTES = tuple(each.encode() for each in KEYS)


def test_all_keys_are_known_while_one_follows_another(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BANDMASTER_ITEMS__TOKEN_KEY", " ".join(KEYS))
    assert Settings().item_keys == BYTES
    assert KEYS[0] not in repr(Settings()) + Settings().model_dump_json()
    monkeypatch.delenv("BANDMASTER_ITEMS__TOKEN_KEY")
    file = tmp_path / "key"
    file.write_text("\n".join(KEYS) + "\n")
    monkeypatch.setenv("BANDMASTER_ITEMS__TOKEN_KEY_FILE", str(file))
    assert Settings().item_keys == BYTES


@pytest.mark.parametrize("wrong", ["x" * 31, f"{KEYS[0]} {'x' * 31}"])
def test_what_is_no_key_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wrong: str) -> None:
    monkeypatch.setenv("BANDMASTER_ITEMS__TOKEN_KEY", wrong)
    with pytest.raises(SettingsRefused, match=r"items\.token_key") as refused:
        load_settings()
    assert "x" * 31 not in str(refused.value)
    file = tmp_path / "key"
    for text in (wrong, ""):
        file.write_text(text)
        with pytest.raises(SettingsError, match=r"items\.token_key_file: a key has at least") as refused_file:
            ItemsSettings(token_key_file=file).keys(None)
        assert "x" * 31 not in str(refused_file.value)
    with pytest.raises(SettingsError, match="FileNotFoundError"):
        ItemsSettings(token_key_file=tmp_path / "none").keys(tmp_path)


def test_with_local_programs_one_is_made_which_all_processes_find(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BANDMASTER_PATHS__VAR_DIR", str(tmp_path / "var"))
    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(lambda: Settings().item_keys) for _ in range(8)]
        made = {each.result() for each in asked}
    ((key,),) = made
    file = tmp_path / "var" / KEY_FILE
    assert (stat.S_IMODE(file.stat().st_mode), len(key) >= 32) == (0o600, True)
    assert [each.name for each in file.parent.iterdir()] == [KEY_FILE]
    file.chmod(0o644)
    with pytest.raises(SettingsError, match="others may read") as refused:
        _ = Settings().item_keys
    assert key.decode() not in str(refused.value)
    monkeypatch.setenv("BANDMASTER_K8S__BACKEND", "kubernetes")
    assert Settings().item_keys == ()


def test_where_the_api_is_has_to_be_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANDMASTER_ITEMS__API_URL", "bandmaster.example")
    with pytest.raises(SettingsRefused, match=r"items\.api_url"):
        load_settings()
