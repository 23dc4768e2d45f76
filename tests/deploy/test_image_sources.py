"""The image is built from all folders of the package: one that is left out is missed only when it runs."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "configs" / "deploy"
FOLDERS = sorted(link.name for link in (ROOT / "bandmaster").iterdir() if link.is_symlink())


def test_there_are_folders_to_look_for() -> None:
    assert {"actors", "scheduler"} <= set(FOLDERS)


@pytest.mark.parametrize("folder", [*FOLDERS, "bandmaster"])
def test_the_image_has_every_folder_of_the_package(folder: str) -> None:
    assert f"COPY {folder} {folder}" in (DEPLOY / "Dockerfile").read_text().splitlines()
    assert f"!{folder}" in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
