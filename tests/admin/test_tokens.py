"""Tokens: made, found, expired, revoked; in the table, in a file, and local; what happens when the database is away."""

import hashlib
import json
import logging
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from calling import V1, Api

from bandmaster.admin.auth.keeper import FRESH_SECONDS, STALE_SECONDS, USE_NOTED_SECONDS, Keeper
from bandmaster.admin.auth.local_token import FILE, local_token
from bandmaster.admin.auth.making import new_token
from bandmaster.admin.auth.scopes import Scope
from bandmaster.admin.auth.secrets import Secret
from bandmaster.admin.auth.token_file import TokenFile
from bandmaster.admin.auth.token_table import TokenTable
from bandmaster.admin.auth.tokens import Token
from bandmaster.configs.errors import SettingsError
from bandmaster.ledger.database import Database
from bandmaster.ledger.errors import LedgerUnavailable
from bandmaster.ledger.queries.asking import Asking
from bandmaster.ledger.schema.upgrading import upgrade
from bandmaster.scheduler.model.priority import Priority

SECRET = "A" * 43
DIGEST = hashlib.sha256(SECRET.encode()).hexdigest()


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def table(sqlite_url: str) -> Iterator[TokenTable]:
    database = Database(sqlite_url)
    upgrade(database)
    yield TokenTable(Asking(database))
    database.close()


def found(keeper: Keeper, text: str) -> Token | None:
    """What a request would find, whichever way it asks."""
    secret = Secret.read(text)
    assert secret is not None
    known = keeper.known(secret)
    token = keeper.find(secret)
    assert known in (None, token)
    return token


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
    with api.client(token) as client:
        assert client.get(f"{V1}/whoami").json()["owner"] == "ann"
    assert token.split("_")[1] in {each.token_id for each in api.table.all()}


def entry(**fields: str) -> str:
    given = {"id": '"ci"', "sha256": f'"{DIGEST}"', "owner": '"ann"', "scopes": '["submit"]'} | fields
    return "[[token]]\n" + "".join(f"{name} = {value}\n" for name, value in given.items() if value)


def test_a_file_of_tokens_works_without_sql(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "tokens.toml"
    path.write_text(entry(gates='["tenant:*"]', max_band='"HIGH"', expires="2099-01-01T00:00:00Z"))
    keeper = Keeper(file=TokenFile(path, clock=clock))
    token = found(keeper, f"bm_ci_{SECRET}")
    assert token is not None
    assert (token.owner, token.max_band, token.gates) == ("ann", Priority.HIGH, ("tenant:*",))
    assert found(keeper, f"bm_ci_{'B' * 43}") is None
    assert found(keeper, f"bm_other_{SECRET}") is None


def test_a_changed_file_is_read_again_and_a_wrong_one_is_not(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "tokens.toml"
    path.write_text(entry())
    file = TokenFile(path, clock=clock)
    path.write_text(entry(owner='"bob"'))
    clock.now += 2
    found = file.find("ci")
    assert found is not None
    assert found.owner == "bob"
    path.write_text("[[token")
    clock.now += 2
    with caplog.at_level(logging.ERROR):
        assert file.find("ci") == found
    assert "tokens_file_not_read" in caplog.text
    path.write_text("")
    clock.now += 2
    assert file.find("ci") is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (entry(sha256='"abc"'), "token 1: sha256: it is none; allowed: 64 hexadecimal digits"),
        (entry(scopes='["all"]'), "token 1: scope: 'all' is not a scope; allowed: read, submit, operate, admin"),
        (entry(scopes="[]"), "token 1: scope: none is given"),
        (entry(owner=""), "token 1: 'owner' is missing"),
        (entry(secret='"x"'), "token 1: token: 'secret' is not a field"),
        (entry(expires="2099-01-01"), "token 1: expires: it is no time with a zone"),
        (entry() + entry(), "token 2: the id 'ci' is there twice"),
        ("nothing = 1", "has something else than"),
        ("[[token", "is no TOML"),
    ],
)
def test_a_wrong_file_is_explained(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "tokens.toml"
    path.write_text(text)
    with pytest.raises(SettingsError) as raised:
        TokenFile(path)
    assert problem in str(raised.value)


def test_a_missing_file_is_explained(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"api\.tokens_file: .* cannot be read: No such file"):
        TokenFile(tmp_path / "none.toml")


def test_the_local_token_is_for_who_may_read_its_file(tmp_path: Path) -> None:
    token = local_token(tmp_path)
    file = tmp_path / FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    text = file.read_text().strip()
    assert found(Keeper(local=token), text) == token
    assert token.may(Scope.ADMIN)
    assert list(tmp_path.iterdir()) == [file]
    assert local_token(tmp_path) == token, "the processes of one folder share it"
    file.unlink()
    assert found(Keeper(local=local_token(tmp_path)), text) is None


def test_processes_that_start_at_once_share_one_local_token(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as executor:
        tokens = {each.digest for each in executor.map(local_token, [tmp_path / "var"] * 8)}
    assert len(tokens) == 1
    assert [each.name for each in (tmp_path / "var").iterdir()] == [FILE]


@pytest.mark.parametrize("damage", ["readable", "empty", "another", "link"])
def test_a_local_token_that_others_could_know_is_refused(tmp_path: Path, damage: str) -> None:
    local_token(tmp_path)
    file = tmp_path / FILE
    match damage:
        case "readable":
            file.chmod(0o640)
        case "empty":
            file.write_text("")
        case "another":
            file.write_text(f"bm_ci_{SECRET}")
        case _:
            file.rename(tmp_path / "elsewhere")
            file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises((SettingsError, OSError)):
        local_token(tmp_path)


def test_tokens_are_made_and_revoked_over_the_api(api: Api) -> None:
    with api.client(api.token("root", "admin")) as client:
        asked = {"owner": "ann", "scopes": ["submit"], "expires_at": "2099-01-01T00:00:00Z", "gates": ["a:*"]}
        new = client.post(f"{V1}/tokens", json=asked).json()
        assert new["created_by"].startswith("root (token ")
        listed = client.get(f"{V1}/tokens").json()["tokens"]
        assert {each["token_id"] for each in listed} >= {new["token_id"]}
        assert not any("token" in each for each in listed)
        with api.client(new["token"]) as anns:
            who = anns.get(f"{V1}/whoami").json()
            assert (who["owner"], who["scopes"], who["gates"]) == ("ann", ["submit"], ["a:*"])
            assert client.delete(f"{V1}/tokens/{new['token_id']}").json()["revoked_at"]
            assert anns.get(f"{V1}/whoami").status_code == 401
        assert client.delete(f"{V1}/tokens/none").status_code == 404
        refused: list[dict[str, Any]] = [{"scopes": ["all"]}, {"scopes": []}, {"owner": ""}, {"max_band": "x"}]
        refused += [{"expires_at": each} for each in ("9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00", "2099-01-01")]
        for wrong in (*refused, {"gates": [""]}):
            assert client.post(f"{V1}/tokens", json=asked | wrong).status_code == 422, wrong
        assert client.get(f"{V1}/tokens").status_code == 200


@pytest.fixture
def command(redis_url: str, sqlite_url: str) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    environment = os.environ | {"BANDMASTER_REDIS__URL": redis_url, "BANDMASTER_LEDGER__URL": sqlite_url}

    def command(*arguments: str) -> "subprocess.CompletedProcess[str]":
        asked = [sys.executable, "-m", "bandmaster", "token", *arguments]
        return subprocess.run(asked, env=environment, capture_output=True, text=True, check=False, timeout=60)

    return command


def test_the_first_token_is_made_by_the_command(
    command: Callable[..., "subprocess.CompletedProcess[str]"], sqlite_url: str
) -> None:
    assert command().returncode == 2, "there is no ledger yet"
    created = command("create", "--owner", "ann", "--scope", "admin", "--expires", "90d", "--json")
    assert created.returncode == 0, created.stderr
    token = json.loads(created.stdout)["token"]
    database = Database(sqlite_url)
    assert found(Keeper(table=TokenTable(Asking(database))), token["token"]) is not None
    database.close()
    assert token["token_id"] in command().stdout
    assert token["token"].split("_", 2)[2] not in command("--json").stdout
    assert command("revoke", token["token_id"]).stdout == f"{token['token_id']} revoked\n"
    assert json.loads(command("--json").stdout)["tokens"][0]["state"] == "revoked"
    assert command("revoke", "none").returncode == 3
    assert command("create", "--owner", "ann", "--scope", "all").returncode == 2
    plain = command("create", "--owner", "ann", "--scope", "read")
    assert plain.stdout.startswith("bm_")
    assert plain.stdout.count("\n") == 1
