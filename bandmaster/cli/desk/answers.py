"""Documents of the API in the engine's types. Pure.

In the flow: the sides of the desk that call the API make with this what those beside Redis read.
"""

from bandmaster.admin.answers.controls import LimitAnswer, RateAnswer
from bandmaster.admin.answers.executions import ExecutionAnswer, Timeline
from bandmaster.admin.answers.figures import ActionAnswer, GateAnswer, Gates, LaneAnswer, VerdictAnswer
from bandmaster.admin.answers.wait_sums import WaitSums as Summed
from bandmaster.admin.answers.waits import WaitPart, Waits
from bandmaster.admin.answers.workers import WorkerAnswer
from bandmaster.cli.desk.told import SumPart, Wait, WaitSum, WaitSums
from bandmaster.cli.desk.told import Waits as Told
from bandmaster.cli.times import ms_of
from bandmaster.ledger.waits.attributing import Held, Part
from bandmaster.scheduler.engine.journal import JournalEntry
from bandmaster.scheduler.engine.rate_controls import RateInForce
from bandmaster.scheduler.engine.record import Record
from bandmaster.scheduler.gate_loads import GateLoad
from bandmaster.scheduler.model.auto import Auto
from bandmaster.scheduler.model.rates import Rate
from bandmaster.scheduler.overview import ActionLoad, LaneLoad
from bandmaster.scheduler.verdicts import Verdict
from bandmaster.scheduler.views import QueueStatus
from bandmaster.scheduler.workers import Running, WorkerSigned


def record_of(answer: ExecutionAnswer) -> Record:
    """An execution."""
    return Record(
        execution_id=answer.execution_id,
        state=answer.state,
        position=answer.position,
        priority=answer.priority or "",
        lane=answer.lane or "",
        action=answer.action or "",
        user_id=answer.user_id,
        gates=tuple(answer.gates),
        attempt=answer.attempt,
        reason=answer.reason,
        pod=answer.pod,
        accepted_ms=_ms(answer.accepted_at),
        due_ms=_ms(answer.due_at),
        granted_ms=_ms(answer.granted_at),
        ended_ms=_ms(answer.ended_at),
        cancel_requested=answer.cancel_requested,
    )


def timeline_of(answer: Timeline) -> list[JournalEntry]:
    """A timeline, as far as the API tells the journal's fields."""
    entries: list[JournalEntry] = []
    for step in answer.steps:
        known = {"state": step.state, "attempt": str(step.attempt), "reason": step.reason, "by": step.by}
        fields = {name: str(value) for name, value in (known | step.details).items() if value is not None}
        entries.append(JournalEntry("", step.verb, answer.execution_id, ms_of(step.at), fields))
    return entries


def waits_of(answer: Waits) -> Told:
    """What an execution waited for."""
    waits = [Wait(each.attempt, each.ms, [_part(part) for part in each.parts], each.sampled) for each in answer.waits]
    return Told(waits, answer.complete)


def _part(answer: WaitPart) -> Part:
    return Part(
        answer.cause,
        answer.name,
        answer.ms,
        limit=answer.limit,
        holders=tuple(Held(each.execution_id, each.ms) for each in answer.holders),
        holder_count=answer.holder_count,
        started_ahead=answer.started_ahead,
    )


def gates_of(answer: Gates) -> list[GateLoad]:
    """The gates that are told by name."""
    return [_gate(each, ms_of(answer.as_of)) for each in answer.gates]


def _gate(answer: GateAnswer, now_ms: int) -> GateLoad:
    rate = None
    if answer.rate is not None and answer.rated_by is not None:
        rate = RateInForce(answer.rated_by, Rate.read(answer.rate), is_declared=answer.rate_declared)
    return GateLoad(
        gate=answer.gate,
        held=answer.held,
        limit=answer.limit,
        waiting=answer.waiting,
        paused=answer.paused,
        limited_by=answer.limited_by,
        declared=answer.declared,
        rate=rate,
        opens_in_ms=None if answer.opens_at is None else max(0, ms_of(answer.opens_at) - now_ms),
        weight=answer.weight,
        auto=None if answer.auto is None else Auto.read(answer.auto),
    )


def limit_of(answer: LimitAnswer) -> GateLoad:
    """A limit; who waits for it is not told with it."""
    return GateLoad(
        gate=answer.gate,
        held=answer.held,
        limit=answer.limit,
        waiting=0,
        paused=False,
        limited_by=answer.limited_by,
        declared=answer.declared,
        auto=None if answer.auto is None else Auto.read(answer.auto),
    )


def rate_of(answer: RateAnswer) -> RateInForce | None:
    """A rate; None: the gate has none."""
    if answer.rate is None or answer.rated_by is None:
        return None
    return RateInForce(answer.rated_by, Rate.read(answer.rate), is_declared=answer.declared)


def action_of(answer: ActionAnswer) -> ActionLoad:
    """An action."""
    return ActionLoad(
        action=answer.action,
        waiting=answer.queue_length,
        running=answer.active_count,
        total_enqueued=answer.total_enqueued,
        total_completed=answer.total_completed,
    )


def worker_of(answer: WorkerAnswer) -> WorkerSigned:
    """A worker process; without a host and with 0 as its process, if that is not told."""
    return WorkerSigned(
        worker_id=answer.worker_id,
        host=answer.host or "",
        pid=answer.pid or 0,
        release=answer.release,
        since_ms=ms_of(answer.since),
        threads=answer.threads,
        busy=answer.busy,
        lanes=tuple(answer.lanes),
        running=tuple(Running(each.execution_id, each.attempt, each.lane) for each in answer.running),
        stopping=answer.stopping,
    )


def verdict_of(answer: VerdictAnswer) -> Verdict:
    """A verdict."""
    return Verdict(answer.code, answer.severity, answer.subject, answer.sentence)


def lane_of(answer: LaneAnswer) -> tuple[LaneLoad, QueueStatus]:
    """A lane with its figures; of the settings, its bounds only."""
    asked_ms_ago = None if answer.asked_seconds_ago is None else round(answer.asked_seconds_ago * 1000)
    figures = QueueStatus(
        lane=answer.lane,
        queue_depth=answer.queue_depth,
        active_count=answer.active_count,
        scheduled_count=answer.scheduled_count,
        dead_count=0,
        pending_by_priority=answer.by_priority,
        settings=answer.bounds,
    )
    return LaneLoad(answer.lane, asked_ms_ago, answer.executions, answer.fair_by), figures


def _ms(moment: str | None) -> int | None:
    return None if moment is None else ms_of(moment)


def wait_sums_of(answer: Summed) -> WaitSums:
    """Sums of waits."""
    sums = [
        WaitSum(
            *(each.name, each.ms, each.waits, each.summed),
            [SumPart(part.cause, part.behind, part.ms, part.waits) for part in each.parts],
        )
        for each in answer.sums
    ]
    return WaitSums(answer.waits, answer.summed, answer.sampled, answer.incomplete, sums)
