"""A user with work of every kind, and where its name is still found."""

from typing import Any

from sqlalchemy import text

from bandmaster.ledger.database import Database
from bandmaster.ledger.schema.tables import metadata
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService

USER, OTHER = "ann-example", "ann-example-2"
SECRET = "a-marker-of-"


def fill(queue: ExecutionQueueService, user: str, *, lives: bool = False) -> None:
    """Executions of a user that ended in every way, and direct messages; its limit, rate, weight and pause."""
    by = f"{user} (token 0123456789ab, 127.0.0.1)"

    def send(name: str) -> None:
        event = {
            "execution_id": f"{name}-of-{len(user)}",
            "script": f"echo {SECRET}{user}",
            "metadata": {"user_id": user},
        }
        queue.enqueue(ExecutionRequestedEvent.from_any(event))

    queue.controls.set_limit(f"user:{user}", 5, by=by)
    queue.controls.rates.set(f"user:{user}", "1000/s burst 9", by=by)
    queue.shares.weigh(f"user:{user}", 3, by=by)
    queue.controls.pause(f"user:{user}", by=by)
    queue.controls.resume(f"user:{user}", by=by)
    send("done")
    send("dead")
    for name, state in (("done", State.COMPLETED), ("dead", State.FAILED)):
        assert queue.try_schedule()
        result = b'{"exit_code": 0, "output_tail": "' + f"{SECRET}{user}".encode() + b'"}'
        name = f"{name}-of-{len(user)}"
        queue.transitions.settle(Release(name, 1, state, result=result, dead=state is State.FAILED))
    send("cancelled")
    queue.cancel(f"cancelled-of-{len(user)}", by=by)
    queue.transitions.park(
        Candidate(f"mail-of-{len(user)}", "mails", 2, "mail", user, message=f"{SECRET}{user}".encode())
    )
    queue.cancel(f"mail-of-{len(user)}", by=by)
    if lives:
        send("waits")


def found_in_redis(client: Any, user: str) -> list[str]:
    """The keys whose name or contents have a text."""
    wanted = user.encode()
    found: list[str] = []
    for key in client.scan_iter():
        dump: Any = client.dump(key)
        # A dump of long texts may be compressed.
        contents = {b"string": client.get, b"hash": client.hgetall, b"set": client.smembers}.get(client.type(key))
        plain = repr(contents(key)).encode() if contents else dump
        if client.type(key) == b"stream":
            plain = repr(client.xrange(key)).encode()
        elif client.type(key) == b"zset":
            plain = repr(client.zrange(key, 0, -1)).encode()
        if wanted in (key + plain).replace((user + "-2").encode(), b""):
            found.append(key.decode())
    return found


def found_in_sql(database: Database, user: str) -> list[str]:
    """The tables in whose rows a text is."""
    found: list[str] = []
    with database.reading() as connection:
        for table in metadata.sorted_tables:
            for row in connection.execute(text(f'SELECT * FROM "{table.name}"')):
                shown = " ".join(each.decode() if isinstance(each, bytes) else str(each) for each in row)
                if user in shown.replace(user + "-2", ""):
                    found.append(f"{table.name}: {shown}")
    return found
