"""Find the minutes of an application log in which errors burst out of the ordinary.

Each minute's error count is compared with the median of the day, in units of the median absolute deviation,
a measure that the bursts themselves cannot distort. Three incidents are planted; exactly those must be found.
"""

import random
import statistics
from collections import Counter

INCIDENTS = {"02:17": "disk full", "09:03": "payment gateway timeout", "09:04": "payment gateway timeout"}
MESSAGES = ["cache miss for user profile", "slow query", "retrying upload", "connection reset by peer"]
THRESHOLD = 8.0


def write_log() -> list[str]:
    """Return ten hours of log lines, with a few errors in every minute and many in the incidents."""
    rng = random.Random(99)
    lines = []
    for minute in range(600):
        clock = f"{minute // 60:02}:{minute % 60:02}"
        lines += [f"{clock}:{rng.randrange(60):02} INFO request served" for _ in range(rng.randint(15, 30))]
        lines += [f"{clock}:{rng.randrange(60):02} ERROR {rng.choice(MESSAGES)}" for _ in range(rng.randint(0, 5))]
        if clock in INCIDENTS:
            lines += [f"{clock}:{rng.randrange(60):02} ERROR {INCIDENTS[clock]}" for _ in range(rng.randint(40, 60))]
    return sorted(lines)


def main() -> None:
    lines = write_log()
    errors = {f"{minute // 60:02}:{minute % 60:02}": Counter() for minute in range(600)}
    for line in lines:
        stamp, level, message = line.split(" ", 2)
        if level == "ERROR":
            errors[stamp[:5]][message] += 1

    counts = [messages.total() for messages in errors.values()]
    usual = statistics.median(counts)
    spread = statistics.median(abs(count - usual) for count in counts) or 1.0
    found = {clock: messages for clock, messages in errors.items() if (messages.total() - usual) / spread > THRESHOLD}

    print(f"{len(lines):,} lines, {sum(counts):,} errors; usual: {usual:.0f} a minute, give or take {spread:.0f}\n")
    for clock, messages in found.items():
        cause, _ = messages.most_common(1)[0]
        print(f"{clock}  {messages.total():>3} errors, mostly: {cause}")
        if INCIDENTS.get(clock) != cause:
            raise SystemExit(f"false alarm at {clock}")
    if found.keys() != INCIDENTS.keys():
        raise SystemExit(f"missed: {sorted(INCIDENTS.keys() - found.keys())}")
    print(f"\nall {len(INCIDENTS)} planted incidents found, no false alarm")


if __name__ == "__main__":
    main()
