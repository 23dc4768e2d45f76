"""Where the queue is looked for: beside Redis, or at the address of an API that was typed or set.

In the flow: `opening` asks here whether the command has to go to an API. Nothing is connected. A token is in no
message, no log and no repr.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from bandmaster.cli.exits import WrongUsage
from bandmaster.cli.typed import TYPED, Typed
from bandmaster.configs.redaction import redacted_url
from bandmaster.configs.settings import Settings
from bandmaster.scheduler.model.errors import shown

TOKEN_MAX_BYTES: Final = 1_024


@dataclass(frozen=True, slots=True)
class Address:
    """An API, and the token for it."""

    url: str
    token: str = field(repr=False)
    timeout_seconds: float


def url_of(settings: Settings) -> str | None:
    """The address of the API that was typed or set; None: the queue is looked for beside Redis."""
    return TYPED.get().url or settings.api.url


def address_of(settings: Settings) -> Address | None:
    """The API to call, and the token; None: the queue is looked for beside Redis.

    Raises:
        WrongUsage: If the address is none, or there is no token that could be one.
    """
    typed, url = TYPED.get(), url_of(settings)
    if url is None:
        if typed.token is not None or typed.token_file is not None:
            raise WrongUsage("a token is given but no API: name it with --url, or BANDMASTER_API__URL")
        return None
    return Address(_checked(url), _token(typed, settings), settings.api.timeout_seconds)


def _checked(url: str) -> str:
    shown_url = shown(redacted_url(url))
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_whole = False
        parts = urlsplit("")
    if not is_whole or any(c.isspace() or not c.isprintable() for c in url):
        raise WrongUsage(f"{shown_url} is not an API's address; allowed: like https://bandmaster.example:8640")
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise WrongUsage(f"{shown_url} has a path: name only scheme, host and port of the API")
    if parts.username is not None or parts.password is not None:
        raise WrongUsage(f"{shown_url} has a user: the API knows who calls by the token alone")
    return url.rstrip("/")


def _token(typed: Typed, settings: Settings) -> str:
    """The typed token or file goes before the set ones."""
    if typed.token is not None and typed.token_file is not None:
        raise WrongUsage("--token and --token-file exclude each other")
    if typed.token is not None:
        return _possible(typed.token, "--token")
    if typed.token_file is not None:
        return _from_file(typed.token_file)
    if settings.api.token is not None:
        return _possible(settings.api.token.get_secret_value(), "BANDMASTER_API__TOKEN")
    if settings.api.token_file is not None:
        return _from_file(settings.api.token_file)
    raise WrongUsage("the API needs a token: --token-file FILE, BANDMASTER_API__TOKEN, or BANDMASTER_API__TOKEN_FILE")


def _from_file(path: Path) -> str:
    name = shown(str(path))
    try:
        with path.open("rb") as file:
            text = file.read(TOKEN_MAX_BYTES + 1).decode()
    except UnicodeDecodeError:
        raise WrongUsage(f"the file of the token, {name}, holds no text") from None
    except OSError as error:
        raise WrongUsage(f"the file of the token, {name}, cannot be read: {error.strerror}") from None
    return _possible(text.strip(), f"the file {name}")


def _possible(token: str, where: str) -> str:
    # Whatever is wrong with it, it may be a secret: it is not shown.
    if not token or len(token) > TOKEN_MAX_BYTES or not token.isascii() or not token.isprintable() or " " in token:
        raise WrongUsage(f"{where} holds no token: one line, like bm_…")
    return token
