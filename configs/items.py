"""The settings of what programs that work on items get: the key of their tokens, and where they find the API."""

from pathlib import Path
from secrets import token_urlsafe
from typing import Final

from pydantic import Field, SecretStr, field_validator

from .area import Area
from .errors import SettingsError
from .own_files import own_text

KEY_MIN_CHARS: Final = 32
KEY_FILE: Final = "items-key"
"""In the folder of a local installation."""
_FILE_MAX_CHARS: Final = 4_096
MAKE: Final = """python3 -c 'import secrets; print(secrets.token_urlsafe(32))'"""


def keys_in(text: str) -> tuple[bytes, ...]:
    """Return the keys of a text.

    Raises:
        ValueError: If one is too short, or there is none; none is in the message.
    """
    keys = tuple(each.encode() for each in text.split())
    if not keys or any(len(key) < KEY_MIN_CHARS for key in keys):
        raise ValueError(f"a key has at least {KEY_MIN_CHARS} characters that nobody can guess; this makes one: {MAKE}")
    return keys


class ItemsSettings(Area, frozen=True):
    """Items of queues on which the executions of triggers work: how their programs reach them."""

    token_key: SecretStr | None = None
    """Of what the tokens of such executions are made; workers and the API need the same. Several with spaces between
    them: the first one makes tokens, and all are known. Better in a file."""
    token_key_file: Path | None = None
    """The file that holds it; neither: with local programs one is made under `paths.var_dir`, on a cluster there are no
    such tokens."""
    api_url: str | None = Field(default=None, pattern=r"^https?://[^\s]+$")
    """Where programs find the API, like https://bandmaster.example; none: `api.url`, or the one of this machine."""

    @field_validator("token_key")
    @classmethod
    def _is_long(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            keys_in(value.get_secret_value())
        return value

    def keys(self, folder: Path | None) -> tuple[bytes, ...]:
        """Return the keys, the one that makes tokens first; none: there are no tokens.

        Args:
            folder: Where one is made if none is configured; None: none is made.

        Raises:
            SettingsError: If the file cannot be read or made, or holds none. No key is in the message.
        """
        text = "" if self.token_key is None else self.token_key.get_secret_value()
        if self.token_key_file is not None:
            text += f" {_read(self.token_key_file)}"
        elif not text:
            if folder is None:
                return ()
            text = own_text(folder / KEY_FILE, lambda: token_urlsafe(32))
        try:
            return keys_in(text)
        except ValueError as error:
            where = "setting items.token_key_file" if self.token_key_file or folder is None else folder / KEY_FILE
            raise SettingsError(f"{where}: {error}") from None


def _read(path: Path) -> str:
    try:
        with path.open(encoding="ascii") as file:
            return file.read(_FILE_MAX_CHARS)
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"setting items.token_key_file: {path}: it cannot be read: {type(error).__name__}"
        ) from None
