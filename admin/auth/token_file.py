"""Tokens in a TOML file, for an API without SQL: ``api.tokens_file``.

::

    [[token]]
    id = "ci"
    sha256 = "9f86d081…"              # of the secret, 43 characters of A-Z a-z 0-9 _ -
    owner = "ann"
    scopes = ["submit"]
    max_band = "HIGH"                  # optional; NORMAL
    gates = ["tenant:*"]               # optional; any
    robot_id = "desk-7"                # of the scopes robot and settle
    queues = ["invoices"]              # likewise; optional; all
    expires = 2027-01-31T00:00:00Z     # optional

In the flow: read at the start, where a wrong file ends the process, and again when the file has changed; one that is
wrong then is logged, and what was read before holds on.
"""

import re
import threading
import time
import tomllib
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

from ...configs.errors import SettingsError
from ...configs.logger import Logger
from ...scheduler.model.errors import InvalidRequest, shown
from ...scheduler.model.identifiers import check_user_id
from ...scheduler.model.priority import Priority
from .making import check_robot
from .scopes import read_scopes
from .tokens import Token

_log = Logger(__name__)
_FIELDS: Final = frozenset({"id", "sha256", "owner", "scopes", "max_band", "gates", "expires", "robot_id", "queues"})
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_LOOK_SECONDS: Final = 1.0


class TokenFile:
    """The tokens of one file. Safe to share between threads."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Read the file.

        Raises:
            SettingsError: If it cannot be read, or is wrong.
        """
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._looked_at = clock()
        self._stamp = _stamp_of(path)
        self._tokens = _read(path)

    def find(self, token_id: str) -> Token | None:
        """Return a token by its id; None if the file has none."""
        with self._lock:
            if self._clock() - self._looked_at >= _LOOK_SECONDS:
                self._looked_at = self._clock()
                self._read_again()
            return self._tokens.get(token_id)

    def _read_again(self) -> None:
        try:
            stamp = _stamp_of(self._path)
            if stamp == self._stamp:
                return
            self._tokens, self._stamp = _read(self._path), stamp
        except SettingsError as error:
            _log.error("tokens_file_not_read", problem=str(error))
        else:
            _log.info("tokens_file_read", tokens=len(self._tokens))


def _stamp_of(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise SettingsError(f"api.tokens_file: {shown(str(path))} cannot be read: {error.strerror}") from None
    return (found.st_mtime_ns, found.st_size, found.st_ino)


def _read(path: Path) -> Mapping[str, Token]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"api.tokens_file: {shown(str(path))} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise SettingsError(f"api.tokens_file: {shown(str(path))} is no TOML: {error}") from None
    entries = document.get("token", [])
    if set(document) - {"token"} or not isinstance(entries, list):
        raise SettingsError(f"api.tokens_file: {shown(str(path))} has something else than [[token]] entries")
    found: dict[str, Token] = {}
    for number, entry in enumerate(cast("list[Any]", entries), start=1):
        try:
            token = _token_of(entry)
        except (InvalidRequest, KeyError, TypeError, ValueError) as error:
            problem = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise SettingsError(f"api.tokens_file: token {number}: {problem}") from None
        if token.token_id in found:
            raise SettingsError(f"api.tokens_file: token {number}: the id {shown(token.token_id)} is there twice")
        found[token.token_id] = token
    return found


def _token_of(entry: dict[str, Any]) -> Token:
    if unknown := sorted(set(entry) - _FIELDS):
        raise InvalidRequest("token", f"{shown(unknown[0])} is not a field", allowed=", ".join(sorted(_FIELDS)))
    expires = entry.get("expires")
    if expires is not None and (not isinstance(expires, datetime) or expires.tzinfo is None):
        raise InvalidRequest("expires", "it is no time with a zone", allowed="like 2027-01-31T00:00:00Z")
    if not _DIGEST.fullmatch(entry["sha256"]):
        raise InvalidRequest("sha256", "it is none", allowed="64 hexadecimal digits")
    scopes = read_scopes(entry["scopes"])
    robot_id, queues = entry.get("robot_id"), None if "queues" not in entry else tuple(map(str, entry["queues"]))
    check_robot(scopes, robot_id, queues)
    return Token(
        token_id=str(entry["id"]),
        digest=entry["sha256"],
        owner=check_user_id(entry["owner"]),
        scopes=scopes,
        robot_id=robot_id,
        queues=queues,
        max_band=Priority.parse(entry.get("max_band", Priority.NORMAL.name)),
        gates=None if "gates" not in entry else tuple(map(str, entry["gates"])),
        created_by="the tokens file",
        expires_ms=None if expires is None else int(expires.timestamp() * 1000),
    )
