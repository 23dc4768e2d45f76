"""Which tests of a cluster come first, and which stay in one process, when several processes run them at once.

First those that want the cluster for themselves: meanwhile another process builds the image of the releases, and others
read texts. Then the releases, which take longest. The last are the many short ones, each by itself, so that all
processes end at about the same time.
"""

from typing import Any, Final

import pytest

DISTURBING: Final = ("test_disturbances.py", "test_chaos_cluster.py")
RELEASES: Final = ("test_deploy_install.py", "test_deploy_with_api.py")
"""They take the addresses of Services on this machine, which has each of them once."""


ON_THE_CLUSTER: Final = ("test_deploy_permissions.py", "test_deploy_server.py")
"""Unlike the other files of deployments, which read texts."""


def group_of(nodeid: str) -> str:
    """What one process runs, one after the other: what could not run at once, or shares what is made once a file."""
    path = nodeid.partition("::")[0]
    name = path.rpartition("/")[2]
    if name in DISTURBING:
        return "disturbing"
    if name in RELEASES:
        return "releases"
    return path if name.startswith("test_deploy_") or "tests/cluster/" not in path else nodeid


def turn_of(nodeid: str) -> int:
    """The groups come in this order."""
    group = group_of(nodeid)
    if group.endswith(ON_THE_CLUSTER) or "::" in group:
        return 3
    return {"disturbing": 0, "releases": 1}.get(group, 2)


def in_turns(config: pytest.Config, log: Any) -> Any:
    """The scheduler of pytest-xdist that hands out these groups, in the order of the tests."""
    scheduling: Any = pytest.importorskip("xdist.scheduler").LoadScopeScheduling
    config.option.loadscopereorder = False

    class InTurns(scheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    return InTurns(config, log)
