"""Print a quarter's calendar with public holidays and count the working days.

The movable feasts follow Easter, computed for the year and checked against known dates.
"""

import calendar
from datetime import date, timedelta

YEAR = 2025
MONTHS = (4, 5, 6)
KNOWN_EASTERS = [date(1961, 4, 2), date(2000, 4, 23), date(2011, 4, 24), date(2024, 3, 31), date(2038, 4, 25)]


def easter(year: int) -> date:
    """Return Easter Sunday in the Gregorian calendar (Meeus, Jones and Butcher)."""
    a, (b, c) = year % 19, divmod(year, 100)
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    month, day = divmod(h + m - 7 * n + 114, 31)
    return date(year, month, day + 1)


def holidays(year: int) -> dict[date, str]:
    """Return the public holidays that fall into spring, in much of Europe."""
    sunday = easter(year)
    movable = {-2: "Good Friday", 1: "Easter Monday", 39: "Ascension Day", 50: "Whit Monday"}
    found = {sunday + timedelta(days=days): name for days, name in movable.items()}
    found[date(year, 5, 1)] = "Labour Day"
    return found


def main() -> None:
    for known in KNOWN_EASTERS:
        if easter(known.year) != known:
            raise SystemExit(f"Easter {known.year} was on {known}, not on {easter(known.year)}")

    free = holidays(YEAR)
    blocks = []
    for month in MONTHS:
        rows = [f"{calendar.month_name[month]} {YEAR}".center(28), " Mo  Tu  We  Th  Fr  Sa  Su "]
        for week in calendar.Calendar().monthdatescalendar(YEAR, month):
            cells = [
                "    " if day.month != month else f"[{day.day:>2}]" if day in free else f" {day.day:>2} "
                for day in week
            ]
            rows.append("".join(cells))
        blocks.append(rows + [" " * 28] * (8 - len(rows)))
    for rows in zip(*blocks, strict=True):
        print("   ".join(rows).rstrip())

    print()
    for day, name in sorted(free.items()):
        print(f"{day:%a %d %b}  {name}")
    start, end = date(YEAR, MONTHS[0], 1), date(YEAR, MONTHS[-1] + 1, 1)
    days = [start + timedelta(days=number) for number in range((end - start).days)]
    working = sum(day.weekday() < 5 and day not in free for day in days)
    weekends = sum(day.weekday() >= 5 for day in days)
    if working + weekends + sum(day.weekday() < 5 for day in free) != len(days):
        raise SystemExit("some days were lost")
    print(f"\n{len(days)} days, of which {working} working days")


if __name__ == "__main__":
    main()
