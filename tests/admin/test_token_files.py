"""Tokens that need no database: those of a file, and the local one."""

import hashlib
import logging
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from calling import Clock, found

from bandmaster.admin.auth.keeper import Keeper
from bandmaster.admin.auth.local_token import FILE, local_token
from bandmaster.admin.auth.scopes import Scope
from bandmaster.admin.auth.token_file import TokenFile
from bandmaster.configs.errors import SettingsError
from bandmaster.scheduler.model.priority import Priority

SECRET = "A" * 43
DIGEST = hashlib.sha256(SECRET.encode()).hexdigest()


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
        (
            entry(scopes='["all"]'),
            "token 1: scope: 'all' is not a scope; allowed: read, submit, operate, settle, robot, admin",
        ),
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
