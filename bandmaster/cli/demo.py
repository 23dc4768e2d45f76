"""``bandmaster demo``: runs real programs through the queue, and checks Bandmaster's claims.

In the flow: needs no running processes; it starts its own server, worker and scheduler, in a folder of its own, and
ends them. Ctrl-C ends them too.
"""

from pathlib import Path
from typing import Annotated

import typer

from bandmaster.cli.exits import CommandFailed, Exit, WrongUsage
from bandmaster.cli.opening import settings_of_command
from bandmaster.cli.screen import notes, output, say_json
from bandmaster.configs.extras import import_extra
from bandmaster.demo.checks import Claim
from bandmaster.demo.plan import PROGRAMS, ProgramsMissing
from bandmaster.demo.play import perform
from bandmaster.demo.stack import StackFailed
from bandmaster.scheduler.server.valkey import server_binary


def demo(
    programs: Annotated[
        Path, typer.Option(help="The folder of the programs, if not its own.", show_default=False)
    ] = PROGRAMS,
    as_json: Annotated[bool, typer.Option("--json", help="The claims as one JSON document.")] = False,
) -> int:
    """Run real programs in five bands under a limit of 4, and check that every claim holds."""
    # Before anything is started, check that the packages of its scheduler and its server are there.
    import_extra("apscheduler.schedulers.background", "local")
    server_binary()
    settings = settings_of_command()
    folder = settings.paths.absolute / "demo"
    try:
        claims = perform(programs, folder, notes() if as_json else output())
    except ProgramsMissing as error:
        raise WrongUsage(f"{error}; name a folder that has them with --programs, or none") from None
    except StackFailed as error:
        raise CommandFailed(str(error)) from None
    if as_json:
        say_json([_record(claim) for claim in claims])
    return Exit.OK if all(claim.holds for claim in claims) else Exit.FAILED


def _record(claim: Claim) -> dict[str, object]:
    return {"claim": claim.sentence, "holds": claim.holds, "contradictions": claim.contradictions}
