"""``bandmaster dead``: lists, retries or drops dead letters: executions that used up their attempts.

In the flow: a dead letter keeps its event (or its Dramatiq message) until it is dropped. A retry accepts the same work
under a new id, with all the checks of a new execution, and drops the letter only after that. If the process dies in
between, the letter is still there, and the new execution runs.
"""

from typing import Annotated

import typer

from bandmaster.cli.completing import complete_dead
from bandmaster.cli.desk.opening import at_desk
from bandmaster.cli.desk.port import Desk, Letters
from bandmaster.cli.desk.told import Letter, LetterRefused
from bandmaster.cli.exits import CommandFailed, Exit
from bandmaster.cli.notes import note
from bandmaster.cli.screen import LISTED_AT_MOST, Column, Json, say, say_json, say_table
from bandmaster.cli.selecting import Action, All, Filters, States, User, Yes, all_meant, ask_first, check_meant
from bandmaster.cli.times import read_duration, show_duration
from bandmaster.middleware.operations.dead_letters import Again
from bandmaster.scheduler.model.errors import UnknownExecution

Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ID]...", help="Dead letters, or beginnings of their ids.", autocompletion=complete_dead),
]


def list_dead(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=LISTED_AT_MOST, help="At most so many.")] = 20,
    as_json: Json = False,
) -> None:
    """List, retry or drop executions that used up their tries.

    \b
    Examples:
      bandmaster dead
      bandmaster dead retry 0192f0c1-7c
      bandmaster dead drop --older 3d
    """
    if context.invoked_subcommand is not None:
        return
    with at_desk() as desk:
        letters = desk.letters.listed(limit)
        now_ms, untold = desk.executions.now_ms(), desk.letters.untold
    if as_json:
        documents = [_document(each) for each in letters]
        known = [{name: value for name, value in each.items() if name not in untold} for each in documents]
        say_json({"executions": known})
    elif letters:
        _say_letters(letters, now_ms)
    else:
        say("nothing is dead")


def retry_dead(
    execution_ids: Ids = None,
    user: User = None,
    action: Action = None,
    state: States = None,
    everything: All = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Run dead letters again: the same work under a new id.

    \b
    Examples:
      bandmaster dead retry 0192f0c1-7c 0192f0c2-01
      bandmaster dead retry --action report --yes
    """
    ids, filters = execution_ids or [], Filters(user, action, tuple(state or ()), everything)
    check_meant(ids, filters)
    retried: list[Again] = []
    refused: list[Exit] = [Exit.OK]
    with at_desk() as desk:
        for execution_id in _meant(desk, ids, filters, "run again", yes=yes):
            try:
                again = desk.letters.retry(execution_id)
            except LetterRefused as error:
                if not filters.typed:
                    raise
                # A letter that cannot be retried does not stop the others.
                note(str(error))
                refused.append(error.code)
                continue
            retried.append(again)
            if not as_json:
                say(str(again))
        missing = {lane: desk.figures.missing_worker(lane) for lane in sorted({each.lane for each in retried})}
        for sentence in filter(None, missing.values()):
            note(sentence)
        listed = [each for each in retried if each.position is None and missing[each.lane] is None]
        for execution_id, why in desk.letters.refused_again(listed).items():
            note(f"{execution_id} is refused again: {why}")
            refused.append(Exit.REJECTED)
    if as_json:
        say_json({"retried": [each.as_json() for each in retried]})
    elif not retried and filters.typed:
        say("nothing")
    raise typer.Exit(max(refused))


def drop_dead(
    execution_ids: Ids = None,
    older: Annotated[
        str | None, typer.Option(metavar="AGE", help="All that have been dead for longer: 90s, 12h, 3d.")
    ] = None,
    user: User = None,
    action: Action = None,
    state: States = None,
    everything: All = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Forget dead letters.

    \b
    Examples:
      bandmaster dead drop 0192f0c1-7c
      bandmaster dead drop --older 3d --action report
      bandmaster dead drop --all
    """
    least_seconds = None if older is None else read_duration(older, "--older")
    # An age alone counts as a filter, too.
    alone = older is not None and not (user or action or state or everything)
    ids, filters = execution_ids or [], Filters(user, action, tuple(state or ()), everything or alone)
    check_meant(ids, filters)
    dropped: list[str] = []
    with at_desk() as desk:
        meant_ids = _meant(
            *(desk, ids, filters, "forget"),
            yes=yes,
            least_seconds=least_seconds,
            orphans=everything and older is None,
        )
        for execution_id in meant_ids:
            if desk.letters.drop(execution_id):
                dropped.append(execution_id)
                if not as_json:
                    say(f"{execution_id} dropped")
    if as_json:
        say_json({"dropped": dropped})
    elif not dropped:
        say("nothing")


def _document(letter: Letter) -> dict[str, object]:
    return letter.record.as_json() | {
        "result": None if letter.result is None else letter.result.model_dump(),
        "failure": None if letter.failure is None else letter.failure.as_json(),
    }


def _say_letters(letters: list[Letter], now_ms: int) -> None:
    rows: list[tuple[str, ...]] = []
    for letter in letters:
        each, failure = letter.record, letter.failure
        age = "" if each.ended_ms is None else f"{show_duration(now_ms - each.ended_ms)} ago"
        why = (failure and failure.exception) or each.reason or each.state
        called = "" if failure is None else f"({failure.arguments})"
        rows.append((each.execution_id, age, each.user_id or "", why, f"{each.action}{called}"))
    columns = [
        *(Column("EXECUTION", folds=True), Column("DEAD", right=True), Column("USER", gives=True, drops=True)),
        *(Column("WHY", gives=True, drops=True), Column("CALLED", gives=True, drops=True)),
    ]
    say_table(columns, rows)


def _meant(
    desk: Desk,
    typed: list[str],
    filters: Filters,
    what: str,
    *,
    yes: bool,
    least_seconds: int | None = None,
    orphans: bool = False,
) -> list[str]:
    """The dead letters that were named, or that pass the filters and were confirmed."""
    if not filters.typed:
        return _found(desk.letters, typed)
    records = all_meant(desk.executions, filters, ("dead",))
    if least_seconds is not None:
        latest_ms = desk.executions.now_ms() - least_seconds * 1000
        records = [each for each in records if each.ended_ms is not None and each.ended_ms <= latest_ms]
    ask_first(what, records, yes=yes)
    found = [each.execution_id for each in records]
    if not orphans:
        return found
    # A letter whose record is gone has no user and no action, so only --all selects it.
    return list(dict.fromkeys([*found, *desk.letters.ids()]))


def _found(letters: Letters, typed: list[str]) -> list[str]:
    """The ids of the named dead letters; all are looked up before any is changed."""
    found: list[str] = []
    for one in dict.fromkeys(typed):
        try:
            found.append(letters.find(one))
        except UnknownExecution:
            raise CommandFailed(
                f"no dead letter {one!r} is known: `bandmaster dead` lists them", Exit.NOT_FOUND
            ) from None
    return found
