"""Who asked for what is forgotten with the user: names, tokens and addresses, and nobody else's."""

from typing import Any

import pytest
from forgotten import OTHER, USER, fill, found_in_sql
from ledger_reading import Reading

from bandmaster.ledger.database import Database
from bandmaster.ledger.forgetting import forget
from bandmaster.ledger.schema.tables import tokens
from bandmaster.scheduler.queue import ExecutionQueueService


@pytest.mark.usefixtures("consuming")
def test_who_asked_is_the_user_only_if_the_name_is_whole(
    queue: ExecutionQueueService, database: Database, reading: Reading, redis_client: Any
) -> None:
    fill(queue, OTHER)
    own = ("", "@web-1", " (token 1, ::1)", " (login oidc:1, ::1)")
    names = (
        *(f"{USER}{each}" for each in own),
        f"{USER}-2@web-1",
        f"x{USER}",
        f"{USER}s",
        f"{USER}@corp.example (login oidc:2, ::1)",
    )
    for number, by in enumerate(names):
        queue.controls.set_limit(f"tenant:{number}", 1, by=by)
    done = forget(queue, database, USER, by=f"{USER}@laptop")
    rows = reading.rows("SELECT name, changed_by FROM changes WHERE name LIKE 'tenant:%' ORDER BY name")
    assert [row["changed_by"] for row in rows] == [*(done.pseudonym for _ in own), *names[4:]]
    (asked,) = reading.rows("SELECT DISTINCT changed_by FROM changes WHERE verb = 'erase'")
    assert asked == {"changed_by": done.pseudonym}
    assert {change.by for change in queue.journal.changes(100)} >= {*names[4:]}
    assert not {change.by for change in queue.journal.changes(100)} & {*names[:4]}
    assert queue.controls.limits()["tenant:0"] == 1


@pytest.mark.usefixtures("consuming")
def test_neither_token_nor_address_of_the_user_is_left(
    queue: ExecutionQueueService, database: Database, reading: Reading
) -> None:
    address, ids = "192.0.2.77", ("0123456789ab", "ba9876543210")
    with database.writing() as connection:
        for number, (owner, token_id) in enumerate(zip((USER, USER, OTHER), (*ids, "00000000cafe"), strict=True)):
            token = {"token_id": token_id, "secret_digest": "d" * 64, "owner": owner, "scopes": "admin"}
            token |= {"max_band": 2, "created_ms": number, "created_by": f"{USER} (token {ids[0]}, {address})"}
            connection.execute(tokens.insert().values(**token))
    queue.controls.set_limit("tenant:1", 1, by=f"{USER} (token {ids[0]}, {address})")
    queue.controls.set_limit("tenant:2", 1, by=f"{OTHER} (token 00000000cafe, 192.0.2.1)")
    done = forget(queue, database, USER, by="operator@host")
    for wanted in (address, *ids):
        assert found_in_sql(database, wanted) == [], wanted
    kept = "SELECT token_id, owner, revoked_by, created_by FROM tokens ORDER BY created_ms"
    assert [tuple(row.values()) for row in reading.rows(kept)] == [
        (f"{done.pseudonym}-0", done.pseudonym, "operator@host", done.pseudonym),
        (f"{done.pseudonym}-1", done.pseudonym, "operator@host", done.pseudonym),
        ("00000000cafe", OTHER, None, done.pseudonym),
    ]
    (other,) = reading.rows("SELECT changed_by FROM changes WHERE name = 'tenant:2'")
    assert other["changed_by"] == f"{OTHER} (token 00000000cafe, 192.0.2.1)"
