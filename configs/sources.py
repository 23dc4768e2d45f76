"""The sources of settings besides the constructor: environment variables, then a TOML file.

Environment variables are named ``BANDMASTER_SECTION__NAME``. An unknown section or name is an error and is not silently
ignored; an empty variable counts as not set. Variables without a section (``BANDMASTER_CONFIG``) are not settings. The
file is the one that ``BANDMASTER_CONFIG`` names, else ``bandmaster.toml`` in the current folder if there is one.
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from .errors import SettingsError

PREFIX: Final = "BANDMASTER_"
CONFIG_VARIABLE: Final = "BANDMASTER_CONFIG"
DEFAULT_FILE: Final = Path("bandmaster.toml")

SEPARATOR: Final = "__"

Sections = Mapping[str, frozenset[str] | None]
"""Section → the names of its settings; None: any name."""


def variable_of(section: str, name: str) -> str:
    """Return the name of the environment variable for a setting."""
    return f"{PREFIX}{section}{SEPARATOR}{name}".upper()


def from_environment(sections: Sections, environment: Mapping[str, str] | None = None) -> dict[str, dict[str, str]]:
    """Return section → name → text for the variables that are set.

    Raises:
        SettingsError: If a variable names an unknown section or setting.
    """
    values: dict[str, dict[str, str]] = {}
    for variable, text in (os.environ if environment is None else environment).items():
        if not variable.startswith(PREFIX) or SEPARATOR not in variable:
            continue
        section, _, name = variable.removeprefix(PREFIX).lower().partition(SEPARATOR)
        if section not in sections:
            allowed = ", ".join(f"{PREFIX}{known.upper()}{SEPARATOR}…" for known in sections)
            raise SettingsError(f"environment variable {variable}: there is no section {section!r}; allowed: {allowed}")
        known_names = sections[section]
        if known_names is not None and name not in known_names:
            allowed = ", ".join(variable_of(section, known) for known in sorted(known_names))
            raise SettingsError(f"environment variable {variable}: there is no setting {name!r}; allowed: {allowed}")
        if text:
            values.setdefault(section, {})[name] = text
    return values


def configured_file() -> Path | None:
    """Return the path of the settings file, if there is one.

    Raises:
        SettingsError: If BANDMASTER_CONFIG names a file that does not exist.
    """
    named = os.environ.get(CONFIG_VARIABLE)
    if named:
        path = Path(named)
        if not path.is_file():
            raise SettingsError(
                f"environment variable {CONFIG_VARIABLE}: {str(path)!r} is not a file; name one, or unset it"
            )
        return path
    return DEFAULT_FILE if DEFAULT_FILE.is_file() else None


def from_file(path: Path) -> dict[str, Any]:
    """Return the content of the settings file.

    Raises:
        SettingsError: If the file cannot be read, or is not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"settings file {str(path)!r} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise SettingsError(f"settings file {str(path)!r} is not TOML: {error}") from error
