"""Which of Dramatiq's own tests are run, and which of those are left out, each with its reason.

What is left out of the plain run fails on Dramatiq's own `RedisBroker` under the same fixtures just as well: it looks
into the memory of a `StubBroker`. Files that are not listed: the command line, pid files, the watcher, typing and pure
helpers have no such broker in them; `test_broker.py` and `test_rabbitmq.py` need RabbitMQ's client; the one test of
`test_window_rate_limiter.py` has no broker in it either and takes 20 s.
"""

from typing import Final

FILES: Final = (
    "test_actors.py",
    "test_barrier.py",
    "test_bucket_rate_limiter.py",
    "test_callbacks.py",
    "test_composition.py",
    "test_concurrent_rate_limiter.py",
    "test_encoders.py",
    "test_generic_actors.py",
    "test_messages.py",
    "test_redis.py",
    "test_results.py",
    "test_stub_broker.py",
    "test_worker.py",
)

WITHOUT_BROKER: Final = frozenset(
    {
        "test_barrier.py",
        "test_bucket_rate_limiter.py",
        "test_concurrent_rate_limiter.py",
        "test_encoders.py",
    }
)
"""Run once, with the plain run: they are the same whatever the actors are."""

_STUB_MEMORY: Final = "looks into the queues of a StubBroker, which are in memory"
_STUB_ONLY: Final = "a rule of StubBroker alone; RedisBroker declares nothing"
_PORT: Final = "connects to port 6379 of the machine it runs on"
_STUB_PACE: Final = "expects messages in the worker's memory at once, as StubBroker hands them over"
_RACES: Final = "races with its own worker: it sends, then patches what the worker calls"
_TICK: Final = "a body of 2 s under a limit of 1 s, which is looked after once a second: the second look meets its end"
_PACE: Final = "expects 32 threads of this machine to have had their turn within 0.3 s"
_TURN: Final = "expects the consumer of delayed messages to have had its turn within 0.25 s"

LEFT_OUT: Final = {
    "test_redis_join_race_condition": _TURN,
    "test_redis_consumer_ack_can_retry_on_connection_error": _RACES,
    "test_redis_consumer_nack_can_retry_on_connection_error": _RACES,
    "test_concurrent_rate_limiter_limits_concurrency": _PACE,
    "test_actor_messages_can_be_assigned_time_limits": _TICK,
    "test_actors_can_be_sent_messages": _STUB_MEMORY,
    "test_worker_handles_non_numeric_eta_and_logs_warning": _STUB_MEMORY,
    "test_worker_handles_none_eta": _STUB_MEMORY,
    "test_messages_belonging_to_missing_actors_are_rejected": "compares with a message that RedisBroker has stamped",
    "test_stub_broker_can_be_flushed": _STUB_MEMORY,
    "test_stub_broker_respects_prefetch": _STUB_PACE,
    "test_workers_process_messages_in_order": _STUB_PACE,
    "test_stub_broker_raises_queue_error_when_consuming_undeclared_queues": _STUB_ONLY,
    "test_stub_broker_raises_queue_error_when_enqueueing_messages_on_undeclared_queues": _STUB_ONLY,
    "test_redis_broker_can_connect_via_url": _PORT,
    "test_redis_broker_can_connect_via_client": _PORT,
}

_UNRUN: Final = "expects a rejected message; one that is too old ends while it waits, and its sender is told"
_LIST: Final = "looks into a Dramatiq list; a lane's messages are not in one"

LEFT_OUT_OF_LANES: Final = {
    **{name: why for name, why in LEFT_OUT.items() if why is not _PACE},  # in a file WITHOUT_BROKER
    "test_redis_messages_can_be_dead_lettered": _LIST,
    "test_redis_requeues_unhandled_messages_on_shutdown": _LIST,
    "test_redis_requeues_unhandled_delay_messages_on_shutdown": _LIST,
    "test_redis_join_race_condition": "counts messages and acknowledgements of a list apart; a lane counts each once",
    "test_redis_consumer_ack_can_retry_on_connection_error": "counts calls of the command that acknowledges on a list",
    "test_redis_consumer_nack_can_retry_on_connection_error": "counts calls of the command that rejects on a list",
    "test_actors_can_be_assigned_message_age_limits": _UNRUN,
    "test_actor_messages_can_be_assigned_message_age_limits": _UNRUN,
    "test_actors_can_prioritize_work": "pauses threads but not the consumer of a later queue, which then holds a grant",
}

LEFT_OUT_BESIDE: Final = {name: why for name, why in LEFT_OUT.items() if why is not _PACE}
"""With a gated actor declared beside: nothing more than in the plain run."""
