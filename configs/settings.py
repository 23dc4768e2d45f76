"""``load_settings()``: the settings of this process, from the environment, a TOML file, and the defaults.

The entry point of a process (worker, scheduler, command line) calls it once. All other code takes the values it needs
as arguments, so that a library user or a test needs no settings. Wrong settings stop the process before it does
anything.
"""

from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from pydantic import BaseModel, PrivateAttr, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from .api import ApiSettings
from .areas import (
    KubernetesSettings,
    LeaseSettings,
    LimitSettings,
    LoggingSettings,
    PathSettings,
    RedisSettings,
    RetentionSettings,
    SchedulerSettings,
)
from .errors import SettingsError, SettingsRefused
from .items import ItemsSettings
from .ledger import LedgerSettings
from .local import LocalSettings
from .metrics import MetricsSettings
from .notify import NotifySettings
from .oidc import OidcSettings
from .placement import Profile
from .queue import QueueSettings
from .shards import DEFAULT, ShardsSettings, check_servers
from .sources import Sections, configured_file, from_environment, from_file, variable_of

_LIMITS_OF_QUEUES: Final = {
    "max_queue_size": "max_queue_length",
    "stale_timeout_seconds": "queue_timeout_seconds",
}
"""Limits of lane `executions` → what they follow in `queue`."""


class _Source(PydanticBaseSettingsSource):
    """The values from one source, for pydantic-settings to merge."""

    def __init__(self, settings: type[BaseSettings], values: dict[str, Any]) -> None:
        super().__init__(settings)
        self._values = values

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        return self._values.get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        return self._values


class Settings(BaseSettings):
    """All settings; every area, and every field in it, has a default."""

    model_config: ClassVar[SettingsConfigDict] = SettingsConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True
    )

    redis: RedisSettings = RedisSettings()
    shards: ShardsSettings = ShardsSettings()
    limits: LimitSettings = LimitSettings()
    queue: QueueSettings = QueueSettings()
    leases: LeaseSettings = LeaseSettings()
    scheduler: SchedulerSettings = SchedulerSettings()
    retention: RetentionSettings = RetentionSettings()
    k8s: KubernetesSettings = KubernetesSettings()
    local: LocalSettings = LocalSettings()
    paths: PathSettings = PathSettings()
    ledger: LedgerSettings = LedgerSettings()
    metrics: MetricsSettings = MetricsSettings()
    items: ItemsSettings = ItemsSettings()
    notify: NotifySettings = NotifySettings()
    api: ApiSettings = ApiSettings()
    oidc: OidcSettings = OidcSettings()
    logging: LoggingSettings = LoggingSettings()
    _whole: "Settings | None" = PrivateAttr(None)

    @model_validator(mode="after")
    def _leases_follow_the_pods(self) -> Self:
        """Let leases that nobody renews last as long as pods may take; a shorter one would give a slot twice."""
        followed: dict[str, int] = {}
        if "pending_deadline_seconds" in self.k8s.model_fields_set:
            followed["start_deadline_ms"] = self.k8s.pending_deadline_seconds * 1000
        if self.k8s.termination_grace_seconds * 1000 > self.leases.grace_ms:
            followed["grace_ms"] = self.k8s.termination_grace_seconds * 1000 + self.leases.grace_ms
        unset = {name: value for name, value in followed.items() if name not in self.leases.model_fields_set}
        if unset:
            # `self` is frozen, hence object.__setattr__. The values count as set, so a worker writes them to Redis.
            object.__setattr__(self, "leases", self.leases.model_copy(update=unset))
        return self

    @model_validator(mode="after")
    def _limits_follow_the_queues(self) -> Self:
        """Let lane `executions` have the bounds of all queues, where it has none of its own."""
        followed = {
            limit: getattr(self.queue, name)
            for limit, name in _LIMITS_OF_QUEUES.items()
            if name in self.queue.model_fields_set and limit not in self.limits.model_fields_set
        }
        if followed:
            object.__setattr__(self, "limits", self.limits.model_copy(update=followed))
        return self

    @model_validator(mode="after")
    def _one_shard(self) -> Self:
        """Let a process that works on one shard only have its server, ledger, folder and installation."""
        check_servers(self.redis.url, self.shards.servers)
        if self.shards.only and (self.shards.servers or self.shards.only == DEFAULT):
            whole = self.model_copy()
            for name, value in vars(self.of_shard(self.shards.only)).items():
                object.__setattr__(self, name, value)
            self._whole = whole
        return self

    @property
    def item_keys(self) -> tuple[bytes, ...]:
        """The keys of the tokens for items, read anew; with local programs one is made, where worker and API meet.

        Raises:
            SettingsError: As `ItemsSettings.keys` does.
        """
        return self.items.keys(self.paths.absolute if self.k8s.backend == "local" else None)

    @property
    def whole(self) -> "Settings":
        """The settings with all shards, for whoever works on one and shows the others."""
        return self if self._whole is None else self._whole

    def of_shard(self, name: str) -> Self:
        """Return the settings of one shard alone: as if its server were `redis.url`, and there were no others.

        Args:
            name: The shard; `default` is the one of `redis.url`.

        Raises:
            SettingsError: If it has no ledger of its own, but `ledger.url` names one.
            KeyError: If there is no such shard.
        """
        alone = ShardsSettings.model_construct(only=name)
        if name == DEFAULT:
            return self.model_copy(update={"shards": alone})
        shard = self.shards.servers[name]
        if self.ledger.url is not None and shard.ledger_url is None:
            raise SettingsError(
                f"shard {name!r} has no ledger: give it a table with ledger_url, another database than ledger.url"
            )
        # Pods of several shards must not be taken for each other's: what one does not know another may run.
        return self.model_copy(
            update={
                "shards": alone,
                "redis": self.redis.model_copy(update={"url": shard.url}),
                "ledger": self.ledger.model_copy(update={"url": shard.ledger_url}),
                "paths": self.paths.model_copy(update={"var_dir": self.paths.var_dir / "shards" / name}),
                "k8s": self.k8s.model_copy(update={"installation": f"{self.k8s.installation}-{name}"}),
            }
        )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        path = configured_file()
        return (
            init_settings,
            _Source(settings_cls, from_environment(sections())),
            _Source(settings_cls, {} if path is None else from_file(path)),
        )


@cache
def sections() -> Sections:
    """Section → the names of its settings; None: of any name."""
    return {
        name: None if _area(name).model_config.get("extra") == "allow" else frozenset(_area(name).model_fields)
        for name in Settings.model_fields
    }


@cache
def load_settings() -> Settings:
    """Return the settings of this process, read once; ``load_settings.cache_clear()`` forgets them.

    Raises:
        SettingsRefused: If settings are wrong; the message names each of them, its source and what is allowed.
    """
    try:
        return Settings()
    except ValidationError as error:
        problem = "; ".join(_explained(detail) for detail in error.errors(include_url=False))
    except SettingsError as error:
        problem = str(error)
    raise SettingsRefused(problem)


def _area(section: str) -> type[BaseModel]:
    annotation: Any = Settings.model_fields[section].annotation
    return annotation


def _explained(detail: ErrorDetails) -> str:
    path = [str(part) for part in detail["loc"]]
    where = f"setting {'.'.join(path) or 'shards'}{_place(path)}"
    if detail["type"] == "extra_forbidden":
        known = _area(path[0]).model_fields if len(path) > 1 else Settings.model_fields
        if path[:2] == ["k8s", "profiles"]:
            known = Profile.model_fields
        return f"{where}: unknown; allowed: {', '.join(known)}"
    message = detail["msg"].removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    if (
        path[:1] in ([], ["shards"])
        or path[1:] in (["url"], ["token"], ["client_secret"], ["secret"], ["token_key"])
        or isinstance(detail["input"], dict)
    ):
        # The value may be a secret, or hold one.
        return f"{where}: {message}"
    return f"{where}: {detail['input']!r} is not allowed: {message}"


def _place(path: list[str]) -> str:
    if len(path) > 1 and path[1] in from_environment(sections()).get(path[0], {}):
        return f" (environment variable {variable_of(path[0], path[1])})"
    file: Path | None = configured_file()
    return "" if file is None else f" (file {str(file)!r})"
