"""``bandmaster token``: lists, makes and revokes the tokens of the admin API, straight in the ledger's database.

In the flow: the first token is made here, since the API gives none to nobody. The text of a token is printed once, on
standard output, and is kept nowhere.
"""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from bandmaster.cli.exits import CommandFailed, Exit
from bandmaster.cli.notes import note
from bandmaster.cli.opening import settings_of_command
from bandmaster.cli.screen import Column, Json, say, say_json, say_table
from bandmaster.cli.times import read_duration, show_time
from bandmaster.configs.extras import import_extra
from bandmaster.scheduler.model.identifiers import check_user_id
from bandmaster.scheduler.model.operators import user_at_host
from bandmaster.scheduler.model.priority import Priority


def list_tokens(context: typer.Context, as_json: Json = False) -> None:
    """List, make or revoke the tokens of the admin API.

    \b
    Examples:
      bandmaster token
      bandmaster token create --owner ann --scope submit
      bandmaster token revoke 3f2a9c0d11e7
    """
    if context.invoked_subcommand is not None:
        return
    tokens = _table(upgrades=False).all()
    if as_json:
        say_json({"tokens": [_document(token) for token in tokens]})
    elif tokens:
        columns = [
            *(Column("TOKEN", folds=True), Column("OWNER", gives=True), Column("SCOPES"), Column("UP TO", drops=True)),
            *(Column("STATE"), Column("LAST USED", drops=True)),
        ]
        rows = [
            (
                *(token.token_id, token.owner, " ".join(sorted(token.scopes)), token.max_band.name.lower()),
                *(_state(token), "never" if token.used_ms is None else show_time(token.used_ms)),
            )
            for token in tokens
        ]
        say_table(columns, rows)
    else:
        say("there are no tokens: `bandmaster token create --scope admin --owner NAME` makes one")


def create_token(
    owner: Annotated[str, typer.Option(help="As whose its executions count, and whose executions it sees.")],
    scope: Annotated[
        list[str], typer.Option(metavar="SCOPE", help="read, submit, operate, robot or admin; repeatable.")
    ],
    max_band: Annotated[
        str, typer.Option(metavar="NAME", help="The most urgent priority that it may ask for.")
    ] = "normal",
    gate: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Gates its executions may name, like tenant:*; repeatable; default: any."),
    ] = None,
    expires: Annotated[str | None, typer.Option(metavar="AGE", help="Valid for so long: 12h, 90d.")] = None,
    robot_id: Annotated[
        str | None,
        typer.Option(metavar="ROBOT", help="With the scopes robot and settle: as which robot it works on items."),
    ] = None,
    queue: Annotated[
        list[str] | None,
        typer.Option(metavar="QUEUE", help="Of a robot: the queues that it is for; repeatable; default: all."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a token; its text is printed this once.

    \b
    Examples:
      bandmaster token create --owner ann --scope admin
      bandmaster token create --owner ci --scope submit --expires 90d --max-band high
      bandmaster token create --owner desk --scope robot --robot-id desk-7 --queue invoices
    """
    scopes = import_extra("bandmaster.admin.auth.scopes", "api").read_scopes(scope)
    lifetime_seconds = None if expires is None else read_duration(expires, "--expires")
    now_ms = int(datetime.now(UTC).timestamp() * 1000)
    token, secret = import_extra("bandmaster.admin.auth.making", "api").new_token(
        owner=check_user_id(owner),
        scopes=scopes,
        max_band=Priority.parse(max_band),
        gates=None if gate is None else tuple(gate),
        expires_ms=None if lifetime_seconds is None else now_ms + lifetime_seconds * 1000,
        created_by=user_at_host(),
        robot_id=robot_id,
        queues=None if queue is None else tuple(queue),
    )
    kept = _table(upgrades=True).add(token)
    if as_json:
        say_json({"token": _document(kept) | {"token": secret.text}})
    else:
        say(secret.text)
        note(f"keep it: it is not shown again. `bandmaster token revoke {token.token_id}` ends it")


def revoke_token(
    token_id: Annotated[str, typer.Argument(metavar="TOKEN", help="Its id, the part behind bm_.")],
    as_json: Json = False,
) -> None:
    """End a token; processes that serve the API refuse it within 5 s.

    \b
    Example:
      bandmaster token revoke 3f2a9c0d11e7
    """
    token = _table(upgrades=False).revoke(token_id, by=user_at_host())
    if token is None:
        raise CommandFailed(f"no token {token_id!r} is known: `bandmaster token` lists them", Exit.NOT_FOUND)
    if as_json:
        say_json({"token": _document(token)})
    else:
        say(f"{token_id} revoked")


def _table(*, upgrades: bool) -> Any:
    """The table of tokens; with `upgrades`, SQLite's file and its tables are made if they are missing."""
    # The extra that brings the API's own packages is asked for first, so that one error names all that is missing.
    import_extra("fastapi", "api")
    settings = settings_of_command()
    if upgrades:
        database = import_extra("bandmaster.ledger.readying", "ledger").open_ledger(settings)
    else:
        database = import_extra("bandmaster.ledger.opening", "ledger").existing(settings)
    asking = import_extra("bandmaster.ledger.queries.asking", "ledger").Asking(database, queue=settings.redis.prefix)
    return import_extra("bandmaster.admin.auth.token_table", "api").TokenTable(asking)


def _state(token: Any) -> str:
    if token.revoked_ms is not None:
        return "revoked"
    is_valid = token.is_valid(int(datetime.now(UTC).timestamp() * 1000))
    return "valid" if is_valid else "expired"


def _document(token: Any) -> dict[str, object]:
    answer = import_extra("bandmaster.admin.api.shapes", "api").token_answer(token)
    return {**answer.model_dump(), "state": _state(token)}
