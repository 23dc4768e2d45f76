"""``bandmaster ledger forget``: removes what is kept of a user, whose history stays under a pseudonym.

In the flow: the ledger's process has to run, since it reads what the journal tells of the user first. If the command
is interrupted, run it again: it finds what is left.
"""

from dataclasses import asdict
from typing import Annotated

import typer

from bandmaster.cli.exits import CommandFailed, Exit
from bandmaster.cli.notes import note
from bandmaster.cli.opening import opened
from bandmaster.cli.screen import Json, say, say_json
from bandmaster.cli.selecting import Yes, confirm
from bandmaster.configs.extras import import_extra
from bandmaster.scheduler.model.identifiers import check_user_id
from bandmaster.scheduler.model.operators import user_at_host


def forget_user(
    user: Annotated[str, typer.Option(metavar="USER", help="Whom.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what is known of the user.")] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Forget a user: delete payloads and results, and put a pseudonym into history and audit.

    The user's tokens are revoked. It cannot be undone. Backups still have what they have.

    \b
    Examples:
      bandmaster ledger forget --user ann --dry-run
      bandmaster ledger forget --user ann --yes
    """
    check_user_id(user)
    forgetting = import_extra("bandmaster.ledger.forgetting", "ledger")
    standing = import_extra("bandmaster.ledger.standing", "ledger")
    with opened() as bandmaster:
        database = import_extra("bandmaster.ledger.opening", "ledger").existing(bandmaster.settings)
        with database.reading() as connection:
            import_extra("bandmaster.ledger.schema.upgrading", "ledger").check(connection)
            standing.check_queue(connection, bandmaster.settings.redis.prefix)
            known = forgetting.known_of(connection, user)
        if dry_run:
            if as_json:
                say_json({"known": asdict(known)})
            else:
                say(f"{known.executions:,} executions, {known.living:,} not ended; {known.tokens:,} tokens")
            return
        if not yes:
            confirm(f"Forget {user!r}, with {known.executions:,} executions and {known.tokens:,} tokens?")
        done = forgetting.forget(bandmaster.queue, database, user, by=user_at_host(), say=note)
    if as_json:
        say_json({"forgotten": asdict(done)})
    else:
        say(f"{done.pseudonym}: {done.executions:,} executions, {done.tokens:,} tokens revoked")
    if done.left:
        raise CommandFailed(
            f"{done.left:,} executions came meanwhile, and are not forgotten: run it again when they have ended"
        )
    if not any((known.executions, known.tokens, done.erased, done.struck, done.executions, done.items)):
        raise CommandFailed(f"nothing was known of {user!r}", Exit.NOT_FOUND)
