"""The processes that work: workers and their threads, who lost or gave back what it held, and the API's own figures."""

from typing import Final

from .dashboards import LANES, Dashboard, Row, Variable
from .expressions import LANE, now, per_second, total
from .panels import Query, Unit, figure, lines

_BUSY: Final = f"{now('bandmaster_threads_busy')} / ({now('bandmaster_threads')} > 0)"
_API: Final = 'job="$api"'

_NOW: Final = Row(
    "Now",
    (
        figure("Workers", "processes", Unit.NUMBER, "bandmaster_workers: those that live.", now("bandmaster_workers")),
        figure(
            *("Stopping", "processes", Unit.NUMBER),
            "bandmaster_workers_stopping: take nothing more and end when what runs has ended.",
            now("bandmaster_workers_stopping"),
        ),
        figure("Threads", "threads", Unit.NUMBER, "bandmaster_threads, of all workers.", now("bandmaster_threads")),
        figure(
            *("Threads that work", "threads", Unit.NUMBER, "bandmaster_threads_busy, of all workers."),
            now("bandmaster_threads_busy"),
        ),
        figure("Busy", "of threads", Unit.RATIO, "bandmaster_threads_busy / bandmaster_threads.", _BUSY),
        figure(
            *(
                "A scheduler leads",
                "yes or no",
                Unit.YES_OR_NO,
                "bandmaster_leader: whether a scheduler process leads.",
            ),
            now("bandmaster_leader"),
        ),
    ),
)
_THREADS: Final = Row(
    "Threads",
    (
        lines(
            *(
                "Threads that work",
                "threads",
                Unit.NUMBER,
                "bandmaster_threads_busy. Dashed: bandmaster_threads, their limit.",
            ),
            Query(now("bandmaster_threads_busy"), "busy"),
            Query(now("bandmaster_threads"), "limit: all threads"),
        ),
        lines(
            *("Busy", "of threads", Unit.RATIO),
            "bandmaster_threads_busy / bandmaster_threads. At 100 % work waits for a thread.",
            Query(_BUSY, "busy"),
        ),
        lines(
            *("Threads by lane", "threads", Unit.NUMBER),
            "bandmaster_lane_threads: of the workers that take from the lane; one counts in each of its lanes.",
            Query(now("bandmaster_lane_threads", LANE), "{{lane}}"),
        ),
        lines(
            *("Workers", "processes", Unit.NUMBER, "bandmaster_workers, and of these bandmaster_workers_stopping."),
            Query(now("bandmaster_workers"), "live"),
            Query(now("bandmaster_workers_stopping"), "stopping"),
        ),
        lines(
            *("Waiting for each thread", "executions", Unit.NUMBER),
            "Sum of bandmaster_waiting over the bands, divided by bandmaster_lane_threads; lanes that nobody takes "
            "from are "
            "not here.",
            Query(
                f"{total(now('bandmaster_waiting', LANE), 'lane')} / "
                f"({total(now('bandmaster_lane_threads', LANE), 'lane')} > 0)",
                "{{lane}}",
            ),
        ),
        lines(
            *("Ends not reported", "executions", Unit.NUMBER),
            "bandmaster_untold: ended without a body, and their sender's hooks have not run yet, which a worker does.",
            Query(now("bandmaster_untold", LANE), "{{lane}}"),
        ),
    ),
)
_LOSSES: Final = Row(
    "What workers lost or gave back",
    (
        lines(
            *("Leases that ran out", "leases/s", Unit.PER_SECOND),
            "rate of bandmaster_reaped_total: whoever held one crashed, hung or was cut off.",
            Query(per_second("bandmaster_reaped_total", LANE), "{{lane}}"),
        ),
        lines(
            *("Slots given back unused", "slots/s", Unit.PER_SECOND),
            "rate of bandmaster_handed_back_total: before anything began, as a worker stopped.",
            Query(per_second("bandmaster_handed_back_total", LANE), "{{lane}}"),
        ),
        lines(
            *("Became due", "executions/s", Unit.PER_SECOND),
            "rate of bandmaster_promoted_total: were scheduled, and began to wait; retries after a delay count, too.",
            Query(per_second("bandmaster_promoted_total", LANE), "{{lane}}"),
        ),
    ),
)
_OF_API: Final = Row(
    "The API",
    (
        lines(
            *("Requests", "requests/s", Unit.PER_SECOND),
            "rate of bandmaster_api_requests_total of each process, summed by status.",
            Query(f"sum by (status) (rate(bandmaster_api_requests_total{{{_API}}}[$__rate_interval]))", "{{status}}"),
            stacked=True,
        ),
        lines(
            *("Time to answer", "seconds", Unit.SECONDS),
            "Quantile 0.95 of bandmaster_api_request_seconds, by route; of a stream, until it began.",
            Query(
                "histogram_quantile(0.95, sum by (route, le) "
                f"(rate(bandmaster_api_request_seconds_bucket{{{_API}}}[$__rate_interval])))",
                "{{route}}",
            ),
        ),
        lines(
            *("Streams", "streams", Unit.NUMBER, "Sum of bandmaster_api_streams over the processes, by route."),
            Query(f"sum by (route) (bandmaster_api_streams{{{_API}}})", "{{route}}"),
        ),
    ),
)
DASHBOARD: Final = Dashboard(
    *("workers", "Workers", "Workers and their threads, what they lost or gave back, and the API's own figures."),
    variables=(LANES, Variable("api", "API", "label_values(bandmaster_api_requests_total, job)")),
    rows=(_NOW, _THREADS, _LOSSES, _OF_API),
)
