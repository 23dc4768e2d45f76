"""Whether what was typed names anything: an action, a user, a gate or a lane that something was ever counted under.

In the flow: `pause` and `limit` ask after they did what was typed, for one may be turned before its first use. What
nobody has used yet may be a slip, though, and would do nothing without a word.
"""

from difflib import get_close_matches

from bandmaster.cli.finding import JOURNAL_TAIL
from bandmaster.scheduler.limits import EVERYTHING, kind_of
from bandmaster.scheduler.queue import ExecutionQueueService


def unused_name(queue: ExecutionQueueService, name: str) -> str | None:
    """A sentence if nothing was ever counted under this name; says what is like it."""
    if name == EVERYTHING or queue.overview.is_known(name):
        return None
    used = _used_names(queue)
    if name in used:
        return None
    close = get_close_matches(name, used, n=1)
    meant = f"; did you mean {close[0]}?" if close else ""
    what = "no worker has asked for" if name.startswith("lane:") else "no execution has passed"
    return f"{what} {name} so far: it holds for what comes{meant}"


def _used_names(queue: ExecutionQueueService) -> set[str]:
    names = {f"lane:{each.lane}" for each in queue.overview.lanes()}
    for entry in queue.views.journal(newest_first=True, limit=JOURNAL_TAIL):
        names |= {f"{kind}:{entry.fields[kind]}" for kind in ("action", "user", "lane") if entry.fields.get(kind)}
        names |= set(entry.fields.get("gates", "").splitlines())
    return names.union(filter(None, map(kind_of, names)))
