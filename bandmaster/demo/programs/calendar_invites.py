"""Write a course timetable as an iCalendar file that phones can import.

Lines are folded and texts escaped as RFC 5545 demands; parsed back, the file must give the same lessons.
"""

import re
from datetime import datetime, timedelta
from pathlib import Path

LESSONS = [  # first lesson, minutes, title, place
    (datetime(2024, 9, 2, 18, 30), 90, "Beginners' pottery; bring an apron", "Studio 2, Mill Lane"),
    (datetime(2024, 9, 4, 19, 0), 60, "Life drawing", "Old school, room 11"),
    (datetime(2024, 9, 7, 10, 0), 180, "Screen printing: from sketch, via stencil, to shirt and bag", "Werkstatt Süd"),
]
WEEKS = 4


def escape(text: str) -> str:
    """Escape what has a meaning of its own in iCalendar."""
    return re.sub(r"([\\;,])", r"\\\1", text).replace("\n", "\\n")


def unescape(text: str) -> str:
    return re.sub(r"\\([\\;,])", r"\1", text.replace("\\n", "\n"))


def fold(line: str) -> str:
    """Break a line so that none is longer than 75 bytes, without cutting a character in two."""
    parts, current = [], ""
    for character in line:
        if len((current + character).encode()) > 75:
            parts.append(current)
            current = " "
        current += character
    return "\r\n".join([*parts, current])


def write_calendar() -> str:
    """Return the timetable, each lesson with an alarm a quarter of an hour before."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//examples//timetable//EN"]
    for number, (start, minutes, title, place) in enumerate(LESSONS):
        for week in range(WEEKS):
            begin = start + timedelta(weeks=week)
            lines += ["BEGIN:VEVENT", f"UID:{number}-{week}@timetable.example", "DTSTAMP:20240801T120000Z"]
            lines += [f"DTSTART:{begin:%Y%m%dT%H%M%S}", f"DTEND:{begin + timedelta(minutes=minutes):%Y%m%dT%H%M%S}"]
            lines += [f"SUMMARY:{escape(title)} ({week + 1}/{WEEKS})", f"LOCATION:{escape(place)}", "BEGIN:VALARM"]
            lines += ["TRIGGER:-PT15M", "ACTION:DISPLAY", "DESCRIPTION:Soon", "END:VALARM", "END:VEVENT"]
    return "\r\n".join(fold(line) for line in [*lines, "END:VCALENDAR", ""])


def main() -> None:
    file = Path("timetable.ics")
    file.write_bytes(write_calendar().encode())

    raw = file.read_bytes()
    if any(len(line) > 75 for line in raw.split(b"\r\n")):
        raise SystemExit("a line is too long")
    text = raw.decode().replace("\r\n ", "")
    found = []
    for event in re.findall(r"BEGIN:VEVENT\r\n(.*?)END:VEVENT", text, re.DOTALL):
        fields = dict(line.split(":", 1) for line in event.splitlines())
        start, end = (datetime.strptime(fields[name], "%Y%m%dT%H%M%S") for name in ("DTSTART", "DTEND"))
        found.append((start, (end - start).seconds // 60, unescape(fields["SUMMARY"]), unescape(fields["LOCATION"])))
    expected = [
        (start + timedelta(weeks=week), minutes, f"{title} ({week + 1}/{WEEKS})", place)
        for start, minutes, title, place in LESSONS
        for week in range(WEEKS)
    ]
    if found != expected:
        raise SystemExit("the calendar does not read back as the timetable")

    for start, minutes, title, _ in sorted(found):
        print(f"{start:%a %d %b %H:%M}  {minutes:>3} min  {title}")
    print(f"\n{len(found)} lessons in {file}, {len(raw):,} bytes")


if __name__ == "__main__":
    main()
