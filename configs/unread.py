"""Logs warnings about settings that are given but not read, since they would be ignored silently otherwise.

In the flow: called when a broker is made, which may read no settings at all. A variable with a section and an unknown
name is an error wherever settings are read (`sources.py`).
"""

import os
import re
from collections.abc import Mapping
from typing import Final

from .errors import SettingsError
from .logger import Logger
from .sources import CONFIG_VARIABLE, PREFIX, SEPARATOR, Sections, configured_file, variable_of

log = Logger(__name__)
NOT_OF_BROKERS: Final = ("k8s", "logging", "paths", "scheduler")
"""Sections that a broker never reads."""
_OF_TESTS: Final = ("BANDMASTER_BENCH_", "BANDMASTER_MODEL_", "BANDMASTER_REQUIRE_", "BANDMASTER_TEST_")
_SERVICE_LINK: Final = re.compile(r"_SERVICE_(HOST|PORT(_\w+)?)$|_PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?$")
"""The variables that Kubernetes sets in each pod for a service, here one whose name begins with ``bandmaster-``."""


def warn_of_unknown(sections: Sections) -> None:
    """Warn of unknown variables that begin with BANDMASTER_, as ``BANDMASTER_REDIS_URL`` (an underscore is missing)."""
    meant = {
        variable_of(section, name).replace(SEPARATOR, "_"): variable_of(section, name)
        for section, names in sections.items()
        for name in names or ()
    }
    for variable in sorted(_without_section(os.environ)):
        log.warning("variable_unknown", variable=variable, meant=meant.get(re.sub("_+", "_", variable), "unknown"))


def _without_section(environment: Mapping[str, str]) -> list[str]:
    return [
        variable
        for variable in environment
        if variable.startswith(PREFIX)
        and variable != CONFIG_VARIABLE
        and SEPARATOR not in variable
        and not variable.startswith(_OF_TESTS)
        and not _SERVICE_LINK.search(variable)
    ]


def warn_of_unread(reader: str, instead: str) -> None:
    """Warn of settings for brokers that are set, although the broker that is made now does not read settings.

    Args:
        reader: The name of the call that does not read them.
        instead: The name of the call that does.
    """
    others = tuple(f"{PREFIX}{section}{SEPARATOR}".upper() for section in NOT_OF_BROKERS)
    unread = sorted(
        variable
        for variable, text in os.environ.items()
        if variable.startswith(PREFIX) and SEPARATOR in variable and text and not variable.startswith(others)
    )
    try:
        file = configured_file()
    except SettingsError:
        file = None  # the file is not needed here, so a wrong name is no error
    unread += [] if file is None else [str(file)]
    if unread:
        log.warning("settings_not_read", by=reader, settings=", ".join(unread), instead=instead)
