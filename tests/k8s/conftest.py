"""Local pods in a folder of the test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from living_pods import living_pods

from bandmaster.k8s.local.pods import LocalPods


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "var"


@pytest.fixture
def pods(root: Path) -> Iterator[LocalPods]:
    with living_pods(root) as pods:
        yield pods
