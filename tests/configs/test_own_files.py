"""Secrets in files of this user's: whatever somebody else could have put there or could read is refused."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from bandmaster.configs.errors import SettingsError
from bandmaster.configs.own_files import own_text

SECRET = "s" * 32


def read(path: Path) -> str:
    return own_text(path, lambda: SECRET)


def test_it_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "var" / "key"
    assert read(path) == SECRET
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert own_text(path, lambda: "another") == SECRET
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("mode", [0o640, 0o620, 0o604, 0o602, 0o610])
def test_what_others_may_touch_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key"
    read(path)
    path.chmod(mode)
    with pytest.raises(SettingsError, match="others may read or write it") as refused:
        read(path)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_is_refused_wherever_it_leads(tmp_path: Path, *, is_there: bool) -> None:
    path, target = tmp_path / "key", tmp_path / "elsewhere"
    if is_there:
        read(target)
    path.symlink_to(target)
    with pytest.raises(SettingsError, match="it cannot be read"):
        read(path)
    assert target.exists() == is_there, "nothing is made where a link leads"


def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    path = Path("/etc/passwd")  # root's
    if os.geteuid() == 0:
        path = tmp_path / "key"
        read(path)
        os.chown(path, 65_534, -1)
    with pytest.raises(SettingsError, match="it belongs to another user"):
        read(path)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_what_is_no_file_is_refused_at_once_and_keeps_nothing_open(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    path = tmp_path / "key"
    make(path)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        with pytest.raises(SettingsError, match="it is no file"):
            read(path)
    assert len(os.listdir("/proc/self/fd")) <= before + 5


def test_a_folder_that_cannot_be_made_is_explained(tmp_path: Path) -> None:
    (tmp_path / "var").write_text("a file")
    with pytest.raises(SettingsError, match="it cannot be made"):
        read(tmp_path / "var" / "key")
