"""The base class of every section of the settings: frozen, and strict about unknown names.

`areas.py` holds the sections, `placement.py` and `local.py` those about pods. Environment variables are texts, so
values of other types are read from text, too: numbers, lists with commas (`texts`), tables and lists of tables as JSON
(`tables`).
"""

import json
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator


def texts(value: object) -> object:
    """Split a text at its commas; return any other value as it is."""
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def tables(value: object) -> object:
    """Read a table, or a list of tables, from a JSON text; return any other value as it is.

    Raises:
        ValueError: If the value is a text, but not JSON.
    """
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise ValueError("as a text it must be JSON") from None


class Area(BaseModel, frozen=True):
    """A section of the settings: frozen, and strict about unknown names."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, allow_inf_nan=False
    )

    @field_validator("*", mode="before")
    @classmethod
    def _no_bool_for_a_number(cls, value: object, info: ValidationInfo) -> object:
        # Numbers are not read strictly, since environment variables are texts; so `true` would silently become 1.
        if isinstance(value, bool) and cls.model_fields[str(info.field_name)].annotation is not bool:
            raise ValueError("true and false are not allowed here")
        return value
