"""Probes and lists say that nobody writes the history."""

from calling import V1, Api
from ledger_reading import Reading

from bandmaster.ledger.standing import WRITTEN_WITHIN_MS


def test_a_history_that_nobody_writes_is_told(api: Api) -> None:
    token = api.token("ann", "read")

    def told() -> tuple[object, ...]:
        with api.client(token) as client:
            probe, page = client.get("/readyz"), client.get(f"{V1}/executions/")
        ready = probe.json()
        return probe.status_code, ready["status"], ready["ledger"], ready["written"], page.json()["written"]

    assert told() == (200, "ready", True, True, True)
    Reading(api.database).change(f"UPDATE consumer SET renewed_ms = renewed_ms - {WRITTEN_WITHIN_MS}")
    assert told() == (200, "degraded", True, False, False)
    assert api.consumer.begin()
    assert told() == (200, "degraded", True, False, False), "it has written nothing yet"
    api.catch_up()
    assert told() == (200, "ready", True, True, True)
