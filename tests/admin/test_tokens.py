"""Tokens of the database: found, expired, revoked, noted when used; what happens when the database is away."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from calling import V1, Api, Clock, found

from bandmaster.admin.auth.keeper import FRESH_SECONDS, STALE_SECONDS, USE_NOTED_SECONDS, Keeper
from bandmaster.admin.auth.making import new_token
from bandmaster.admin.auth.scopes import Scope
from bandmaster.admin.auth.secrets import Secret
from bandmaster.admin.auth.token_table import TokenTable
from bandmaster.ledger.database import Database
from bandmaster.ledger.errors import LedgerUnavailable
from bandmaster.ledger.queries.asking import Asking
from bandmaster.scheduler.model.priority import Priority
from waiting import wait_until

SECRET = "A" * 43
DIGEST = hashlib.sha256(SECRET.encode()).hexdigest()


@pytest.fixture
def table(sqlite_url: str) -> Iterator[TokenTable]:
    database = Database(sqlite_url)
    yield TokenTable(Asking(database, queue="exec_queue"))
    database.close()


def made(table: TokenTable, **fields: Any) -> tuple[str, str]:
    """A token's id and text."""
    given: dict[str, Any] = {"owner": "ann", "scopes": frozenset({Scope.READ}), "max_band": Priority.NORMAL}
    given |= {"gates": None, "expires_ms": None, "created_by": "a test"} | fields
    token, secret = new_token(**given)
    table.add(token)
    return token.token_id, secret.text


def test_a_token_is_kept_without_its_secret(table: TokenTable, sqlite_url: str) -> None:
    _, text = made(table, gates=("a:*", "b"), max_band=Priority.HIGH)
    (kept,) = table.all()
    assert (kept.owner, kept.gates, kept.max_band, kept.used_ms) == ("ann", ("a:*", "b"), Priority.HIGH, None)
    folder = Path(sqlite_url.removeprefix("sqlite:///")).parent
    secret = text.split("_", 2)[2]
    assert not any(secret.encode() in file.read_bytes() for file in folder.glob("ledger*"))
    assert secret not in repr(Secret.read(text))


def test_a_revoked_token_is_refused_within_seconds(table: TokenTable, clock: Clock) -> None:
    keeper = Keeper(table=table, clock=clock)
    token_id, text = made(table)
    assert found(keeper, text) is not None
    table.revoke(token_id, by="another process")
    assert found(keeper, text) is not None, "what was asked a moment ago"
    clock.now += FRESH_SECONDS
    assert found(keeper, text) is None
    first = table.all()[0].revoked_ms
    table.revoke(token_id, by="again")
    assert table.all()[0].revoked_ms == first
    assert FRESH_SECONDS < 5


def test_an_expired_token_is_refused(table: TokenTable, clock: Clock) -> None:
    wall = Clock()
    keeper = Keeper(table=table, clock=clock, wall_clock=wall)
    _, text = made(table, expires_ms=1_001_000)
    assert found(keeper, text) is not None
    wall.now = 1_001.0
    assert found(keeper, text) is None


def test_a_known_token_outlives_its_database_for_minutes(table: TokenTable, clock: Clock, sqlite_url: str) -> None:
    keeper = Keeper(table=table, clock=clock)
    _, text = made(table)
    _, unseen = made(table)
    assert found(keeper, text) is not None
    file = Path(sqlite_url.removeprefix("sqlite:///"))
    file.rename(file.with_suffix(".away"))
    clock.now += FRESH_SECONDS
    assert found(keeper, text) is not None
    with pytest.raises(LedgerUnavailable):
        found(keeper, unseen)
    clock.now += STALE_SECONDS
    with pytest.raises(LedgerUnavailable):
        found(keeper, text)
    file.with_suffix(".away").rename(file)
    clock.now += FRESH_SECONDS
    assert found(keeper, text) is not None


def test_its_use_is_noted_once_a_minute(table: TokenTable, clock: Clock) -> None:
    keeper = Keeper(table=table, clock=clock)
    _, text = made(table)
    token = found(keeper, text)
    assert token is not None
    noted = list[str]()
    table.note_use, note = noted.append, table.note_use  # type: ignore[method-assign]
    for _ in range(3):
        keeper.note_use(token)
    clock.now += USE_NOTED_SECONDS
    keeper.note_use(token)
    assert noted == [token.token_id] * 2
    note(token.token_id)
    assert (table.all()[0].used_ms or 0) % 60_000 == 0


def test_the_last_use_is_noted_by_the_api(api: Api) -> None:
    token = api.token("ann", "read")
    assert api.table.all()[0].used_ms is None
    with api.client(token) as client:
        assert client.get(f"{V1}/whoami").json()["owner"] == "ann"
    wait_until(lambda: api.table.all()[0].used_ms is not None, what="the note of its use")
