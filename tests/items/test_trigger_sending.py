"""What was fired and is not known to be accepted is sent once, also long after."""

import pytest
import redis
from trigger_work import Work

from bandmaster.items import sending, trigger_rounds


def test_what_redis_has_forgotten_is_not_sent_again(
    work: Work, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The leader dies before it writes down that Redis has accepted it, and the next one comes after its end."""

    class Dies(BaseException):
        pass

    def dies(*_: object) -> None:
        raise Dies

    work.trigger()
    work.add()
    with monkeypatch.context() as patched:
        patched.setattr(sending, "_accept", dies)
        with pytest.raises(Dies):
            work.rounds.round()
    (execution_id,) = work.run_all()
    keys = work.queue.scripts.keys
    assert redis_client.delete(keys.meta(execution_id), keys.ended(execution_id)) > 0
    work.set_firings(created_ms=work.now_ms() - sending.NEW_MS - 1_000)
    later = work.another_round(work.items.store)
    assert later.round() == 0
    work.catch_up()
    assert later.round() == 0
    assert work.run_all() == []
    assert work.statuses() == ["DONE"]


def test_what_was_never_sent_is_sent_once_all_is_read(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    work.trigger()
    work.add()
    with monkeypatch.context() as patched:
        patched.setattr(trigger_rounds, "PAGES_A_ROUND", 0)
        work.rounds.round()
    work.set_firings(created_ms=work.now_ms() - sending.NEW_MS - 1_000)
    assert work.rounds.round() == 0
    work.catch_up()
    assert work.rounds.round() == 1
