"""The settings of shards: further servers, each of which holds some lanes or bands of one installation.

In the flow: `Settings.shards`. A shard is a name in the section and the server behind it: ``high = "redis://…"``, or a
table with lanes and bands. What no shard claims is on the server of `redis.url`, whose name is `default`. Wrong claims
stop a process before it does anything. `docs/shards.md` says what holds within a shard and what does not span them.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final, Literal, cast, get_args
from urllib.parse import parse_qs, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_serializer, field_validator, model_validator

from .area import Area, tables, texts
from .errors import SettingsError
from .redaction import redacted_url
from .redis_url import checked_redis_url

DEFAULT: Final = "default"
"""The shard of everything that no other one claims: the server of `redis.url`."""
Band = Literal["CRITICAL", "HIGH", "NORMAL", "LOW", "BACKGROUND"]
BANDS: Final[tuple[str, ...]] = get_args(Band)
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class ShardSettings(Area, frozen=True):
    """One shard: its server, and what lives there."""

    url: str
    """redis://, rediss://, unix:// or redis+sentinel:// URL of its server."""
    lanes: tuple[str, ...] = ()
    """The lanes that are wholly on this server."""
    bands: tuple[Band, ...] = ()
    """The bands that are there, of all lanes that no shard claims."""
    ledger_url: str | None = None
    """Its own ledger; none: `ledger.sqlite3` under `paths.var_dir`/shards/NAME."""

    _texts = field_validator("lanes", mode="before")(texts)

    @field_validator("bands", mode="before")
    @classmethod
    def _in_any_case(cls, value: object) -> object:
        named = texts(value)
        return (
            tuple(str(each).upper() for each in cast("Iterable[object]", named))
            if isinstance(named, list | tuple)
            else named
        )

    @field_validator("url")
    @classmethod
    def _a_redis_url(cls, value: str) -> str:
        return checked_redis_url(value)

    @property
    def claims(self) -> dict[str, object]:
        """This shard as a table, with its password."""
        return {"url": self.url, "lanes": self.lanes, "bands": self.bands}

    @field_serializer("url", "ledger_url")
    def _without_password(self, value: str | None) -> str | None:
        return None if value is None else redacted_url(value)

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            yield name, redacted_url(value) if name in ("url", "ledger_url") and isinstance(value, str) else value


class ShardsSettings(BaseModel, frozen=True):
    """The shards, by name, and what of them this process works with."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="allow", hide_input_in_errors=True)
    __pydantic_extra__: dict[str, ShardSettings] = Field(init=False)  # pyright: ignore[reportIncompatibleVariableOverride]

    only: str = ""
    """The one shard that this process works on, as if its server were `redis.url`; none: all of them. For the ledger,
    the API and commands; a broker sends to all shards and refuses it."""
    consumed: tuple[str, ...] = ()
    """The shards whose lanes this process's workers take from; none: all of them."""

    _texts = field_validator("consumed", mode="before")(texts)

    @model_validator(mode="before")
    @classmethod
    def _tables(cls, values: object) -> object:
        if not isinstance(values, Mapping):
            return values
        given = cast("Mapping[str, object]", values)
        return {name: each if name in cls.model_fields else _table(name, each) for name, each in given.items()}

    @model_validator(mode="after")
    def _claims(self) -> "ShardsSettings":
        _check_claims(self.servers)
        known = (DEFAULT, *self.servers)
        for name in filter(None, (self.only, *self.consumed)):
            if name not in known:
                raise ValueError(f"there is no shard {name!r}; allowed: {', '.join(known)}")
        return self

    @property
    def servers(self) -> dict[str, ShardSettings]:
        """Every shard but `default`, by name."""
        return dict(self.__pydantic_extra__)


def read_shards(given: Mapping[str, str | Mapping[str, object]]) -> dict[str, ShardSettings]:
    """Read shards that a program gives, as the section of the settings would be read.

    Raises:
        SettingsError: If a shard is wrong, or two claim the same.
    """
    if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise SettingsError(
            f"shards: a {type(given).__name__} ({_shown(given)}) names no shards; allowed: a dict by their names, "
            'like {"high": "redis://…"} or {"bulk": {"url": "redis://…", "lanes": ["reports"]}}'
        )
    try:
        return ShardsSettings.model_validate(dict(given)).servers
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in ("shards", *first["loc"]))
        raise SettingsError(f"{where}: {first['msg'].removeprefix('Value error, ')}") from None


def _shown(given: object) -> str:
    first = next(iter(cast("Iterable[object]", given)), None) if isinstance(given, list | tuple) else given
    return redacted_url(first) if isinstance(first, str) else f"a {type(first).__name__}"


def check_servers(default_url: str | None, shards: Mapping[str, ShardSettings]) -> None:
    """Check that no two shards are the same database of the same server.

    Raises:
        ValueError: If two are.
    """
    urls = ({} if default_url is None else {DEFAULT: default_url}) | {name: each.url for name, each in shards.items()}
    found = same_places({name: _server(url) for name, url in urls.items()})
    if found is not None:
        raise ValueError(f"shards {told_same(*found, redacted_url(urls[found[1]]))}")


def same_places(places: Mapping[str, object]) -> tuple[str, str] | None:
    """Return two shards whose databases are the same; None: no two are."""
    seen: dict[object, str] = {}
    for name, place in places.items():
        other = seen.setdefault(place, name)
        if other != name:
            return other, name
    return None


def told_same(one: str, other: str, place: str) -> str:
    """Say that two shards are one database, and what to do."""
    return (
        f"{one} and {other} are the same database of one server ({place}), and would share every key; give one of them "
        "another server or database"
    )


def host_of(name: str | None) -> str | None:
    """Return a host's name; all of this machine's are one."""
    return "localhost" if name in _LOCAL else name


def _table(name: str, value: object) -> object:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name[:40]!r} cannot name a shard; allowed: a-z, then a-z, 0-9, _ or -, 32 at most")
    if name == DEFAULT:
        raise ValueError(f"{DEFAULT!r} is the shard of redis.url: set that")
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = tables(value)
    if not isinstance(value, str):
        return value
    if name.upper() not in BANDS:
        raise ValueError(
            f"shard {name!r} is a URL alone, and its name is none of the bands ({', '.join(BANDS).lower()}): say what "
            f'lives there, as in {name} = {{url = "redis://…", lanes = ["reports"]}}'
        )
    return {"url": value, "bands": (name.upper(),)}


def _check_claims(shards: Mapping[str, ShardSettings]) -> None:
    claimed: dict[tuple[str, str], str] = {}
    for name, shard in shards.items():
        if not shard.lanes and not shard.bands:
            raise ValueError(f"shard {name!r} has neither lanes nor bands: nothing would ever be sent there")
        for claim in [("lane", lane) for lane in shard.lanes] + [("band", band) for band in shard.bands]:
            other = claimed.setdefault(claim, name)
            if other != name:
                raise ValueError(f"shards {other} and {name} both claim {claim[0]} {claim[1]}: only one may have it")


def _server(url: str) -> object:
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return (parts.path, parse_qs(parts.query).get("db", ["0"])[0])
    place = parts.netloc.rpartition("@")[2]
    if "sentinel" in parts.scheme:
        service, _, database = parts.path.strip("/").partition("/")
        return (frozenset(place.split(",")), service, database or "0")
    database = parse_qs(parts.query).get("db", [parts.path.strip("/") or "0"])[0]
    return (host_of(parts.hostname), parts.port or 6379, database)
