"""When an execution that waits may begin is estimated from the grants of its action, and only if it comes nearer."""

import pytest
import redis
from calling import V1, Api

from bandmaster.ledger.queries.rates import grants_per_second
from waiting import wait_until


@pytest.fixture
def api(every_api: Api) -> Api:
    return every_api


def send(api: Api, execution_id: str, *, action: str, user: str = "ann") -> None:
    api.queue.enqueue(
        {"execution_id": execution_id, "command": ["true"], "action": action, "metadata": {"user_id": user}}
    )


def test_when_it_may_begin_is_estimated_from_what_began_lately(api: Api, redis_client: redis.Redis) -> None:
    for number in range(8):
        send(api, f"r-{number}", action="resize")
    for _ in range(3):
        found = api.queue.try_schedule()
        assert found is not None
        api.queue.release(found[0])
    for never_ran in ("r-3", "r-4"):
        api.queue.cancel(never_ran)
    send(api, "other", action="new")
    api.catch_up()
    with api.client(api.token("ann", "read")) as client:

        def eta(execution_id: str, *, is_asked_for: bool = True) -> float | None:
            if is_asked_for:
                api.queue.transitions.admit(("executions",), 0, consumer=True)
            return client.get(f"{V1}/executions/{execution_id}").json()["eta_seconds"]

        assert wait_until(lambda: eta("r-7"), what="the rates") == 600.0
        assert eta("r-5") == 200.0
        assert eta("other") is eta("r-0") is eta("r-3") is None
        for name in ("*", "lane:executions", "action:resize"):
            api.queue.controls.pause(name)
            assert eta("r-7") is None, name
            api.queue.controls.resume(name)
        assert eta("r-7") == 600.0
        redis_client.hdel("exec_queue:rounds", "lane:executions")
        assert eta("r-7", is_asked_for=False) is None


def test_the_rate_of_many_is_that_of_the_latest(api: Api) -> None:
    for number in range(300):
        send(api, f"r-{number}", user=f"user-{number % 10}", action="resize")
    while granted := api.queue.transitions.admit(("executions",), 100).grants:
        for grant in granted:
            api.queue.release(grant.execution_id)
    api.catch_up()
    with api.services.ledger.reading() as connection:
        now_ms = api.queue.views.server_time_ms() + 10_000
        rate = grants_per_second(connection, "resize", now_ms=now_ms, window_ms=600_000)
        assert rate is not None
        assert 10 < rate <= 20, "200 within ten seconds and what the grants took"
        assert grants_per_second(connection, "resize", now_ms=now_ms + 600_000, window_ms=600_000) is None
