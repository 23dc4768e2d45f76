"""Expand cron expressions and list when each job runs next.

Understands lists, ranges, steps and names. The times found are checked against brute force: every minute of
the next days is tried, one by one.
"""

import calendar
from datetime import datetime, timedelta

NOW = datetime(2024, 2, 27, 22, 50)
JOBS = {
    "*/15 8-18 * * mon-fri": "sync orders in office hours",
    "30 2 * * *": "nightly backup",
    "0 6 1 * *": "monthly invoices",
    "0 0 29 2 *": "leap day greetings",
    "5 4 * * sun,wed": "rotate logs",
    "0 9 13 * fri": "13th or Friday (cron's either-or rule)",
}
FIELDS = [("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 7)]
NAMES = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
NAMES |= {name.lower(): (number + 1) % 7 for number, name in enumerate(calendar.day_abbr)}  # cron: Sunday is 0


def expand(field: str, low: int, high: int) -> set[int]:
    """Return every value that a field such as ``1-5,*/10`` allows."""
    values: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = ("*" if span == "*" else span).partition("-")
        start = low if first == "*" else NAMES.get(first) if first in NAMES else int(first)
        end = high if first == "*" else start if not last else NAMES[last] if last in NAMES else int(last)
        values.update(range(start, end + 1, int(step or 1)))
    return values


class Schedule:
    """A parsed cron expression."""

    def __init__(self, expression: str) -> None:
        parts = expression.split()
        sets = [expand(part, low, high) for part, (_, low, high) in zip(parts, FIELDS, strict=True)]
        self.minutes, self.hours, self.days, self.months, weekdays = sets
        self.weekdays = {day % 7 for day in weekdays}
        self.either = parts[2] != "*" and parts[4] != "*"

    def on(self, day: datetime) -> bool:
        """Tell whether the job runs at all on this day."""
        checks = (day.day in self.days, day.isoweekday() % 7 in self.weekdays)
        return day.month in self.months and (any(checks) if self.either else all(checks))

    def next_runs(self, after: datetime, count: int) -> list[datetime]:
        """Return the next ``count`` times, skipping whole days that cannot match."""
        runs: list[datetime] = []
        day = after.replace(hour=0, minute=0)
        while len(runs) < count:
            if self.on(day):
                times = (day.replace(hour=h, minute=m) for h in sorted(self.hours) for m in sorted(self.minutes))
                runs += [time for time in times if time > after]
            day += timedelta(days=1)
        return runs[:count]


def main() -> None:
    print(f"now: {NOW:%a %Y-%m-%d %H:%M}\n")
    for expression, label in JOBS.items():
        schedule = Schedule(expression)
        runs = schedule.next_runs(NOW, 3)
        print(f"{expression:<24}{label}\n    " + ", ".join(f"{run:%a %Y-%m-%d %H:%M}" for run in runs))

        minutes = (NOW + timedelta(minutes=number) for number in range(1, 9 * 24 * 60))
        tried = [t for t in minutes if t.minute in schedule.minutes and t.hour in schedule.hours and schedule.on(t)]
        if tried[:3] != [run for run in runs if run < NOW + timedelta(days=9)]:
            raise SystemExit(f"{expression}: brute force disagrees: {tried[:3]}")


if __name__ == "__main__":
    main()
