"""Measures the server's memory for a waiting execution, in total and for each key.

The event and the message are the user's and do not count: the messages are deleted by hand, and the difference is their
size. The journal is bounded and is measured separately. The cost of each key is its MEMORY USAGE: exact for the sets,
sampled for the hashes. An ended execution keeps its `meta` for a day, as the duplicate guard.
"""

from typing import Any

from .engine import LANE, Engine
from .question import BANDMASTER, Figure, Measured, Question, Target
from .rig import Rig

SAMPLED = 200
DELETED_A_CALL = 1000


def measure(rig: Rig, side: str) -> Measured:
    """Fill, measure, delete the messages, measure again; then end some executions, and measure what they leave."""
    client: Any = rig.client
    engine, count = Engine(rig.client), rig.sized(1000, 5000, 100_000)
    keys = engine.keys
    before = _used(client)
    ids = engine.fill(count)
    filled = _used(client)
    journal = _usage(client, keys.named("journal"))
    entries = client.xlen(keys.named("journal"))
    for start in range(0, count, DELETED_A_CALL):
        client.delete(*(keys.message(execution_id) for execution_id in ids[start : start + DELETED_A_CALL]))
    bare = _used(client)
    sets = {
        "pending": keys.pending(LANE),
        "flow": keys.flow(LANE, "action:count"),
        "action's pending": keys.action_pending("count"),
        "lane's members": keys.members(LANE),
    }
    return {
        "waiting": (bare - before - journal) / count,
        "message": (filled - bare) / count,
        "meta": _mean_usage(client, [keys.meta(execution_id) for execution_id in ids]),
        **{name: _usage(client, key) / count for name, key in sets.items()},
        "journal entry": journal / entries,
        "once ended": _ended(client, Engine(rig.client, "ended"), min(count, SAMPLED)),
    }


def _ended(client: Any, engine: Engine, count: int) -> float:
    ids = engine.fill(count)
    for _ in range(count):
        for grant in engine.admit():
            engine.release(grant)
    return _mean_usage(client, [engine.keys.ended(execution_id) for execution_id in ids])


def _mean_usage(client: Any, keys: list[str]) -> float:
    sample = keys[:: max(1, len(keys) // SAMPLED)]
    return sum(_usage(client, key) for key in sample) / len(sample)


def _used(client: Any) -> int:
    return int(client.info("memory")["used_memory"])


def _usage(client: Any, key: str) -> int:
    return int(client.memory_usage(key, samples=0))


QUESTION = Question(
    name="memory",
    asks="How much memory does a waiting execution take, without event and message?",
    sides=(BANDMASTER,),
    figures=tuple(
        Figure(name, "B")
        for name in (
            "waiting",
            "message",
            "meta",
            "pending",
            "flow",
            "action's pending",
            "lane's members",
            "journal entry",
            "once ended",
        )
    ),
    measure=measure,
    targets=(Target(BANDMASTER, "waiting", at_most=640),),
    runs=1,
)
