"""What would span two servers is refused with a reason; two installations on the same servers share nothing."""

import pytest
from dramatiq import group
from faults_server.own_server import OwnServer
from sharded_application import Application

from bandmaster.scheduler.model.errors import OnAnotherShard, QueueUnavailable, UnknownExecution
from bandmaster.scheduler.model.priority import Priority
from waiting import wait_until

pytestmark = pytest.mark.slow


def test_a_group_of_two_shards_is_refused_before_anything_is_sent(application: Application) -> None:
    with pytest.raises(OnAnotherShard, match="shards default, low"):
        group([application.high.message("a"), application.low.message("b")], broker=application.broker).run()
    assert (application.depth("default"), application.depth("low")) == (0, 0)
    group([application.low.message("b"), application.low.message("c")], broker=application.broker).run()
    assert (application.depth("default"), application.depth("low")) == (0, 2)


def test_an_execution_is_found_on_its_shard_and_not_moved_from_it(
    servers: dict[str, OwnServer], application: Application
) -> None:
    shards = application.broker.shards
    assert shards is not None
    sent = application.low.send("b").options["execution_id"]
    assert shards.find(sent) == "low"
    with pytest.raises(OnAnotherShard, match="is on shard low, and HIGH of lane default is on shard default"):
        shards.map.check_move(sent, "default", Priority.HIGH, shard="low")
    with pytest.raises(UnknownExecution):
        shards.find("nobody")
    servers["low"].kill()
    with pytest.raises(QueueUnavailable, match="not found on default; low did not answer"):
        shards.find(sent)


def test_two_installations_on_the_same_servers_share_nothing(servers: dict[str, OwnServer]) -> None:
    urls = {name: each.url for name, each in servers.items()}
    one, two = Application(urls, namespace="one"), Application(urls, namespace="two")
    try:
        one.low.send("of one")
        assert (one.depth("low"), two.depth("low")) == (1, 0)
        two.begin()
        two.low.send("of two")
        wait_until(lambda: two.ran["low"] == ["of two"], what="its own")
        assert one.depth("low") == 1
    finally:
        one.end()
        two.end()


def test_a_worker_that_takes_from_one_only_leaves_the_others(servers: dict[str, OwnServer]) -> None:
    urls = {name: each.url for name, each in servers.items()}
    low_only = Application(urls, consumed_shards=("low",))
    try:
        low_only.high.send("a")
        low_only.low.send("b")
        low_only.begin()
        wait_until(lambda: low_only.ran["low"] == ["b"], what="that of its shard")
        assert low_only.ran["high"] == []
        assert low_only.depth("default") == 1
    finally:
        low_only.end()
