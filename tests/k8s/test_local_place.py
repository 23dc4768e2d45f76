"""The name of the folder of all local pods: one, whoever asks first, as long as the folder is there."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bandmaster.k8s.errors import PodsUnavailable
from bandmaster.k8s.local.pods import LocalPods


def test_all_that_share_a_folder_have_one_name_for_it(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "one")
    with ThreadPoolExecutor(8) as threads:
        names = set(threads.map(LocalPods.place, [LocalPods(tmp_path / "one") for _ in range(64)]))
    assert len(names) == 1
    assert " " not in next(iter(names))
    assert LocalPods(tmp_path / "link").place() in names
    assert LocalPods(tmp_path / "two").place() not in names
    assert LocalPods(tmp_path / "one").list() == []
    assert {path.name for path in (tmp_path / "one").iterdir()} == {"pods", "pods.place"}


def test_a_folder_that_is_made_again_is_another(tmp_path: Path) -> None:
    before = LocalPods(tmp_path / "var").place()
    shutil.rmtree(tmp_path / "var")
    assert LocalPods(tmp_path / "var").place() != before


def test_a_name_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "pods.place").touch()
    with pytest.raises(PodsUnavailable, match=r"pods\.place holds no name"):
        LocalPods(tmp_path).place()
