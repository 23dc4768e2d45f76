"""An actor's schedule is kept by the server that holds its band, and by no other: each occurrence runs once."""

from datetime import UTC, datetime

import dramatiq
from faults_server.own_server import OwnServer
from sharded_application import Application

from bandmaster import Schedule
from waiting import wait_until


def test_a_schedule_is_declared_on_the_shard_of_its_actor_alone(
    servers: dict[str, OwnServer], application: Application
) -> None:
    far = Schedule(cron="0 0 1 1 *", start=datetime(2098, 1, 1, tzinfo=UTC))

    @dramatiq.actor(broker=application.broker, band="LOW", schedule=far)
    def nightly() -> None: ...

    @dramatiq.actor(broker=application.broker, band="HIGH", schedule=far)
    def urgently() -> None: ...

    application.begin()
    shards = application.broker.shards
    assert shards is not None
    planned = {name: queue.schedules for name, queue in shards.queues.items()}
    wait_until(
        lambda: all(each.page("", 10) for each in planned.values()), what="the declaration of both, each on its server"
    )
    names = {name: [each.name for each in kept.page("", 10)] for name, kept in planned.items()}
    assert names == {"default": ["urgently"], "low": ["nightly"]}
