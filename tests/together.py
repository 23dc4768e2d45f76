"""How `--dist loadfile` deals the tests: the slow files first, and a folder that shares what is dear to one process.

So one installation and one browser serve all tests of the page, and end after the last of them; and at the end of a run
no process waits for another one that still has a long file.
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

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put the files first that have slow cases; otherwise the order stays."""
        slow = {item.path for item in items if item.get_closest_marker("slow")}
        items.sort(key=lambda item: item.path not in slow)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Producer) -> Scheduling | None:
        """Pytest-xdist asks for what deals."""
        if config.option.dist != "loadfile":
            return None
        config.option.loadscopereorder = False  # which would put those with most cases first
        return FoldersTogether(config, log)
