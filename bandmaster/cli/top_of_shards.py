"""``bandmaster top`` of several servers: one line a shard, again and again; one that is away is shown as away.

In the flow: `top` calls it where the settings have shards. Reads only.
"""

import time
from collections.abc import Mapping

from rich.live import Live

from bandmaster.cli.desk.port import ShardFigures
from bandmaster.cli.screen import output, say_json, table_of
from bandmaster.cli.sharded_figures import COLUMNS, row_of, standings_of
from bandmaster.cli.status import sharded_document


def top_of_shards(
    shards: Mapping[str, ShardFigures], every_seconds: float, count: int | None, *, as_json: bool
) -> None:
    """Show all shards until so many looks were taken; None: until Ctrl-C."""
    done = 0
    with Live(console=output(), screen=not as_json, auto_refresh=False) as live:
        while True:
            found = standings_of(shards)
            if as_json:
                say_json(sharded_document(found), line=True)
            else:
                live.update(table_of(COLUMNS, [row_of(each) for each in found]), refresh=True)
            done += 1
            if count is not None and done >= count:
                return
            time.sleep(every_seconds)
