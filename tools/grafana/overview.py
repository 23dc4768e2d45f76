"""The first dashboard to look at: whether work flows, how long it waits, and how it ends."""

from typing import Final

from .dashboards import LANES, Dashboard, Row
from .expressions import LANE, in_range, now, per_second, quantile, total
from .panels import Query, Unit, figure, lines, table

_WAITING: Final = now("bandmaster_waiting", LANE)
_AGES: Final = total(now("bandmaster_waiting_age_seconds_bucket", LANE), "lane", "le")
_REDIS_UP: Final = now("bandmaster_redis_up")
_TO_ONE_ACTION: Final = (
    "This action /d/bandmaster-one-action?var-action=${__field.labels.action}"
    "&${datasource:queryparam}&${job:queryparam}&${__url_time_range}"
)

_NOW: Final = Row(
    "Now",
    (
        figure(
            "Waiting", "executions", Unit.NUMBER, "Sum of bandmaster_waiting over lanes and bands.", total(_WAITING)
        ),
        figure(
            *("Active", "executions", Unit.NUMBER, "Sum of bandmaster_active over lanes: how many hold a slot."),
            total(now("bandmaster_active", LANE)),
        ),
        figure(
            *("Oldest wait", "seconds", Unit.SECONDS),
            "Greatest bandmaster_oldest_wait_seconds of the lanes; 0: nothing waits.",
            f"max({now('bandmaster_oldest_wait_seconds', LANE)})",
        ),
        figure(
            *("Dead letters", "executions", Unit.NUMBER, "bandmaster_dead_letters: those that are kept, of all lanes."),
            now("bandmaster_dead_letters"),
        ),
        figure(
            *("A scheduler leads", "yes or no", Unit.YES_OR_NO),
            "bandmaster_leader: whether a scheduler process leads. Of several that tell of it, the greatest counts.",
            now("bandmaster_leader"),
        ),
        figure(
            *("Redis and SQL answer", "yes or no", Unit.YES_OR_NO),
            "bandmaster_redis_up times bandmaster_ledger_up: whether both answered the last scrape. "
            "Without a ledger it is Redis alone.",
            f"{_REDIS_UP} * {now('bandmaster_ledger_up')} or {_REDIS_UP}",
        ),
    ),
)
_WORK: Final = Row(
    "What waits and runs",
    (
        lines(
            *("Waiting by band", "executions", Unit.NUMBER, "Sum of bandmaster_waiting over the lanes, by priority."),
            Query(total(_WAITING, "priority"), "{{priority}}"),
            stacked=True,
        ),
        lines(
            *("Waiting by lane", "executions", Unit.NUMBER),
            "Sum of bandmaster_waiting over the bands, by lane. Dashed: bandmaster_queue_size_limit, where there is "
            "one.",
            Query(total(_WAITING, "lane"), "{{lane}}"),
            Query(now("bandmaster_queue_size_limit", LANE), "{{lane}}: limit"),
        ),
        lines(
            *("Active by lane", "executions", Unit.NUMBER),
            "bandmaster_active. Dashed: bandmaster_active_limit, where there is one.",
            Query(now("bandmaster_active", LANE), "{{lane}}"),
            Query(now("bandmaster_active_limit", LANE), "{{lane}}: limit"),
        ),
        lines(
            *("Fullness", "of what may wait or be scheduled", Unit.RATIO),
            "Sum of bandmaster_waiting over the bands and bandmaster_scheduled, by bandmaster_queue_size_limit; "
            "lanes without one are not here. At 100 % a lane refuses what is sent.",
            Query(
                f"({total(_WAITING, 'lane')} + {total(now('bandmaster_scheduled', LANE), 'lane')}) / "
                f"{total(now('bandmaster_queue_size_limit', LANE), 'lane')}",
                "{{lane}}",
            ),
        ),
        lines(
            *("Not yet due", "executions", Unit.NUMBER, "bandmaster_scheduled: delayed ones and retries with a delay."),
            Query(now("bandmaster_scheduled", LANE), "{{lane}}"),
        ),
        lines(
            *("Actions", "executions/s", Unit.PER_SECOND),
            "rate of bandmaster_action_enqueued_total: the ten actions of which most were accepted. A click leads to "
            "one.",
            Query(f"topk(10, {per_second('bandmaster_action_enqueued_total')})", "{{action}}"),
            leads_to=_TO_ONE_ACTION,
        ),
        lines(
            *("Accepted, granted, ended", "per second", Unit.PER_SECOND),
            "rate of bandmaster_accepted_total, bandmaster_granted_total (a slot for each attempt) and "
            "bandmaster_ended_total, summed over the lanes.",
            Query(total(per_second("bandmaster_accepted_total", LANE)), "accepted"),
            Query(total(per_second("bandmaster_granted_total", LANE)), "granted"),
            Query(total(per_second("bandmaster_ended_total", LANE)), "ended"),
        ),
        lines(
            *("Standstill", "seconds", Unit.SECONDS),
            "bandmaster_standstill_seconds: for how long something has waited or run while no slot was granted or "
            "given "
            "back; 0: nothing waits or runs.",
            Query(now("bandmaster_standstill_seconds", LANE), "{{lane}}"),
        ),
        lines(
            *("Slots free while work waits", "seconds", Unit.SECONDS),
            "bandmaster_startable_wait_seconds: for how long the next one has waited though nothing is known to hold "
            "it "
            "back; 0: there is none.",
            Query(now("bandmaster_startable_wait_seconds", LANE), "{{lane}}"),
        ),
    ),
)
_TIMES: Final = Row(
    "How long it takes",
    (
        lines(
            *("Wait", "seconds", Unit.SECONDS),
            "Quantiles 0.5 and 0.95 of bandmaster_wait_seconds: from the beginning of a wait to its slot, of those "
            "that got "
            "one of late.",
            Query(quantile(0.5, "bandmaster_wait_seconds", LANE), "{{lane}}: p50"),
            Query(quantile(0.95, "bandmaster_wait_seconds", LANE), "{{lane}}: p95"),
        ),
        lines(
            *("Wait by band, lane executions", "seconds", Unit.SECONDS),
            "Quantile 0.95 of queue_wait_time, by priority: as Wait, of the lane of events alone.",
            Query(quantile(0.95, "queue_wait_time", by="priority"), "{{priority}}"),
        ),
        lines(
            *("Age of what waits now", "seconds", Unit.SECONDS),
            "Quantiles 0.5 and 0.9 of bandmaster_waiting_age_seconds, which counts what waits at this moment: no rate.",
            Query(f"histogram_quantile(0.5, {_AGES})", "{{lane}}: p50"),
            Query(f"histogram_quantile(0.9, {_AGES})", "{{lane}}: p90"),
        ),
        lines(
            *("Run", "seconds", Unit.SECONDS),
            "Quantiles 0.5 and 0.95 of bandmaster_run_seconds: for how long an attempt held its slot.",
            Query(quantile(0.5, "bandmaster_run_seconds", LANE), "{{lane}}: p50"),
            Query(quantile(0.95, "bandmaster_run_seconds", LANE), "{{lane}}: p95"),
        ),
        lines(
            *("Turnaround", "seconds", Unit.SECONDS),
            "Quantiles 0.5 and 0.95 of bandmaster_turnaround_seconds: from acceptance to completion, over all "
            "attempts.",
            Query(quantile(0.5, "bandmaster_turnaround_seconds", LANE), "{{lane}}: p50"),
            Query(quantile(0.95, "bandmaster_turnaround_seconds", LANE), "{{lane}}: p95"),
        ),
        lines(
            *("Late", "seconds", Unit.SECONDS),
            "Quantile 0.95 of bandmaster_late_seconds: from when one was due to when it began to wait.",
            Query(quantile(0.95, "bandmaster_late_seconds", LANE), "{{lane}}: p95"),
        ),
    ),
)
_ENDS: Final = Row(
    "How it ends",
    (
        lines(
            *("Ends by state", "executions/s", Unit.PER_SECOND, "rate of bandmaster_ended_total, summed by state."),
            Query(total(per_second("bandmaster_ended_total", LANE), "state"), "{{state}}"),
            stacked=True,
        ),
        lines(
            *(
                "Retried by reason",
                "attempts/s",
                Unit.PER_SECOND,
                "rate of bandmaster_retried_total, summed by reason.",
            ),
            Query(total(per_second("bandmaster_retried_total", LANE), "reason"), "{{reason}}"),
            stacked=True,
        ),
        lines(
            *("Refused by reason", "submissions/s", Unit.PER_SECOND),
            "rate of bandmaster_rejected_total, by reason; of all lanes.",
            Query(total(per_second("bandmaster_rejected_total"), "reason"), "{{reason}}"),
            stacked=True,
        ),
        table(
            *("Ends in this time", "executions", Unit.NUMBER),
            "increase of bandmaster_ended_total over the time shown, by lane, state and reason (empty: none was "
            "given), "
            "where there is any; and its share of all that ended in the lane. Prometheus extrapolates: it may be a "
            "fraction.",
            Query(f"{total(in_range('bandmaster_ended_total', LANE), 'lane', 'state', 'reason')} > 0", "ended"),
            Query(
                f"{total(in_range('bandmaster_ended_total', LANE), 'lane', 'state', 'reason')} / on (lane) group_left "
                f"{total(in_range('bandmaster_ended_total', LANE), 'lane')} > 0",
                *("share", Unit.RATIO),
            ),
            width=16,
        ),
        lines(
            *("Dead letters", "executions/s", Unit.PER_SECOND, "rate of bandmaster_dead_lettered_total, by lane."),
            Query(per_second("bandmaster_dead_lettered_total", LANE), "{{lane}}"),
        ),
    ),
)
_LEDGER: Final = Row(
    "The ledger",
    (
        lines(
            *("Entries yet to be read", "entries", Unit.NUMBER),
            "bandmaster_ledger_lag_entries: how far the ledger is behind the journal.",
            Query(now("bandmaster_ledger_lag_entries"), "lag"),
        ),
        lines(
            *("The journal", "entries", Unit.NUMBER, "bandmaster_journal_entries: how many Redis keeps."),
            Query(now("bandmaster_journal_entries"), "entries"),
        ),
        lines(
            *("Missed entries", "entries", Unit.NUMBER),
            "bandmaster_ledger_missed_entries_total: could not be read since the ledger began; what they told is "
            "missing in "
            "all totals.",
            Query(now("bandmaster_ledger_missed_entries_total"), "missed"),
        ),
    ),
)
DASHBOARD: Final = Dashboard(
    *("overview", "Overview", "Whether work flows, how long it waits, and how it ends."),
    variables=(LANES,),
    rows=(_NOW, _WORK, _TIMES, _ENDS, _LEDGER),
)
