"""What every section of the settings is: frozen, and strict about what it does not know.

`areas.py` holds the sections, `placement.py` and `local.py` those about pods. Texts are read as what they stand for,
since environment variables are texts: numbers, lists with commas (`texts`), tables and lists of tables as JSON
(`tables`).
"""

import json
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator


def texts(value: object) -> object:
    """A list of texts, if it is written as one text with commas."""
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def tables(value: object) -> object:
    """A table, or a list of them, if it is written as JSON.

    Raises:
        ValueError: If it is a text, but not JSON.
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
        frozen=True, extra="forbid", use_attribute_docstrings=True, hide_input_in_errors=True, allow_inf_nan=False
    )

    @field_validator("*", mode="before")
    @classmethod
    def _no_bool_for_a_number(cls, value: object, info: ValidationInfo) -> object:
        # Environment variables are texts, so numbers are read from text; `true` would then silently be 1.
        if isinstance(value, bool) and cls.model_fields[str(info.field_name)].annotation is not bool:
            raise ValueError("true and false are not allowed here")
        return value
