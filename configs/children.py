"""The environment for child processes: that of this process, with some settings replaced.

In the flow: `bandmaster up` and the demo give it to the processes they run, so that all of them find the same server.
"""

import os
from collections.abc import Mapping
from typing import Final

from .sources import variable_of

Replaced = Mapping[tuple[str, str], str]
"""(section, name) → text."""

QUIET: Final = {"PYTHONUNBUFFERED": "1"}

OURS: Final = {"PYTHONSAFEPATH": "1"}
"""Further variables for Bandmaster's own programs, which must not import a ``redis.py`` in the current folder."""


def child_environment(replaced: Replaced | None = None) -> dict[str, str]:
    """Return this process's environment with some settings replaced, for a child process."""
    settings = {variable_of(section, name): text for (section, name), text in (replaced or {}).items()}
    return {**os.environ, **QUIET, **settings}
