"""Shards in the settings: where they come from, what is refused, and one of them alone."""

from pathlib import Path

import pytest
from clean_settings import clean_environment, forget_settings

from bandmaster.configs.errors import SettingsError
from bandmaster.configs.settings import Settings, load_settings
from bandmaster.configs.shards import BANDS, read_shards
from bandmaster.middleware.broker import BandedRedisBroker
from bandmaster.scheduler.model.priority import Priority

__all__ = ["clean_environment", "forget_settings"]


def test_the_bands_are_the_priorities() -> None:
    assert [each.name for each in Priority] == list(BANDS)


def test_they_come_from_variables_and_from_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("bandmaster.toml").write_text('[shards]\nbulk = {url = "redis://b", lanes = ["reports"], bands = ["low"]}\n')
    monkeypatch.setenv("BANDMASTER_SHARDS__HIGH", "redis://h:7000/1")
    servers = load_settings().shards.servers
    assert servers["high"].claims == {"url": "redis://h:7000/1", "lanes": (), "bands": ("HIGH",)}
    assert servers["bulk"].claims == {"url": "redis://b", "lanes": ("reports",), "bands": ("LOW",)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('fast = "redis://h"', "is none of the bands"),
        ('high = "http://h"', "must be a URL like redis://"),
        ('high = {url = "redis://h"}', "neither lanes nor bands"),
        ('a = {url = "redis://h", bands = ["URGENT"]}', "'CRITICAL', 'HIGH'"),
        ('high = "redis://h"\nb = {url = "redis://i", bands = ["high"]}', "high and b both claim band HIGH"),
        ('a = {url = "redis://h", lanes = ["x"]}\nb = {url = "redis://i", lanes = ["x"]}', "both claim lane x"),
        ('high = "redis://h"\nlow = "redis://h:6379/0"', "high and low are the same database"),
        ('default = "redis://h"', "is the shard of redis.url"),
        ('high = "redis://h"\nconsumed = ["hihg"]', "there is no shard 'hihg'; allowed: default, high"),
        ('only = "low"', "there is no shard 'low'"),
        ('high = {url = "redis://h", bands = ["HIGH"], lane = "x"}', "shards"),
    ],
)
def test_what_is_wrong_is_refused_in_words(content: str, message: str) -> None:
    Path("bandmaster.toml").write_text(f"[shards]\n{content}\n")
    with pytest.raises(SettingsError, match=message):
        load_settings()


def test_no_password_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANDMASTER_SHARDS__HIGH", "redis://:hunter2@h")
    settings = load_settings()
    assert "hunter2" not in f"{settings!r} {settings.model_dump_json()}"
    with pytest.raises(SettingsError) as refused:
        read_shards({"high": "redis://:hunter2@h", "low": "redis://:hunter2@h:x"})
    assert "hunter2" not in str(refused.value)


def test_one_alone_has_its_own_server_ledger_and_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANDMASTER_REDIS__URL", "redis://first")
    monkeypatch.setenv("BANDMASTER_SHARDS__HIGH", "redis://second")
    monkeypatch.setenv("BANDMASTER_SHARDS__ONLY", "high")
    alone = Settings()
    assert (alone.redis.url, alone.paths.var_dir) == ("redis://second", Path("var/shards/high"))
    assert (alone.k8s.installation, alone.shards.servers) == ("bandmaster-high", {})
    with pytest.raises(SettingsError, match=r"a broker sends to every shard.*BANDMASTER_SHARDS__ONLY"):
        BandedRedisBroker.from_settings()
    monkeypatch.setenv("BANDMASTER_LEDGER__URL", "sqlite:///all.sqlite3")
    load_settings.cache_clear()
    with pytest.raises(SettingsError, match="has no ledger"):
        load_settings()
