"""Lines of cron, in ten zones, against a naive oracle, with Debian's rules at the change of clocks."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest

from bandmaster.scheduler.model.cron import Cron
from bandmaster.scheduler.model.errors import InvalidRequest

ZONES = [
    *("UTC", "Europe/Berlin", "America/New_York", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu"),
    *("Pacific/Apia", "Africa/Casablanca", "America/Santiago", "Pacific/Chatham"),
]
FIXED = [(30, 2), (0, 0), (15, 1), (59, 23), (0, 3), (45, 2)]
BEGIN, DAYS = datetime(2026, 1, 1, tzinfo=UTC), 400


def fixed_times(minute: int, hour: int, tz: str) -> list[int]:
    """Each day once: the first moment that has this time; if there is none, the first one after the gap."""
    zone, found = ZoneInfo(tz), list[int]()
    day = BEGIN.astimezone(zone).date() - timedelta(days=1)
    for _ in range(DAYS + 2):
        local = datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone)
        at = local
        while at.astimezone(UTC).astimezone(zone) != at:  # it does not exist
            naive = at.replace(tzinfo=None) + timedelta(minutes=1)
            at = naive.replace(tzinfo=zone)
        found.append(int(at.timestamp() * 1000))
        day += timedelta(days=1)
    end_ms = (BEGIN + timedelta(days=DAYS)).timestamp() * 1000
    return [each for each in dict.fromkeys(found) if BEGIN.timestamp() * 1000 < each <= end_ms]


def real_times(tz: str, fits: Callable[[datetime], bool]) -> list[int]:
    """Each minute of real time whose local time fits."""
    zone = ZoneInfo(tz)
    minutes = (BEGIN + timedelta(minutes=each) for each in range(1, 60 * 24 * 100))
    return [int(each.timestamp() * 1000) for each in minutes if fits(each.astimezone(zone))]


@pytest.mark.parametrize("tz", ZONES)
@pytest.mark.parametrize(("minute", "hour"), FIXED)
def test_a_fixed_time_comes_once_a_day_whatever_the_clocks_do(tz: str, minute: int, hour: int) -> None:
    begin_ms, end_ms = (int(each.timestamp() * 1000) for each in (BEGIN, BEGIN + timedelta(days=DAYS)))
    assert list(Cron(f"{minute} {hour} * * *", tz).between(begin_ms, end_ms)) == fixed_times(minute, hour, tz)


@pytest.mark.slow
@pytest.mark.parametrize("tz", ZONES)
def test_stars_follow_real_time(tz: str) -> None:
    begin_ms = int(BEGIN.timestamp() * 1000)
    each_quarter = real_times(tz, lambda at: at.minute % 15 == 0 and at.hour in (1, 2, 3))
    end_ms = begin_ms + 60_000 * 60 * 24 * 100 - 1
    assert list(Cron("*/15 1-3 * * *", tz).between(begin_ms, end_ms)) == each_quarter
    hourly = real_times(tz, lambda at: at.minute == 0)
    assert list(Cron("0 * * * *", tz).between(begin_ms, end_ms)) == hourly


@pytest.mark.parametrize("tz", ZONES)
def test_from_whatever_moment_one_asks_the_next_is_the_same(tz: str) -> None:
    cron = Cron("30 2,12 * * *", tz)
    begin_ms = int(datetime(2026, 3, 1, tzinfo=UTC).timestamp() * 1000)
    every = list(islice(cron.after(begin_ms), 500))
    for earlier, later in pairwise(every):
        for since in (earlier, earlier + 1, (earlier + later) // 2, later - 1):
            assert next(cron.after(since)) == later
    assert cron.last_between(begin_ms, every[-1], 7) == every[-7:]
    assert cron.last_between(begin_ms, every[2], 7) == every[:3]


@pytest.mark.parametrize("sunday", ["0", "7", "SUN"])
def test_sunday_is_0_and_7(sunday: str) -> None:
    times = islice(Cron.read(f"0 0 * * {sunday}").after(0), 50)
    assert {datetime.fromtimestamp(each / 1000, UTC).strftime("%a") for each in times} == {"Sun"}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("60 * * * *", "'60' is no minute; allowed: 0 to 59; also"),
        ("* 24 * * *", "'24' is no hour"),
        ("* * 0 * *", "'0' is no day of the month; allowed: 1 to 31"),
        ("* * * 13 *", "'13' is no month; allowed: 1 to 12, JAN to DEC"),
        ("* * * * 8", "'8' is no day of the week; allowed: 0 to 7"),
        ("*/0 * * * *", r"'\*/0' is no minute"),
        ("5-1 * * * *", "'5-1' is no minute"),
        ("* * * * * *", "has 6 fields; allowed: five"),
        ("", "has 0 fields"),
        ("@reboot", "'@reboot' is not known; allowed: @hourly"),
        ("0 0 30 2 *", "'0 0 30 2 \\*' never fires"),
        ("0 0 31 4,6,9,11 *", "never fires"),
        (None, "None is no line of cron"),
        ("* " * 200, "is no line of cron"),
        ("² * * * *", "is no minute"),
        ("0 0 L/x * *", "is no day of the month"),
    ],
)
def test_a_wrong_line_is_told_by_its_field(line: object, why: str) -> None:
    with pytest.raises(InvalidRequest, match=why):
        Cron.read(line)


@pytest.mark.parametrize(
    ("tz", "why"),
    [
        ("Berlin", "did you mean Europe/Berlin"),
        ("europe/berlin", "did you mean Europe/Berlin"),
        ("new york", "did you mean America/New_York"),
        ("Europe/Berln", "did you mean Europe/Berlin"),
        ("../etc/passwd", "is no time zone"),
        (3, "3 is no time zone"),
    ],
)
def test_a_wrong_zone_is_told_with_similar_ones(tz: object, why: str) -> None:
    with pytest.raises(InvalidRequest, match=why):
        Cron.read("0 0 * * *", tz)


def test_two_times_in_a_gap_are_one_moment() -> None:
    begin_ms = int(datetime(2026, 3, 28, 12, tzinfo=UTC).timestamp() * 1000)
    times = list(islice(Cron("0,30 2 * * *", "Europe/Berlin").after(begin_ms), 2))
    assert [datetime.fromtimestamp(each / 1000, UTC).isoformat() for each in times] == [
        "2026-03-29T01:00:00+00:00",
        "2026-03-30T00:00:00+00:00",
    ]
