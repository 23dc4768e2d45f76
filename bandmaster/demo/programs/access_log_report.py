"""Summarise a day of web server access log: traffic, errors, busiest pages.

A seeded generator writes the log in Combined Log Format; it is then parsed as any server's log would be,
and both sides must agree on the number of requests, errors and bytes.
"""

import random
import re
from collections import Counter
from datetime import UTC, datetime, timedelta

LINE = re.compile(
    r'(?P<host>\S+) - - \[(?P<time>[^]]+)] "(?P<method>[A-Z]+) (?P<path>\S+) HTTP/1\.1" '
    r'(?P<status>\d{3}) (?P<size>\d+) "-" "(?P<agent>[^"]*)"'
)
PAGES = {"/": 30, "/products": 22, "/products/42": 11, "/cart": 9, "/checkout": 5, "/login": 8, "/wp-login.php": 2}
AGENTS = ["Mozilla/5.0 (X11; Linux x86_64)", "Mozilla/5.0 (iPhone)", "curl/8.5.0", "Googlebot/2.1"]


def write_log(requests: int) -> tuple[list[str], Counter[str]]:
    """Return the lines of a day's log, and what was put into it."""
    rng = random.Random(2024)
    midnight = datetime(2024, 3, 14, tzinfo=UTC)
    seconds = sorted(min(86_399, max(0, int(rng.gauss(14.5 * 3600, 4 * 3600)))) for _ in range(requests))
    lines, truth = [], Counter()
    for second in seconds:
        path = rng.choices(list(PAGES), weights=list(PAGES.values()))[0]
        status = 404 if path == "/wp-login.php" else rng.choices([200, 304, 500], weights=[90, 8, 2])[0]
        size = 0 if status == 304 else rng.randint(300, 40_000)
        stamp = (midnight + timedelta(seconds=second)).strftime("%d/%b/%Y:%H:%M:%S %z")
        host = f"203.0.113.{rng.randint(1, 60)}"
        lines.append(f'{host} - - [{stamp}] "GET {path} HTTP/1.1" {status} {size} "-" "{rng.choice(AGENTS)}"')
        truth.update(requests=1, errors=status >= 400, bytes=size)
    return lines, truth


def main() -> None:
    lines, truth = write_log(requests=8_000)

    found: Counter[str] = Counter()
    pages: Counter[str] = Counter()
    hours: Counter[int] = Counter()
    visitors = set()
    for line in lines:
        entry = LINE.fullmatch(line)
        if entry is None:
            raise SystemExit(f"not an access log line: {line}")
        found.update(requests=1, errors=int(entry["status"]) >= 400, bytes=int(entry["size"]))
        pages[entry["path"]] += 1
        hours[int(entry["time"].split(":")[1])] += 1
        visitors.add(entry["host"])
    if found != truth:
        raise SystemExit(f"the report disagrees with the log: {found} != {truth}")

    print(f"{found['requests']:,} requests from {len(visitors)} addresses, {found['bytes'] / 1e6:.1f} MB sent")
    print(f"{found['errors']:,} errors ({found['errors'] / found['requests']:.1%})\n")
    for path, hits in pages.most_common(5):
        print(f"{hits:>6,}  {path}")
    print("\nby hour")
    for hour in range(0, 24, 2):
        hits = hours[hour] + hours[hour + 1]
        print(f"{hour:02}:00 {hits:>6,} {'#' * round(hits / 40)}")


if __name__ == "__main__":
    main()
