"""What the ledger tells of an execution that rose because it had waited for long."""

import redis
from ledger_reading import Reading, catch_up
from scraped import scrape, value
from turned_queue import TurnedQueue

from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.metrics.collecting import FiguresCollector
from bandmaster.ledger.totals import AGED
from bandmaster.scheduler.engine.transitions import Candidate
from bandmaster.scheduler.model.states import State


def test_a_rise_is_a_transition_with_its_reason_and_no_reason_of_the_execution(
    consumer: Consumer, reading: Reading, redis_client: redis.Redis
) -> None:
    queue = TurnedQueue(redis_client)
    queue.controls.change_setting("ageing_seconds", 60, lane="mail")
    queue.transitions.park(Candidate("old", "mail", 4, "send", message=b"x"))
    queue.clock.turn(60_000)
    queue.maintenance.sweep()
    score = float(queue.views.meta("old")["score"])
    catch_up(consumer)
    (row,) = reading.rows("SELECT band, score, reason, state FROM executions")
    assert (row["band"], row["score"], row["reason"], row["state"]) == (3, score, None, State.PENDING)
    told = reading.rows("SELECT verb, reason FROM transitions ORDER BY entry_ms, entry_number")
    assert [(each["verb"], each["reason"]) for each in told][-1] == ("reprioritise", AGED)


def test_rises_are_counted_by_lane_and_moves_by_operators_are_not(
    consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    queue = TurnedQueue(redis_client)
    queue.controls.change_setting("ageing_seconds", 60, lane="mail")
    queue.transitions.park_many([Candidate(name, "mail", 4, "send", message=b"x") for name in ("old", "moved")])
    queue.clock.turn(60_000)
    queue.maintenance.sweep()
    queue.transitions.reprioritise("moved", 0)
    catch_up(consumer)
    series = scrape(FiguresCollector(queue, database, gates=0))
    assert value(series, "bandmaster_risen_total", lane="mail") == 2
    assert value(series, "bandmaster_risen_total", lane="executions") == 0
