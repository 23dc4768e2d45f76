"""Steps of the schema that a later release might have, after those of this one."""

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from bandmaster.ledger.schema import revisions, upgrading
from bandmaster.ledger.schema.revisions import known, newest

_FILE: Final = """
import sqlalchemy as sa
from alembic import op

revision = "{revision}"
down_revision = "{before}"


def upgrade():
    {upgrade}


def downgrade():
    {downgrade}
"""


@dataclass(frozen=True, slots=True)
class Step:
    """What a step does, and undoes: a statement of Python each, with Alembic's `op` and SQLAlchemy as `sa`."""

    revision: str
    upgrade: str
    downgrade: str = "pass"


@contextmanager
def later_release(folder: Path, *steps: Step) -> Generator[None]:
    """Within the block, this process is of the release that has these steps, too; `folder` is empty."""
    migrations = folder / "migrations"
    shutil.copytree(revisions.MIGRATIONS, migrations, ignore=shutil.ignore_patterns("__pycache__"))
    before = newest()
    for step in steps:
        text = _FILE.format(revision=step.revision, before=before, upgrade=step.upgrade, downgrade=step.downgrade)
        (migrations / "versions" / f"{step.revision}_later.py").write_text(text)
        before = step.revision
    try:
        with pytest.MonkeyPatch.context() as patched:
            for module in (revisions, upgrading):
                patched.setattr(module, "MIGRATIONS", migrations)
            known.cache_clear()
            yield
    finally:
        known.cache_clear()
