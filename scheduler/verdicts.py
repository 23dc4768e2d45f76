"""``Verdict``: what about a queue somebody should look at, in words. Pure: figures in, sentences out.

In the flow: ``judging.py`` reads the figures; the command line, the API and the page show the sentences. The alerts for
Prometheus (configs/prometheus/alerts.yml) have the same names and numbers, which a test compares; they also wait some
minutes before they fire, while a verdict is of this moment.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from .ages import LaneAges
from .model.limits import EVERYTHING
from .model.rates import Rate
from .views import ActionStatistics, QueueStatus

HALF_FULL: Final = 0.5
"""This and the next: of what may wait or be scheduled in a lane."""
NEARLY_FULL: Final = 0.9
MANY_WAITING: Final = 100
OLD_SECONDS: Final = 1_800
LIMITED_SECONDS: Final = 180
UNTAKEN_SECONDS: Final = 300
STANDSTILL_SECONDS: Final = 600
DEAD_LETTERS_SECONDS: Final = 3_600
BEHIND_ENTRIES: Final = 10_000
UNWRITTEN_SECONDS: Final = 60
UNDELIVERED_SECONDS: Final = 600
_MINUTE: Final = 60
_HOUR: Final = 3_600
_MOST_NAMED: Final = 3


class Severity(StrEnum):
    """How soon somebody should look, the worst first."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


class VerdictCode(StrEnum):
    """The kinds of verdicts. A section of docs/runbook.md says of each what to do."""

    QUEUE_NEARLY_FULL = "queue_nearly_full"
    QUEUE_HALF_FULL = "queue_half_full"
    NO_PROGRESS = "no_progress"
    SLOTS_FREE_WHILE_WORK_WAITS = "slots_free_while_work_waits"
    OLDEST_WAIT_LONG = "oldest_wait_long"
    DEAD_LETTERS_GROW = "dead_letters_grow"
    NO_LEADER = "no_leader"
    LEDGER_AWAY = "ledger_away"
    LEDGER_NOT_WRITTEN = "ledger_not_written"
    LEDGER_BEHIND = "ledger_behind"
    REDIS_NOT_RESTORED = "redis_not_restored"
    TRIGGERS_FAIL = "triggers_fail"
    NOTIFICATIONS_FAIL = "notifications_fail"
    LIMIT_REACHED = "limit_reached"
    QUEUE_LONG = "queue_long"


SEVERITY: Final = dict.fromkeys(VerdictCode, Severity.WARNING) | {
    VerdictCode.QUEUE_NEARLY_FULL: Severity.CRITICAL,
    VerdictCode.LIMIT_REACHED: Severity.INFO,
    VerdictCode.QUEUE_LONG: Severity.INFO,
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Something to look at."""

    code: str
    """A `VerdictCode`, unless an API of a later release told it."""
    severity: Severity
    subject: str
    """`lane:NAME` or `action:NAME`; empty: the whole installation."""
    sentence: str


@dataclass(frozen=True, slots=True)
class LateNotifications:
    """Those of a queue or a trigger, of which one has not been delivered for long."""

    name: str
    """Whose, as people name it: `queue NAME` or `trigger NAME`."""
    waiting_ms: int
    """For how long the notification that waits longest has waited, by the database's clock."""


@dataclass(frozen=True, slots=True)
class Unwritten:
    """A ledger that nobody can write, though somebody tries."""

    lasting_ms: int
    """For how long, by the server's clock."""
    reason: str
    """Why, as whoever tried last was told; without values of rows, and without the database's address."""


def on_lane(status: QueueStatus, ages: LaneAges, paused: Collection[str] = ()) -> Iterator[Verdict]:
    """What there is to say of a lane.

    Args:
        status: Its figures.
        ages: Those of its work.
        paused: The names of all that is paused.
    """
    subject, lane = f"lane:{status.lane}", f"Lane {status.lane}"
    waiting, most = status.queue_depth, status.settings.get("max_queue_size")
    limit = status.settings.get("max_concurrent_executions")
    queued = waiting + status.scheduled_count
    if most is not None and queued > HALF_FULL * most:
        is_nearly = queued > NEARLY_FULL * most
        code = VerdictCode.QUEUE_NEARLY_FULL if is_nearly else VerdictCode.QUEUE_HALF_FULL
        text = f"{lane}: {queued:,} of {most:,.0f} places are taken by what waits or is scheduled"
        refuses = (
            "it is full, and refuses what is sent" if queued >= most else "when it is full, it refuses what is sent"
        )
        yield _verdict(code, subject, f"{text}; {refuses}")
    if ages.standstill_ms > STANDSTILL_SECONDS * 1000:
        stopped = "it is paused, and " if {EVERYTHING, subject} & set(paused) else ""
        text = f"{stopped}no slot was granted or given back for {lasting(ages.standstill_ms)}"
        yield _verdict(
            VerdictCode.NO_PROGRESS, subject, f"{lane}: {waiting:,} wait, {status.active_count:,} run; {text}"
        )
    if ages.startable_ms > UNTAKEN_SECONDS * 1000:
        taken = f"{status.active_count:,} {'slots are' if limit is None else f'of {limit:,.0f} slots are'} taken"
        text = f"{taken}, nothing holds the next one back, and nobody took it for {lasting(ages.startable_ms)}"
        yield _verdict(VerdictCode.SLOTS_FREE_WHILE_WORK_WAITS, subject, f"{lane}: {text}")
    if ages.oldest_ms > OLD_SECONDS * 1000:
        text = f"{lane}: the oldest one has waited for {lasting(ages.oldest_ms)}"
        yield _verdict(VerdictCode.OLDEST_WAIT_LONG, subject, text)
    if limit is not None and waiting and status.active_count >= limit and ages.oldest_ms > LIMITED_SECONDS * 1000:
        yield _verdict(
            VerdictCode.LIMIT_REACHED, subject, _reached(lane, ages.oldest_ms, f"limit {limit:,.0f}", waiting)
        )
    if waiting > MANY_WAITING:
        yield _verdict(VerdictCode.QUEUE_LONG, subject, f"{lane}: {waiting:,} executions wait")


def on_action(
    action: str, figures: ActionStatistics, now_ms: int, paused: Collection[str], rate: Rate | None = None
) -> Iterator[Verdict]:
    """What there is to say of an action.

    Args:
        action: Its name.
        figures: Its figures.
        now_ms: Unix milliseconds of the server's clock.
        paused: All names that are paused.
        rate: Its rate, while that keeps something back.
    """
    subject, name = f"action:{action}", f"Action {action}"
    waiting, limit, running = figures.queue_length, figures.max_concurrent, figures.active_count
    oldest_ms = 0 if figures.oldest_enqueued_at is None else max(0, int(now_ms - figures.oldest_enqueued_at))
    is_held_back = EVERYTHING in paused or subject in paused or rate is not None
    if not is_held_back and limit is not None and waiting and running < limit and oldest_ms > UNTAKEN_SECONDS * 1000:
        text = f"{running:,} of {limit:,} slots are taken, and the oldest one has waited for {lasting(oldest_ms)}"
        code = VerdictCode.SLOTS_FREE_WHILE_WORK_WAITS
        yield _verdict(code, subject, f"{name}: {text}; `bandmaster show` says for what")
    if oldest_ms > OLD_SECONDS * 1000:
        text = f"{name}: the oldest one has waited for {lasting(oldest_ms)}"
        yield _verdict(VerdictCode.OLDEST_WAIT_LONG, subject, text)
    reached = f"limit {limit:,.0f}" if limit is not None and running >= limit else rate and f"rate {rate}"
    if reached and waiting and oldest_ms > LIMITED_SECONDS * 1000:
        yield _verdict(VerdictCode.LIMIT_REACHED, subject, _reached(name, oldest_ms, reached, waiting))
    if waiting > MANY_WAITING:
        yield _verdict(VerdictCode.QUEUE_LONG, subject, f"{name}: {waiting:,} executions wait")


def on_installation(*, leads: bool, dead_lettered: int) -> Iterator[Verdict]:
    """What there is to say of all lanes together.

    Args:
        leads: Whether a scheduler process leads.
        dead_lettered: How many of the dead letters became such within `DEAD_LETTERS_SECONDS`.
    """
    if dead_lettered:
        within = lasting(DEAD_LETTERS_SECONDS * 1000)
        text = f"Dead letters: {dead_lettered:,} new within {within}, for somebody to look at"
        yield _verdict(VerdictCode.DEAD_LETTERS_GROW, "", text)
    if not leads:
        text = "No scheduler leads: workers keep lanes going, but what crashes left behind is found late"
        yield _verdict(VerdictCode.NO_LEADER, "", text)


def on_ledger(*, is_read: bool, is_written: bool, behind: int | None, unwritten: Unwritten | None) -> Iterator[Verdict]:
    """What there is to say of the ledger, where there is one.

    Args:
        is_read: Whether it can be read.
        is_written: Whether somebody writes it.
        behind: How many entries of the journal it has yet to read; None: it is not known.
        unwritten: Since when and why nobody can write it, if somebody tries in vain.
    """
    if not is_read:
        text = "The ledger cannot be read: work goes on, and the history stands still"
        yield _verdict(VerdictCode.LEDGER_AWAY, "", text)
        return
    if unwritten is not None and unwritten.lasting_ms > UNWRITTEN_SECONDS * 1000:
        text = f"The ledger could not be written for {lasting(unwritten.lasting_ms)}: {unwritten.reason}"
        yield _verdict(VerdictCode.LEDGER_NOT_WRITTEN, "", f"{text}; work goes on, and the history stands still")
    if behind is not None and behind > BEHIND_ENTRIES:
        text = f"The ledger is {behind:,} entries of the journal behind" + (
            "" if is_written else ", and nobody writes it"
        )
        yield _verdict(VerdictCode.LEDGER_BEHIND, "", text)


def on_loss(
    since_ms: int, *, executions: int, changes: int, revived: int = 0, living_again: int = 0, is_begun: bool = False
) -> Iterator[Verdict]:
    """What there is to say of a Redis that began anew, where the ledger knows of what was before.

    Args:
        since_ms: How long ago.
        executions: How many executions it does not know any more.
        changes: How many limits, rates, pauses, schedules and settings of operators were in force.
        revived: How many executions have lived since, though they had ended before.
        living_again: How many of them have not ended again.
        is_begun: Whether a rebuild has begun since, and has not ended.
    """
    text = f"Redis came back {lasting(since_ms)} ago without all that it had: {executions:,} executions are missing"
    if changes:
        text += f", and maybe some of the {changes:,} limits, pauses, schedules and settings of operators"
    if revived:
        text += f"; {revived:,} executions that had ended came back to life, and {living_again:,} of them still live"
    text += "; `bandmaster ledger rebuild --merge` restores what can be"
    if living_again:
        text += ", and ends those that had ended"
    if is_begun:
        text += "; one has begun, and has not ended"
    yield _verdict(VerdictCode.REDIS_NOT_RESTORED, "", text)


def on_triggers(failing: Sequence[str]) -> Iterator[Verdict]:
    """What there is to say of the triggers that the ledger has.

    Args:
        failing: The names of those whose last firing was not accepted.
    """
    if failing:
        text = f"Triggers cannot start executions, and try again: {_first_of(failing)}"
        yield _verdict(VerdictCode.TRIGGERS_FAIL, "", text)


def on_notifications(late: Sequence[LateNotifications]) -> Iterator[Verdict]:
    """What there is to say of the notifications that the ledger has to deliver.

    Args:
        late: Those of which one has waited for more than `UNDELIVERED_SECONDS`, the longest first.
    """
    if late:
        lasts, named = lasting(late[0].waiting_ms), _first_of([each.name for each in late])
        text = f"Notifications have not been delivered for {lasts}, and are tried again: {named}"
        yield _verdict(VerdictCode.NOTIFICATIONS_FAIL, "", text)


def ordered(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """The worst first."""
    severities, codes = list(Severity), [*map(str, VerdictCode)]

    def place(verdict: Verdict) -> tuple[int, int, str]:
        number = codes.index(verdict.code) if verdict.code in codes else len(codes)
        return severities.index(verdict.severity), number, verdict.subject

    return sorted(verdicts, key=place)


def lasting(duration_ms: float) -> str:
    """A duration in words, such as `34 min` or `2 h 5 min`."""
    seconds = int(duration_ms / 1000)
    hours, minutes = seconds // _HOUR, seconds % _HOUR // _MINUTE
    if not hours:
        return f"{minutes} min" if minutes else f"{seconds} s"
    return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"


def _first_of(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED:,} others" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _reached(name: str, oldest_ms: int, what: str, waiting: int) -> str:
    waits = "1 execution waits" if waiting == 1 else f"{waiting:,} executions wait"
    return f"{name} has waited for {lasting(oldest_ms)}: {what} reached, {waits}"


def _verdict(code: VerdictCode, subject: str, sentence: str) -> Verdict:
    return Verdict(code, SEVERITY[code], subject, sentence)
