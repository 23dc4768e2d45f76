"""Whether what was typed names anything: an action, a user, a gate or a lane that something was ever counted under.

In the flow: `pause`, `limit` and `setting` ask after they did what was typed, for one may be turned before its first
use. What nobody has used yet may be a slip, though, and would do nothing without a word.
"""

from difflib import get_close_matches

from bandmaster.scheduler.finding import JOURNAL_TAIL
from bandmaster.scheduler.model.limits import EVERYTHING, kind_of
from bandmaster.scheduler.queue import ExecutionQueueService


def unused_name(queue: ExecutionQueueService, name: str) -> str | None:
    """A sentence if nothing was ever counted under this name; says what is like it."""
    if name == EVERYTHING or queue.overview.is_known(name):
        return None
    used = used_names(queue)
    if name in used:
        return None
    close = get_close_matches(name, used, n=1)
    meant = f"; did you mean {close[0]}?" if close else ""
    if name.startswith("lane:"):
        what = f"no worker has asked for {name} so far"
    elif name.startswith("action:"):
        what = f"no execution has passed {name} so far"
    else:
        # Of gates and users nothing is kept for ever.
        what = f"nothing waits or runs under {name}, nor has in the latest {JOURNAL_TAIL:,} transitions"
    return f"{what}: it holds for what comes{meant}"


def used_names(queue: ExecutionQueueService) -> set[str]:
    """What can be paused or limited and was used, as far as that is kept: lanes, actions, the latest of the journal."""
    names = {f"lane:{each.lane}" for each in queue.overview.lanes()}
    names |= {f"action:{each.action}" for each in queue.overview.actions()}
    for entry in queue.journal.entries(newest_first=True, limit=JOURNAL_TAIL):
        names |= {f"{kind}:{entry.fields[kind]}" for kind in ("action", "user", "lane") if entry.fields.get(kind)}
        names |= set(entry.fields.get("gates", "").splitlines())
    # A lane is paused by itself; all lanes are no kind.
    return names.union(kind for kind in map(kind_of, names) if kind not in (None, "lane:*"))
