"""Deals a folder whose tests share what is dear to start to one process, where `--dist loadfile` deals file by file.

So one installation and one browser serve all tests of the page, and end after the last of them.
"""

from typing import Final

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling, Scheduling

FOLDERS: Final = ("tests/page",)


class FoldersTogether(LoadFileScheduling):
    """By file, but for those folders."""

    def _split_scope(self, nodeid: str) -> str:
        folder = nodeid.partition("::")[0].rpartition("/")[0]
        return folder if folder in FOLDERS else super()._split_scope(nodeid)


class Together:
    """A plugin of pytest."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Producer) -> Scheduling | None:
        """Pytest-xdist asks for what deals."""
        return FoldersTogether(config, log) if config.option.dist == "loadfile" else None
