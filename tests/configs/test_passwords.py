"""Passwords in settings are used, and never shown."""

import pytest
from clean_settings import clean_environment, forget_settings

from bandmaster.configs.errors import SettingsError
from bandmaster.configs.redaction import UNREADABLE, redacted_url
from bandmaster.configs.settings import load_settings

__all__ = ["clean_environment", "forget_settings"]


@pytest.mark.parametrize(
    "url",
    [
        "redis://:hunter2@host:6379/0",
        "rediss://ann:hunter2@host/1",
        "unix:///run/redis.sock?db=1&password=hunter2",
        "unix://ann:hunter2@/run/redis.sock",
    ],
)
def test_a_password_is_used_but_never_shown(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("BANDMASTER_REDIS__URL", url)
    settings = load_settings()
    assert settings.redis.url == url
    for text in (
        repr(settings),
        str(settings),
        repr(settings.redis),
        settings.model_dump_json(),
        repr(settings.model_dump()),
    ):
        assert "hunter2" not in text
        assert "***" in text


@pytest.mark.parametrize(
    "url",
    [
        "http://ann:hunter2@host/",
        "redis://ann:hunter2/x@host/",
        "redis://ann:hunter2#x@host/",
        "unix:hunter2@",
        "unix://ann:hunter2@run/redis.sock",
    ],
)
def test_a_refused_url_is_not_shown_either(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("BANDMASTER_REDIS__URL", url)
    with pytest.raises(SettingsError, match=r"redis\.url .*must be a URL like redis://") as caught:
        load_settings()
    assert "hunter2" not in str(caught.value)


SHOWN = (
    ("redis://host:6379/0", "redis://host:6379/0"),
    ("redis://ann@host/0", "redis://ann@host/0"),
    ("redis://ann:pw@host:1/0", "redis://ann:***@host:1/0"),
    ("redis://:p%40w@[::1]:1/0?protocol=3", "redis://:***@[::1]:1/0?protocol=3"),
    ("redis://ann:p@w@host/0", "redis://ann:***@host/0"),
    ("unix:///run/a.sock?db=2&password=pw", "unix:///run/a.sock?db=2&password=***"),
    ("unix://ann:pw@/run/a.sock?db=2", "unix://ann:***@/run/a.sock?db=2"),
    ("rediss://h/0?ssl_password=pw", "rediss://h/0?ssl_password=***"),
    ("redis://h/0#pw", "redis://h/0"),
    ("postgresql://h/db?user=ann&password=pw", "postgresql://h/db?user=ann&password=***"),
    ("postgresql:///db?host=h&sslpassword=pw", "postgresql:///db?host=h&sslpassword=***"),
    ("ann:pw@host", UNREADABLE),
    ("redis:/ann:pw@host", UNREADABLE),
    ("redis://[pw@host", UNREADABLE),
)


def test_a_url_is_shown_without_its_password(subtests: pytest.Subtests) -> None:
    for url, shown in SHOWN:
        with subtests.test(url=url, shown=shown):
            assert redacted_url(url) == shown
