"""Runtime settings: what is not a setting's value is refused at the door, so that no script fails in its middle."""

from typing import Any, cast

import pytest
import redis
from defects.contrast import event
from pydantic import ValidationError

from bandmaster.configs.areas import LeaseSettings, LimitSettings, RetentionSettings, least_of
from bandmaster.scheduler.engine.controls import SETTING_MAX
from bandmaster.scheduler.model.errors import InvalidRequest
from bandmaster.scheduler.queue import ExecutionQueueService


def test_what_is_no_whole_number_in_range_is_refused(redis_client: redis.Redis, subtests: pytest.Subtests) -> None:
    queue = ExecutionQueueService(redis_client)
    for value in cast("list[Any]", [-1, 1.5, True, "3", 10**12]):
        with subtests.test(value=value):
            with pytest.raises(InvalidRequest, match="allowed: a whole number, 1 to"):
                queue.controls.change_setting("max_queue_size", value)
            assert redis_client.exists("exec_queue:settings") == 0


def test_a_name_that_is_no_setting_is_refused(redis_client: redis.Redis) -> None:
    with pytest.raises(InvalidRequest, match="is not a setting"):
        ExecutionQueueService(redis_client).controls.change_setting("max_everything", 1)
    assert not redis_client.hexists("exec_queue:settings", "max_everything")


@pytest.mark.parametrize("is_least", [True, False])
def test_every_setting_works_at_its_least_and_at_its_most(is_least: bool, redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    for name in queue.views.status().settings:
        # Of what bounds all that starts or is accepted, nothing is the least.
        value = max(1, least_of(name)) if is_least else SETTING_MAX
        assert queue.controls.change_setting(name, value) == value
    queue.enqueue(event("x"))
    started = queue.try_schedule()
    assert started is not None
    queue.release("x")


CONFIGURED = [
    (area, name)
    for area in (LimitSettings, LeaseSettings, RetentionSettings)
    for name in area.model_fields
    if least_of(name)
]


def test_an_operator_may_set_what_the_configuration_may(redis_client: redis.Redis, subtests: pytest.Subtests) -> None:
    queue = ExecutionQueueService(redis_client)
    for area, name in CONFIGURED:
        with subtests.test(name):
            least = least_of(name)
            with pytest.raises(
                InvalidRequest, match=f"{name}: {least - 1} is not a setting's value; allowed: .* {least} to"
            ):
                queue.controls.change_setting(name, least - 1)
            with pytest.raises(ValidationError):
                area(**{name: least - 1})
            assert redis_client.exists("exec_queue:settings") == 0


def test_a_configured_value_yields_to_an_operators_and_the_default_comes_back(redis_client: redis.Redis) -> None:
    controls = ExecutionQueueService(redis_client).controls
    assert controls.change_setting("max_crashes", 7, only_if_unset=True) == 7
    assert controls.change_setting("max_crashes", 9) == 9
    assert controls.change_setting("max_crashes", 7, only_if_unset=True) == 9
    assert controls.change_setting("max_crashes", None) == 3


@pytest.mark.parametrize("gate", ["*", "lane:executions"])
def test_what_can_only_be_paused_takes_no_limit(gate: str, redis_client: redis.Redis) -> None:
    controls = ExecutionQueueService(redis_client).controls
    with pytest.raises(InvalidRequest, match="is no gate"):
        controls.set_limit(gate, 0)
    assert controls.limits() == {}
    assert controls.pause(gate)


def test_a_limit_for_one_call_that_is_none_is_refused_and_grants_nothing(
    redis_client: redis.Redis, subtests: pytest.Subtests
) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.enqueue(event("x"))
    for limit in cast("list[Any]", [-1, 2.5, True, "a"]):
        with subtests.test(limit=limit):
            with pytest.raises(InvalidRequest, match=r"max_active: .* is not a limit"):
                queue.try_schedule(limit)
            assert queue.get_queue_status() == {"queue_depth": 1, "active_count": 0}


def test_a_transition_to_no_band_is_refused(redis_client: redis.Redis, subtests: pytest.Subtests) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.enqueue(event("x"))
    for band in cast("list[Any]", [7, -3, 2.5, True, None, "URGENT"]):
        with subtests.test(band=band):
            with pytest.raises(InvalidRequest, match="is not a priority"):
                queue.transitions.reprioritise("x", band)
            assert queue.get_pending_by_priority()["NORMAL"] == 1
