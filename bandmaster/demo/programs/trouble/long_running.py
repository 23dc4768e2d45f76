"""Export a customer table page by page, for about ten minutes.

Each page takes a tenth of a second, as from a slow database. It can be stopped at any time: the rows are
written to a temporary file, which gets its final name only when it is complete.
"""

import csv
import random
import time
from pathlib import Path

PAGES = 6_000
ROWS_A_PAGE = 50
SECONDS_A_PAGE = 0.1
REPORT_EVERY = 20  # pages


def fetch_page(page: int, rng: random.Random) -> list[tuple[int, str, str]]:
    """Return a page of customers: number, city, turnover."""
    time.sleep(SECONDS_A_PAGE)
    first = page * ROWS_A_PAGE
    cities = ("Lisbon", "Gdansk", "Turku", "Ghent", "Graz")
    return [(first + row, rng.choice(cities), f"{rng.uniform(10, 9_000):.2f}") for row in range(ROWS_A_PAGE)]


def main() -> None:
    rng = random.Random(60)
    unfinished, finished = Path("customers.csv.part"), Path("customers.csv")
    rows = 0
    print(f"exporting {PAGES * ROWS_A_PAGE:,} rows", flush=True)
    with unfinished.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        for page in range(PAGES):
            customers = fetch_page(page, rng)
            writer.writerows(customers)
            rows += len(customers)
            if (page + 1) % REPORT_EVERY == 0:
                print(f"{(page + 1) / PAGES:>4.0%}  {rows:>6,} of {PAGES * ROWS_A_PAGE:,} rows", flush=True)
    unfinished.rename(finished)
    with finished.open(encoding="utf-8") as file:
        if sum(1 for _ in file) != rows:
            raise SystemExit("rows were lost")
    print(f"{finished}: {rows:,} rows, {finished.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
