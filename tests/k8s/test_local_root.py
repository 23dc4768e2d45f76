"""The folder of local pods: missing, removed by somebody, and private to its user."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from living_pods import living_pods, outcome_of, processes_under, spec

from bandmaster.k8s.backend import connect
from bandmaster.k8s.errors import PodsUnavailable
from bandmaster.k8s.local.pods import LocalPods
from waiting import wait_until


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "var"


@pytest.fixture
def pods(root: Path) -> Iterator[LocalPods]:
    with living_pods(root) as pods:
        yield pods


def test_a_root_that_cannot_be_made_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    pods = connect("local", root=tmp_path / "file")
    with pytest.raises(PodsUnavailable, match="is not writable"):
        pods.ping()
    with pytest.raises(PodsUnavailable, match="cannot be made"):
        pods.create(spec("true"))
    assert str(tmp_path) in pods.describe()


def test_a_root_that_somebody_removes_makes_pods_unavailable_to_a_watch(pods: LocalPods, root: Path) -> None:
    outcome_of(pods, spec("true"))
    wait_until(lambda: not processes_under(root), what="the end of all that could still write there")
    watch = pods.watch(30)
    next(watch)
    shutil.rmtree(root)
    with pytest.raises(PodsUnavailable):
        next(watch)


def test_asking_whether_it_answers_makes_nothing(tmp_path: Path) -> None:
    connect("local", root=tmp_path / "var").ping()
    assert list(tmp_path.iterdir()) == []


def test_pods_are_private_to_their_user(pods: LocalPods, root: Path) -> None:
    created = pods.create(spec("true"))
    for path in (root / "pods", root / "pods" / created.name):
        assert os.stat(path).st_mode & 0o077 == 0
