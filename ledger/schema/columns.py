"""What all tables of the ledger share: the names of their constraints, and a type."""

from typing import Final

from sqlalchemy import MetaData, Text

metadata: Final = MetaData(
    naming_convention={
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
    }
)

BY_BYTES: Final = Text().with_variant(Text(collation="C"), "postgresql")
"""A text that sorts by its bytes, as on SQLite: what begins in the same way stands together, whatever the locale."""
