"""The whole contents of a queue in Redis, read in one moment: for the invariants, and to compare before with after."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import redis

from bandmaster.scheduler.keys import Keys

_DUE_TOKEN_MS: Final = 1_000
_READ_ALL: Final = (Path(__file__).parent / "dump.lua").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Entry:
    """One key."""

    kind: str
    ttl_ms: int
    parts: tuple[str, ...]

    @property
    def hash(self) -> dict[str, str]:
        return dict(zip(self.parts[::2], self.parts[1::2], strict=True))

    @property
    def zset(self) -> dict[str, float]:
        return {member: float(score) for member, score in zip(self.parts[::2], self.parts[1::2], strict=True)}

    @property
    def set(self) -> frozenset[str]:
        return frozenset(self.parts)


_NONE: Final = Entry("none", -2, ())


@dataclass(frozen=True, slots=True)
class Dump:
    """All keys, without the prefix."""

    keys: dict[str, Entry]

    def __getitem__(self, key: str) -> Entry:
        return self.keys.get(key, _NONE)

    def metas(self) -> dict[str, dict[str, str]]:
        """Every execution's record."""
        return {key.removeprefix("meta:"): e.hash for key, e in self.keys.items() if key.startswith("meta:")}

    def tombstones(self) -> dict[str, dict[str, str]]:
        """State and attempt of those that have ended and have no record."""
        ended = {key.removeprefix("end:"): e.parts[0].split() for key, e in self.keys.items() if key.startswith("end:")}
        return {name: {"state": state, "attempt": attempt} for name, (state, attempt) in ended.items()}

    def known(self) -> dict[str, dict[str, str]]:
        """All that is known of every execution."""
        return self.tombstones() | self.metas()

    def contents(self) -> dict[str, tuple[str, frozenset[str] | tuple[str, ...]]]:
        """Every key's contents without the TTLs, which run; a hash or set in no order."""
        return {
            key: (e.kind, frozenset(e.hash.items()) if e.kind == "hash" else e.set if e.kind == "set" else e.parts)  # type: ignore[misc]
            for key, e in self.keys.items()
        }


def read_dump(client: redis.Redis, keys: Keys) -> Dump:
    """Everything, in one moment."""
    raw: list[Any] = client.eval(_READ_ALL, 0, keys.prefix)  # type: ignore[assignment]
    cut = len(keys.prefix) + 1
    return Dump(
        {
            key.decode()[cut:]: Entry(kind.decode(), ttl_ms, tuple(part.decode("latin-1") for part in parts))
            for key, kind, ttl_ms, parts in raw
        }
    )


@contextmanager
def nothing_ends_by_itself(client: redis.Redis, keys: Keys) -> Generator[None]:
    """Meanwhile only calls change what is there: the token for whoever sleeps, which lasts a second, lasts as well."""
    client.persist(keys.named("due"))
    yield
    client.pexpire(keys.named("due"), _DUE_TOKEN_MS)
