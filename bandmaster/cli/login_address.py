"""``bandmaster token login``, and what `bandmaster up` shows: an address by which a browser signs in once.

In the flow: for the API of this folder, which has the local token. The code is in the fragment of the address, which a
browser sends to nobody; the page takes it from there. It is shown on a screen, and stands in no log. If the process
dies on the way, the code ends by itself after some minutes.
"""

import time
from pathlib import Path
from typing import Any, Final

from bandmaster.cli.exits import CommandFailed
from bandmaster.cli.notes import note
from bandmaster.cli.opening import opened
from bandmaster.cli.screen import Json, say, say_json
from bandmaster.configs.api import URL_FILE
from bandmaster.configs.extras import import_extra
from bandmaster.configs.settings import Settings
from bandmaster.scheduler.queue import ExecutionQueueService

_POLL_SECONDS: Final = 0.1
Mark = tuple[int, int] | None
"""Which writing of the file was seen."""


def login(
    as_json: Json = False,
) -> None:
    """Print an address by which a browser signs in, once and within minutes.

    For the API of this folder that `bandmaster up` or `python -m
    bandmaster.admin` runs. Whoever has the address can sign in by it.

    \b
    Example:
      bandmaster token login
    """
    with opened() as bandmaster:
        address = address_on(bandmaster.settings, bandmaster.queue)
    minutes = import_extra("bandmaster.admin.auth.browser_sessions", "api").CODE_SECONDS // 60
    if as_json:
        say_json({"address": address, "expires_minutes": minutes})
    else:
        say(address)
        note(f"it can be used once, within {minutes} minutes")


def address_on(settings: Settings, queue: ExecutionQueueService) -> str:
    """Make a one-time code for the API of this folder, and return the address with it.

    Raises:
        CommandFailed: If no such API has run.
        SettingsError: If its token cannot be used.
        QueueUnavailable: If Redis does not answer.
    """
    folder = settings.paths.absolute
    tokens: Any = import_extra("bandmaster.admin.auth.local_token", "api")
    if not (folder / URL_FILE).exists() or not (folder / tokens.FILE).exists():
        raise CommandFailed(
            f"no API with a token of its own has run in {folder}: start it by `bandmaster up`; to any other, a browser "
            "signs in by a token or its provider"
        )
    url = (folder / URL_FILE).read_text(encoding="ascii").strip()
    sessions: Any = import_extra("bandmaster.admin.auth.browser_sessions", "api")
    code = sessions.BrowserSessions(queue.scripts, settings.api).new_code(tokens.local_token(folder))
    return f"{url}/#code={code.text}"


def mark_of(folder: Path) -> Mark:
    """Return which writing of the address is there now."""
    try:
        found = (folder / URL_FILE).stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns


def is_served(folder: Path, before: Mark, within_seconds: float) -> bool:
    """Wait until an API says where it listens, after a mark that was seen before it was started."""
    ends = time.monotonic() + within_seconds
    while mark_of(folder) == before:
        if time.monotonic() > ends:
            return False
        time.sleep(_POLL_SECONDS)
    return True
