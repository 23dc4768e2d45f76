"""A broker as the settings say it, and what is said where nobody reads them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from logged import context_of, events

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.configs.errors import SettingsError
from bandmaster.configs.settings import load_settings
from bandmaster.scheduler.server.connection import client_of


@pytest.fixture(autouse=True)
def own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    load_settings.cache_clear()
    yield
    load_settings.cache_clear()


def test_variables_and_the_file_reach_the_broker(
    redis_url: str, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BANDMASTER_REDIS__URL", redis_url)
    (tmp_path / "bandmaster.toml").write_text(
        '[redis]\nprefix = "mine"\ndramatiq_namespace = "theirs"\n[limits]\nmax_concurrent_executions = 3\n'
    )
    broker = BandedRedisBroker.from_settings(maintenance_chance=5)
    assert (broker.queue.scripts.keys.prefix, broker.namespace, broker.maintenance_chance) == ("mine", "theirs", 5)
    broker.emit_after("process_boot")
    status = ExecutionQueueService(redis_client, prefix="mine").views.status()
    assert status.settings["max_concurrent_executions"] == 3
    broker.close()


def test_an_argument_goes_before_its_setting_and_is_said_to(
    redis_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("BANDMASTER_REDIS__URL", "redis://127.0.0.1:1")
    monkeypatch.setenv("BANDMASTER_REDIS__PREFIX", "mine")
    broker = BandedRedisBroker.from_settings(url=redis_url, prefix="other")
    assert broker.queue.scripts.keys.prefix == "other"
    assert broker.queue.get_queue_status()["queue_depth"] == 0
    assert events(caplog) == ["setting_overridden", "setting_overridden"]
    assert context_of(caplog, "setting_overridden")["argument"] == "url"
    broker.close()


def test_a_variable_that_is_none_of_ours_but_near_is_warned_of(
    redis_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("BANDMASTER_REDIS_URL", "redis://:hunter2@host")
    monkeypatch.setenv("BANDMASTER_REDIS_SERVICE_HOST", "10.0.0.1")  # as Kubernetes sets them
    monkeypatch.setenv("BANDMASTER_REDIS_PORT_6379_TCP_ADDR", "10.0.0.1")
    BandedRedisBroker.from_settings(url=redis_url).close()
    assert events(caplog) == ["variable_unknown"]
    assert context_of(caplog, "variable_unknown")["meant"] == "BANDMASTER_REDIS__URL"
    assert "hunter2" not in caplog.text


def test_a_setting_that_is_unknown_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANDMASTER_REDIS__URLL", "x")
    with pytest.raises(SettingsError, match="BANDMASTER_REDIS__URLL"):
        BandedRedisBroker.from_settings()


@pytest.mark.parametrize("source", ["variable", "file"])
def test_a_broker_without_the_settings_says_which_it_does_not_read(
    source: str, redis_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    if source == "variable":
        monkeypatch.setenv("BANDMASTER_LIMITS__MAX_QUEUE_SIZE", "5")
        monkeypatch.setenv("BANDMASTER_PATHS__VAR_DIR", "elsewhere")
    else:
        (tmp_path / "bandmaster.toml").write_text("[limits]\nmax_queue_size = 5\n")
    BandedRedisBroker(client=client_of(redis_url)).close()
    assert events(caplog) == ["settings_not_read"]
    said = context_of(caplog, "settings_not_read")
    expected = "BANDMASTER_LIMITS__MAX_QUEUE_SIZE" if source == "variable" else "bandmaster.toml"
    assert (said["settings"], said["instead"]) == (expected, "BandedRedisBroker.from_settings()")


def test_without_any_settings_nothing_is_said(redis_url: str, caplog: pytest.LogCaptureFixture) -> None:
    BandedRedisBroker(client=client_of(redis_url)).close()
    BandedRedisBroker.from_settings(url=redis_url).close()
    assert events(caplog) == []


def test_what_an_operator_has_set_stays(
    redis_url: str, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.controls.change_setting("max_queue_size", 7)
    monkeypatch.setenv("BANDMASTER_LIMITS__MAX_QUEUE_SIZE", "5")
    broker = BandedRedisBroker.from_settings(url=redis_url)
    broker.emit_after("process_boot")
    assert queue.views.status().settings["max_queue_size"] == 7
    assert context_of(caplog, "setting_differs")["in_force"] == 7
    broker.close()
