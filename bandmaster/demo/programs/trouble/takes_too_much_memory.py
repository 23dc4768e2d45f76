"""Load a year of sensor readings into memory, all at once.

The data grows day by day to about half a gigabyte, though an average needs no more than one day at a time.
Under a memory limit the program is stopped on the way; without one it ends after a few seconds.
"""

import array
import random
import time

DAYS = 365
SENSORS = 2
READINGS_A_DAY = 86_400
PAUSE_SECONDS = 0.01  # a day's file comes over the network


def load_day(rng: random.Random) -> array.array:
    """Return one day of all sensors, a reading a second, eight bytes each."""
    base = array.array("d", [rng.gauss(20, 4) for _ in range(60)])
    return base * (SENSORS * READINGS_A_DAY // len(base))


def main() -> None:
    rng = random.Random(512)
    days: list[array.array] = []
    held_bytes = 0
    for number in range(1, DAYS + 1):
        days.append(load_day(rng))
        held_bytes += len(days[-1]) * days[-1].itemsize
        if number % 15 == 0:
            print(f"day {number:>3}: {held_bytes / 1e6:,.0f} MB of readings in memory", flush=True)
        time.sleep(PAUSE_SECONDS)
    readings = sum(len(day) for day in days)
    print(f"average of {readings:,} readings: {sum(sum(day[:60]) / 60 for day in days) / DAYS:.2f} degrees")


if __name__ == "__main__":
    main()
