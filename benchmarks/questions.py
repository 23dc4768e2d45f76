"""All questions, in the order of the table."""

from typing import Final

from . import (
    admit_fifty,
    api_followers,
    api_lists,
    api_reads,
    bulk_send,
    closed_gates,
    depth,
    drain,
    flows,
    hand_over,
    idle_lanes,
    idle_latency,
    items_api,
    items_claim,
    items_million,
    items_poll,
    ledger_drain,
    ledger_lag,
    ledger_offered,
    ledger_ten,
    ledger_writer,
    limit_ten,
    many_lanes,
    memory,
    pathological,
    policies,
    promotion,
    round_trips,
    send,
    send_traced,
    server_cost,
    start_up,
    urgent,
    worker_memory,
)
from .cluster import pod_creation, pod_events, pod_scale, pod_turnaround
from .failover import failover
from .question import Question

QUESTIONS: Final[tuple[Question, ...]] = tuple(
    module.QUESTION
    for module in (
        send,
        send_traced,
        bulk_send,
        drain,
        many_lanes,
        idle_latency,
        idle_lanes,
        promotion,
        urgent,
        limit_ten,
        hand_over,
        round_trips,
        server_cost,
        admit_fifty,
        depth,
        closed_gates,
        flows,
        pathological,
        policies,
        memory,
        worker_memory,
        start_up,
        ledger_writer,
        ledger_drain,
        ledger_offered,
        ledger_lag,
        ledger_ten,
        api_reads,
        api_lists,
        api_followers,
        items_claim,
        items_million,
        items_api,
        items_poll,
    )
)

CLUSTER_QUESTIONS: Final[tuple[Question, ...]] = tuple(
    module.QUESTION for module in (pod_turnaround, pod_creation, pod_events, pod_scale)
)
"""The questions that create pods; they run only if they are named."""

OTHER_QUESTIONS: Final[tuple[Question, ...]] = (failover.QUESTION,)
"""Those that start servers of their own; likewise."""


def named(names: list[str]) -> tuple[Question, ...]:
    """The questions with these names; without names, all that need no cluster.

    Raises:
        ValueError: If a name is unknown.
    """
    known = {question.name: question for question in (*QUESTIONS, *CLUSTER_QUESTIONS, *OTHER_QUESTIONS)}
    for name in names:
        if name not in known:
            raise ValueError(f"there is no question {name!r}; there are: {', '.join(known)}")
    return tuple(known[name] for name in names) if names else QUESTIONS
