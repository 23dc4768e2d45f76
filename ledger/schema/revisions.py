"""Says which schema a database's tables have, and whether this release may use them.

In the flow: whoever reads or writes the tables asks here first. Alembic is not needed for it, and takes long to import;
only who changes the schema does so (`upgrading.py`).

While a newer release is rolled out, processes of the older one go on with tables that the newer one has upgraded. Those
tell from which revision on a release may use them: a step that only adds leaves that as it is, one that takes something
away raises it.
"""

from functools import cache
from pathlib import Path
from typing import Final

from sqlalchemy import Column, Connection, MetaData, Table, Text, inspect, select

from ..errors import SchemaMismatch, SchemaOfBefore
from .tables import compatibility

MIGRATIONS: Final = Path(__file__).parent / "migrations"
_VERSION: Final = Table("alembic_version", MetaData(), Column("version_num", Text))
"""Alembic's own table."""


@cache
def known() -> tuple[str, ...]:
    """The revisions of this release, in their order; each has a file, whose name begins with it."""
    return tuple(sorted(file.name.partition("_")[0] for file in (MIGRATIONS / "versions").glob("[0-9]*_*.py")))


def newest() -> str:
    """The revision of this release."""
    return known()[-1]


def revision_of(connection: Connection) -> str | None:
    """The revision of a database's tables; None if there are none."""
    if not inspect(connection).has_table(_VERSION.name):
        return None
    return connection.execute(select(_VERSION.c.version_num)).scalar_one_or_none()


def is_newer(revision: str | None) -> bool:
    """Whether it is the revision of a newer release."""
    return revision is not None and revision not in known()


def check(connection: Connection, *, older_is_right: bool = False) -> None:
    """Refuse tables that this release may not use: its own it may, and newer ones that say so.

    Raises:
        SchemaMismatch: If they are of a newer release, and not for this one, or, unless `older_is_right`, of an
            earlier one; SchemaOfBefore, if of none.
    """
    found = revision_of(connection)
    if found is not None and found < known()[0]:
        raise SchemaOfBefore(found, newest())
    if is_newer(found):
        may_use = connection.execute(select(compatibility.c.compatible_from)).scalar_one_or_none() in known()
    else:
        may_use = older_is_right or found == newest()
    if not may_use:
        raise SchemaMismatch(found, newest())
