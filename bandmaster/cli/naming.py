"""Warns of names that nothing has used so far: a typed action, user, gate or lane may be misspelt.

In the flow: `pause`, `limit` and `setting` check this after they have made the change, since a name may be paused or
limited before its first use. But an unused name may be misspelt, and the change would then silently have no effect.
"""

from difflib import get_close_matches
from typing import Final

from bandmaster.scheduler.finding import JOURNAL_TAIL
from bandmaster.scheduler.model.identifiers import EVERY_SLOT_LANE, SLOT_LANES
from bandmaster.scheduler.model.limits import EVERYTHING, kind_of
from bandmaster.scheduler.queue import ExecutionQueueService

LANE: Final = "lane:"
OF_ONE_KIND: Final = (LANE, "action:", "user:")
"""What is misspelt behind one of these is another name of that kind."""


def unused_name(queue: ExecutionQueueService, name: str) -> str | None:
    """A warning if nothing has used this name so far, with the most similar name that was used; else None."""
    if name in (EVERYTHING, f"{LANE}{EVERY_SLOT_LANE}") or queue.overview.is_known(name):
        return None
    used = used_names(queue)
    if name in used:
        return None
    close = _closest(name, used)
    meant = f"; did you mean {close}?" if close else ""
    if name.startswith(f"{LANE}{SLOT_LANES}"):
        what = f"no code has asked for {name} so far"
    elif name.startswith(LANE):
        what = f"no worker has asked for {name} so far"
    elif name.startswith("action:"):
        what = f"no execution has passed {name} so far"
    else:
        # The names of gates and users are not kept for ever.
        what = f"nothing waits or runs under {name}, nor has in the latest {JOURNAL_TAIL:,} transitions"
    return f"{what}: it holds for what comes{meant}"


def _closest(name: str, used: set[str]) -> str | None:
    kind = next((kind for kind in OF_ONE_KIND if name.startswith(kind)), "")
    # Without the kind, which would make any two short names similar.
    same = [one.removeprefix(kind) for one in used if one.startswith(kind)]
    close = get_close_matches(name.removeprefix(kind), same, n=1)
    return f"{kind}{close[0]}" if close else None


def used_names(queue: ExecutionQueueService) -> set[str]:
    """The used names that can be paused or limited: all lanes and actions, and names of the journal's latest part."""
    names = {f"lane:{each.lane}" for each in queue.overview.lanes()}
    names |= {f"action:{each.action}" for each in queue.overview.actions()}
    for entry in queue.journal.entries(newest_first=True, limit=JOURNAL_TAIL):
        names |= {f"{kind}:{entry.fields[kind]}" for kind in ("action", "user", "lane") if entry.fields.get(kind)}
        names |= set(entry.fields.get("gates", "").splitlines())
    # A lane is paused individually: there is no kind `lane:*`.
    return names.union(kind for kind in map(kind_of, names) if kind not in (None, "lane:*"))
