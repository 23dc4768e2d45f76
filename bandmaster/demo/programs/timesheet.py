"""Turn clock-in records into a timesheet with overtime.

Pairs what the time clock recorded, also across midnight, adds it up by person and project, and flags people
who forgot to clock out.
"""

from collections import Counter
from datetime import datetime, timedelta

CLOCK = """\
2024-06-03 08:02 in  amira  website
2024-06-03 08:10 in  jonas  warehouse
2024-06-03 12:00 out amira
2024-06-03 12:31 in  amira  website
2024-06-03 16:40 out jonas
2024-06-03 18:15 out amira
2024-06-03 22:00 in  sofia  night watch
2024-06-04 06:00 out sofia
2024-06-04 08:00 in  amira  webshop
2024-06-04 08:05 in  jonas  warehouse
2024-06-04 17:20 out amira
2024-06-04 22:00 in  sofia  night watch
2024-06-05 06:15 out sofia
2024-06-05 08:00 in  jonas  warehouse
2024-06-05 16:30 out jonas
"""
DAY = timedelta(hours=8)
EXPECTED = {"amira": "19:02", "jonas": "17:00", "sofia": "16:15"}


def clock(time: timedelta) -> str:
    """Return hours and minutes."""
    minutes = round(time.total_seconds() / 60)
    return f"{minutes // 60}:{minutes % 60:02}"


def main() -> None:
    at_work: dict[str, tuple[datetime, str]] = {}
    by_day: dict[tuple[str, str], timedelta] = {}
    by_project: Counter[tuple[str, str]] = Counter()
    forgotten = []
    for line in CLOCK.splitlines():
        time = datetime.fromisoformat(line[:16])
        what, person, *project = line[17:].split(maxsplit=2)
        if what == "in":
            if person in at_work:
                forgotten.append((person, at_work[person][0]))
            at_work[person] = (time, project[0])
        else:
            since, task = at_work.pop(person)
            day = (person, f"{since:%a}")  # a night shift belongs to the day on which it began
            by_day[day] = by_day.get(day, timedelta()) + (time - since)
            by_project[person, task] += int((time - since).total_seconds())

    print(f"{'':<8}{'Mon':>8}{'Tue':>8}{'Wed':>8}{'sum':>9}{'overtime':>10}")
    sums = {}
    for person in EXPECTED:
        days = [by_day.get((person, day), timedelta()) for day in ("Mon", "Tue", "Wed")]
        overtime = sum((max(day - DAY, timedelta()) for day in days), timedelta())
        sums[person] = sum(days, timedelta())
        row = "".join(f"{clock(day):>8}" for day in days)
        print(f"{person:<8}{row}{clock(sums[person]):>9}{clock(overtime):>10}")
    print()
    for (person, project), seconds in by_project.most_common():
        print(f"{clock(timedelta(seconds=seconds)):>6}  {project} ({person})")
    for person, since in forgotten:
        print(f"\n{person} forgot to clock out after {since:%a %H:%M}; that time is not counted")

    if {person: clock(time) for person, time in sums.items()} != EXPECTED:
        raise SystemExit(f"expected {EXPECTED}")
    if [person for person, _ in forgotten] != ["jonas"]:
        raise SystemExit("only Jonas forgot to clock out")
    if sum(by_project.values()) != sum(sums.values(), timedelta()).total_seconds():
        raise SystemExit("projects and people do not add up to the same time")


if __name__ == "__main__":
    main()
