"""The settings of notifications: secrets are checked and never shown, networks are networks."""

import base64
from pathlib import Path

import pytest
from clean_settings import clean_environment, forget_settings

from bandmaster.configs.errors import SettingsError, SettingsRefused
from bandmaster.configs.notify import NotifySettings
from bandmaster.configs.settings import Settings, load_settings

__all__ = ["clean_environment", "forget_settings"]

KEYS = (b"a" * 24, b"b" * 64)
SECRETS = tuple(f"whsec_{base64.b64encode(key).decode()}" for key in KEYS)


def test_each_secret_signs_while_receivers_change_from_one_to_the_next(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BANDMASTER_NOTIFY__SECRET", " ".join(SECRETS))
    assert Settings().notify.keys() == KEYS
    assert SECRETS[0] not in repr(Settings()) + Settings().model_dump_json()
    monkeypatch.delenv("BANDMASTER_NOTIFY__SECRET")
    file = tmp_path / "secret"
    file.write_text("\n".join(SECRETS) + "\n")
    monkeypatch.setenv("BANDMASTER_NOTIFY__SECRET_FILE", str(file))
    assert Settings().notify.keys() == KEYS
    monkeypatch.delenv("BANDMASTER_NOTIFY__SECRET_FILE")
    assert (Settings().notify.has_secret, Settings().notify.keys()) == (False, ())


@pytest.mark.parametrize("wrong", ["hunter2hunter2hunter2hunter2", "whsec_c2hvcnQ=", "whsec_***notbase64***"])
def test_what_is_no_secret_is_refused_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wrong: str
) -> None:
    monkeypatch.setenv("BANDMASTER_NOTIFY__SECRET", wrong)
    with pytest.raises(SettingsRefused, match=r"notify\.secret") as refused:
        load_settings()
    assert wrong not in str(refused.value)
    file = tmp_path / "secret"
    for text in (wrong, ""):
        file.write_text(text)
        with pytest.raises(SettingsError, match="whsec_") as refused_file:
            NotifySettings(secret_file=file).keys()
        assert not text or text not in str(refused_file.value)
    with pytest.raises(SettingsError, match="FileNotFoundError"):
        NotifySettings(secret_file=tmp_path / "none").keys()


def test_networks_are_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANDMASTER_NOTIFY__PRIVATE_NETWORKS", "10.1.0.0/16, fd00::/8")
    assert [str(each) for each in Settings().notify.networks] == ["10.1.0.0/16", "fd00::/8"]
    monkeypatch.setenv("BANDMASTER_NOTIFY__PRIVATE_NETWORKS", "10.1.0.0/8")
    with pytest.raises(SettingsRefused, match="is no network"):
        load_settings()
