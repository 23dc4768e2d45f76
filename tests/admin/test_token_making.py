"""Tokens are made and revoked: by the command, beside the database, and over the API."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from calling import V1, Api, found

from bandmaster.admin.auth.keeper import Keeper
from bandmaster.admin.auth.token_table import TokenTable
from bandmaster.ledger.book import Book
from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.asking import Asking

Run = Callable[..., "subprocess.CompletedProcess[str]"]


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
        refused += [{"expires_at": "2020-01-01T00:00:00Z"}]
        for wrong in (*refused, {"gates": [""]}):
            assert client.post(f"{V1}/tokens", json=asked | wrong).status_code == 422, wrong
        assert client.get(f"{V1}/tokens").status_code == 200


@pytest.fixture
def no_ledger_url(tmp_path: Path) -> str:
    """Of a ledger that is not there: the command makes it."""
    return f"sqlite:///{tmp_path / 'none.sqlite3'}"


@pytest.fixture
def command(redis_url: str, no_ledger_url: str) -> Run:
    environment = os.environ | {"BANDMASTER_REDIS__URL": redis_url, "BANDMASTER_LEDGER__URL": no_ledger_url}

    def command(*arguments: str) -> "subprocess.CompletedProcess[str]":
        asked = [sys.executable, "-m", "bandmaster", "token", *arguments]
        return subprocess.run(asked, env=environment, capture_output=True, text=True, check=False, timeout=60)

    return command


@pytest.mark.slow
def test_the_first_token_is_made_by_the_command(command: Run, no_ledger_url: str) -> None:
    assert command().returncode == 2, "there is no ledger yet"
    created = command("create", "--owner", "ann", "--scope", "admin", "--expires", "90d", "--json")
    assert created.returncode == 0, created.stderr
    token = json.loads(created.stdout)["token"]
    database = Database(no_ledger_url)
    assert found(Keeper(table=TokenTable(Asking(database, queue="exec_queue"))), token["token"]) is not None
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


@pytest.mark.slow
def test_the_ledger_of_another_queue_takes_and_shows_no_tokens(command: Run, no_ledger_url: str) -> None:
    assert command("create", "--owner", "ann", "--scope", "read").returncode == 0
    database = Database(no_ledger_url)
    assert Book(database, queue="another", holder="a test").take()
    database.close()
    for asked in ((), ("create", "--owner", "bob", "--scope", "admin"), ("revoke", "3f2a9c0d11e7")):
        refused = command(*asked)
        assert refused.returncode != 0
        assert "the ledger is that of the queue with the prefix 'another', not 'exec_queue'" in refused.stderr
