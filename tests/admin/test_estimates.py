"""When an execution that waits may begin is estimated from the grants of its action, and only if it comes nearer."""

import pytest
import redis
from calling import V1, Api
from ledger_reading import Reading

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
    # The two that followed the first did so in 400 s and the time that this test takes.
    Reading(api.database).change("UPDATE holds SET since_ms = since_ms - 400000 WHERE execution_id = 'r-0'")
    with api.client(api.token("ann", "read")) as client:

        def eta(execution_id: str, *, is_asked_for: bool = True) -> float | None:
            if is_asked_for:
                api.queue.transitions.admit(("executions",), 0, consumer=True)
            return client.get(f"{V1}/executions/{execution_id}").json()["eta_seconds"]

        three, one = wait_until(lambda: eta("r-7"), what="the rates"), eta("r-5")
        assert three is not None
        assert one is not None
        assert 600 <= three < 900
        assert 200 <= one < 300
        assert eta("other") is eta("r-0") is eta("r-3") is None
        for name in ("*", "lane:executions", "action:resize"):
            api.queue.controls.pause(name)
            assert eta("r-7") is None, name
            api.queue.controls.resume(name)
        assert eta("r-7") is not None
        redis_client.hdel("exec_queue:rounds", "lane:executions")
        assert eta("r-7", is_asked_for=False) is None


def test_a_burst_is_not_slowed_by_what_came_before_it(api: Api) -> None:
    rate: float | None = None
    for number in range(3):
        send(api, f"r-{number}", action="resize")
        granted = api.queue.try_schedule()
        assert granted is not None
        api.queue.release(granted[0])
        api.catch_up()
        with api.services.ledger.reading() as connection:
            now_ms = api.queue.views.server_time_ms()
            rate = grants_per_second(connection, "resize", now_ms=now_ms, window_ms=600_000)
        assert (rate is None) == (number == 0), "one makes no rate"
    assert rate is not None
    assert rate > 3 / 600, "they began within the test, and not in ten minutes"


def test_the_rate_of_many_is_that_of_the_latest(api: Api) -> None:
    for number in range(300):
        send(api, f"r-{number}", user=f"user-{number % 10}", action="resize")
    began_ms = api.queue.views.server_time_ms()
    while granted := api.queue.transitions.admit(("executions",), 100).grants:
        for grant in granted:
            api.queue.release(grant.execution_id)
    now_ms = api.queue.views.server_time_ms() + 10_000
    api.catch_up()
    with api.services.ledger.reading() as connection:
        rate = grants_per_second(connection, "resize", now_ms=now_ms, window_ms=600_000)
        assert rate is not None
        assert 199_000 / (now_ms - began_ms) <= rate <= 20, "200 within ten seconds and what the grants took"
        assert grants_per_second(connection, "resize", now_ms=now_ms + 600_000, window_ms=600_000) is None
