"""Settings: where they come from, and what is refused."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from clean_settings import clean_environment, forget_settings
from pydantic import ValidationError

import bandmaster.configs
from bandmaster.configs.errors import SettingsError
from bandmaster.configs.settings import Settings, load_settings

__all__ = ["clean_environment", "forget_settings"]

DOCUMENTED_FILE = Path(bandmaster.configs.__path__[0]) / "bandmaster.toml"
NOT_SET_OF_API = ("tokens_file", "tls_certificate", "tls_key", "url", "token", "token_file")
NOT_SET_OF_OIDC = ("issuer", "client_secret", "default_scope", "gates", "ca_file")


def test_without_any_source_every_setting_has_the_default_of_the_contract() -> None:
    settings = load_settings()
    assert settings.redis.url is None
    assert settings.redis.prefix == "exec_queue"
    assert settings.redis.dramatiq_namespace == "dramatiq"
    assert (settings.redis.socket_timeout_seconds, settings.redis.connect_wait_seconds) == (5, 30)
    assert (settings.redis.deadline_seconds, settings.redis.command_timeout_seconds) == (5, 5)
    assert settings.limits.max_concurrent_executions == 10
    assert settings.limits.max_queue_size == 10_000
    assert settings.limits.max_executions_per_user == 100
    assert settings.limits.stale_timeout_seconds == 3_600
    assert settings.leases.lease_ttl_ms == 30_000
    assert settings.leases.pod_lease_ttl_ms == 60_000
    assert (settings.leases.max_crashes, settings.leases.start_deadline_ms) == (3, 300_000)
    assert settings.leases.grace_ms == 30_000
    assert (settings.scheduler.interval_seconds, settings.scheduler.misfire_grace_seconds) == (10, 30)
    assert settings.scheduler.leader_ttl_ms == 10_000
    assert settings.retention.result_ttl_seconds == settings.retention.meta_ttl_seconds == 86_400
    assert settings.retention.result_ttl_seconds == 86_400
    assert (settings.retention.reply_ttl_seconds, settings.retention.journal_max_bytes) == (600, 67_108_864)
    assert (settings.k8s.backend, settings.k8s.namespace) == ("local", "bandmaster")
    assert (settings.k8s.cpu_request, settings.k8s.cpu_limit) == ("100m", "1")
    assert (settings.k8s.memory_request, settings.k8s.memory_limit) == ("128Mi", "512Mi")
    assert settings.k8s.allowed_images == ()
    assert (settings.paths.var_dir, settings.paths.pulse_dir) == (Path("var"), None)
    assert (settings.logging.level, settings.logging.format) == ("INFO", "console")


def test_the_documented_file_says_exactly_the_defaults() -> None:
    documented = tomllib.loads(DOCUMENTED_FILE.read_text())
    defaults = json.loads(Settings().model_dump_json())
    assert defaults["redis"].pop("url") is None
    assert defaults["ledger"].pop("url") is None
    assert defaults["ledger"].pop("keep_executions") is None
    assert [defaults["api"].pop(name) for name in NOT_SET_OF_API] == [None] * 6
    assert [defaults["oidc"].pop(name) for name in NOT_SET_OF_OIDC] == [None] * 5
    assert [defaults["items"].pop(name) for name in ("token_key", "token_key_file", "api_url")] == [None] * 3
    assert [defaults["notify"].pop(name) for name in ("secret", "secret_file", "ca_file")] == [None] * 3
    assert defaults["redis"].pop("prefix") == "exec_queue"
    assert defaults["paths"].pop("pulse_dir") is None
    assert [defaults["metrics"].pop(name) for name in ("port", "scheduler_port", "api_port")] == [None] * 3
    assert [defaults["limits"].pop(name) for name in ("max_concurrent", "ageing_seconds")] == [None] * 2
    assert documented == defaults


def test_the_prefix_follows_the_namespace_unless_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANDMASTER_REDIS__DRAMATIQ_NAMESPACE", "staging")
    assert Settings().redis.prefix == "staging:exec_queue"
    monkeypatch.setenv("BANDMASTER_REDIS__PREFIX", "{mine}")
    assert Settings().redis.prefix == "{mine}"
    monkeypatch.delenv("BANDMASTER_REDIS__PREFIX")
    monkeypatch.setenv("BANDMASTER_REDIS__DRAMATIQ_NAMESPACE", "dramatiq")
    assert Settings().redis.prefix == "exec_queue"


def test_the_leases_that_nobody_renews_cover_what_pods_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not Settings().leases.model_fields_set, "where nothing is configured, nothing is given to Redis"
    monkeypatch.setenv("BANDMASTER_K8S__PENDING_DEADLINE_SECONDS", "1800")
    assert Settings().leases.start_deadline_ms == 1_800_000
    assert Settings().leases.model_fields_set == {"start_deadline_ms"}
    monkeypatch.setenv("BANDMASTER_K8S__TERMINATION_GRACE_SECONDS", "60")
    assert Settings().leases.grace_ms == 90_000
    monkeypatch.setenv("BANDMASTER_LEASES__START_DEADLINE_MS", "0")
    monkeypatch.setenv("BANDMASTER_LEASES__GRACE_MS", "1000")
    assert (Settings().leases.start_deadline_ms, Settings().leases.grace_ms) == (0, 1_000), "unless they are given"


def test_the_constructor_goes_before_the_environment_which_goes_before_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bandmaster.toml").write_text(
        "[limits]\nmax_queue_size = 1\nmax_executions_per_user = 1\nmax_concurrent_executions = 1\n"
    )
    monkeypatch.setenv("BANDMASTER_LIMITS__MAX_EXECUTIONS_PER_USER", "2")
    monkeypatch.setenv("BANDMASTER_LIMITS__MAX_CONCURRENT_EXECUTIONS", "2")
    limits = Settings.model_validate({"limits": {"max_concurrent_executions": 3}}).limits
    assert (limits.max_queue_size, limits.max_executions_per_user, limits.max_concurrent_executions) == (1, 2, 3)
    assert limits.stale_timeout_seconds == 3_600


def test_the_file_that_bandmaster_config_names_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text('[paths]\nvar_dir = "/srv/bandmaster"\n')
    monkeypatch.setenv("BANDMASTER_CONFIG", str(tmp_path / "other.toml"))
    assert load_settings().paths.var_dir == Path("/srv/bandmaster")


def test_settings_are_read_once_and_forgotten_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_settings()
    monkeypatch.setenv("BANDMASTER_LOGGING__LEVEL", "debug")
    assert load_settings() is first
    load_settings.cache_clear()
    assert load_settings().logging.level == "DEBUG"


def test_an_empty_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANDMASTER_REDIS__URL", "")
    assert load_settings().redis.url is None


def test_images_come_with_commas_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANDMASTER_K8S__ALLOWED_IMAGES", "python:*, busybox")
    assert load_settings().k8s.allowed_images == ("python:*", "busybox")


def test_tables_come_as_json_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANDMASTER_K8S__NODE_SELECTOR", '{"disk": "fast"}')
    monkeypatch.setenv("BANDMASTER_K8S__TOLERATIONS", '[{"key": "gpu", "operator": "Exists"}]')
    monkeypatch.setenv("BANDMASTER_K8S__PROFILES", '{"gpu": {"memory_limit": "16Gi", "actions": "train,tune"}}')
    k8s = load_settings().k8s
    assert k8s.node_selector == {"disk": "fast"}
    assert k8s.tolerations == ({"key": "gpu", "operator": "Exists"},)
    assert (k8s.profiles["gpu"].memory_limit, k8s.profiles["gpu"].actions) == ("16Gi", ("train", "tune"))


def test_what_a_profile_does_not_know_is_named_with_what_it_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bandmaster.toml").write_text('[k8s.profiles.gpu]\nnodes = "fast"\n')
    with pytest.raises(SettingsError, match=r"k8s\.profiles\.gpu\.nodes.*unknown; allowed: .*node_selector"):
        load_settings()


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        (
            "BANDMASTER_LIMIT__MAX_QUEUE_SIZE",
            "1",
            r"BANDMASTER_LIMIT__MAX_QUEUE_SIZE.*section 'limit'.*BANDMASTER_LIMITS__",
        ),
        (
            "BANDMASTER_LIMITS__MAX_QUEUE",
            "1",
            r"BANDMASTER_LIMITS__MAX_QUEUE:.*'max_queue'.*BANDMASTER_LIMITS__MAX_QUEUE_SIZE",
        ),
        (
            "BANDMASTER_LIMITS__MAX_QUEUE_SIZE",
            "many",
            r"limits\.max_queue_size \(environment variable BANDMASTER_LIMITS__.*'many'",
        ),
        ("BANDMASTER_LIMITS__MAX_QUEUE_SIZE", "0", r"limits\.max_queue_size.*'0'.*greater than or equal to 1"),
        ("BANDMASTER_K8S__BACKEND", "docker", r"k8s\.backend.*'docker'.*'local' or 'kubernetes'"),
        ("BANDMASTER_LEASES__LEASE_TTL_MS", "99", r"leases\.lease_ttl_ms.*'99'.*greater than or equal to 100"),
        ("BANDMASTER_REDIS__PREFIX", "a b", r"redis\.prefix.*'a b'"),
        ("BANDMASTER_CONFIG", "missing.toml", r"BANDMASTER_CONFIG: 'missing.toml' is not a file"),
    ],
)
def test_a_wrong_variable_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, message: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError, match=message):
        load_settings()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "[limits]\nmax_queue = 1\n",
            r"limits\.max_queue \(file 'bandmaster.toml'\): unknown; allowed: .*max_queue_size",
        ),
        (
            "[limit]\nmax_queue_size = 1\n",
            r"setting limit \(file 'bandmaster.toml'\): unknown; allowed: redis, shards, limits",
        ),
        ("limits = 3\n", r"setting limits "),
        ("[limits]\nmax_queue_size = true\n", r"limits\.max_queue_size.*true and false are not allowed"),
        ("[limits\n", r"'bandmaster.toml' is not TOML"),
    ],
)
def test_a_wrong_file_is_refused_by_key(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "bandmaster.toml").write_text(content)
    with pytest.raises(SettingsError, match=message):
        load_settings()


def test_settings_do_not_change() -> None:
    with pytest.raises(ValidationError):
        load_settings().limits.max_queue_size = 1  # pyright: ignore[reportAttributeAccessIssue]


def test_var_dir_is_the_same_for_every_process_started_in_a_folder(tmp_path: Path) -> None:
    assert load_settings().paths.absolute == tmp_path / "var"


def test_the_bounds_of_the_default_lane_follow_those_of_all_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = load_settings().queue
    assert (defaults.max_queue_length, defaults.queue_timeout_seconds, defaults.enable_metrics) == (10_000, 3_600, True)
    load_settings.cache_clear()
    monkeypatch.setenv("BANDMASTER_QUEUE__MAX_QUEUE_LENGTH", "5000")
    monkeypatch.setenv("BANDMASTER_QUEUE__QUEUE_TIMEOUT_SECONDS", "1800")
    monkeypatch.setenv("BANDMASTER_QUEUE__ENABLE_METRICS", "false")
    settings = load_settings()
    assert (settings.queue.max_queue_length, settings.queue.queue_timeout_seconds) == (5_000, 1_800)
    assert not settings.queue.enable_metrics
    assert (settings.limits.max_queue_size, settings.limits.stale_timeout_seconds) == (5_000, 1_800)
    assert {"max_queue_size", "stale_timeout_seconds"} <= settings.limits.model_fields_set, "so they reach Redis"


def test_a_limit_that_is_set_follows_no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANDMASTER_QUEUE__MAX_QUEUE_LENGTH", "5000")
    monkeypatch.setenv("BANDMASTER_LIMITS__MAX_QUEUE_SIZE", "7000")
    settings = load_settings()
    assert (settings.queue.max_queue_length, settings.limits.max_queue_size) == (5_000, 7_000)


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5"])
def test_a_queue_of_no_length_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANDMASTER_QUEUE__MAX_QUEUE_LENGTH", value)
    with pytest.raises(SettingsError, match=r"queue\.max_queue_length"):
        load_settings()


@pytest.mark.parametrize("variable", ["BANDMASTER_LEASES__LEASE_TTL_MS", "BANDMASTER_LEASES__LEASE_TTL"])
@pytest.mark.parametrize("module", ["application", "bandmaster.actors"])
def test_a_worker_with_a_wrong_setting_ends_with_one_line_that_says_it(
    tmp_path: Path, module: str, variable: str
) -> None:
    made = "from bandmaster.middleware import BandedRedisBroker\n\nbroker = BandedRedisBroker.from_settings()\n"
    (tmp_path / "application.py").write_text(made)
    ended = subprocess.run(
        [sys.executable, "-m", "dramatiq", module, "--processes", "1", "--threads", "1"],
        env=os.environ | {variable: "5"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    said = ended.stdout + ended.stderr
    assert ended.returncode != 0
    assert len([line for line in said.splitlines() if variable in line]) == 1, said
    assert "bandmaster: " in said
    assert "Traceback" not in said
