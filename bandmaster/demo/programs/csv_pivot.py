"""Crunch a sales CSV into a pivot table: revenue by region and quarter.

The rows are generated, written as CSV and read back. The table's row and column totals must both add up to
the sum of the file, to the cent.
"""

import csv
import io
import random
from collections import defaultdict
from decimal import Decimal

REGIONS = ["North", "South", "East", "West", "Online"]
PRODUCTS = {"kettle": Decimal("34.90"), "toaster": Decimal("49.50"), "blender": Decimal("89.00")}


def write_sales(rows: int) -> str:
    """Return a year of sales as CSV."""
    rng = random.Random(365)
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["date", "region", "product", "quantity", "amount"])
    for _ in range(rows):
        month = rng.choices(range(1, 13), weights=[6, 5, 6, 7, 7, 7, 6, 6, 8, 9, 14, 19])[0]
        product, price = rng.choice(list(PRODUCTS.items()))
        quantity = rng.randint(1, 6)
        region = rng.choices(REGIONS, weights=[4, 3, 2, 3, 8])[0]
        writer.writerow([f"2024-{month:02}-{rng.randint(1, 28):02}", region, product, quantity, price * quantity])
    return out.getvalue()


def main() -> None:
    text = write_sales(rows=12_000)

    pivot: defaultdict[str, defaultdict[int, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    total = Decimal(0)
    for row in csv.DictReader(io.StringIO(text)):
        quarter = (int(row["date"][5:7]) + 2) // 3
        pivot[row["region"]][quarter] += Decimal(row["amount"])
        total += Decimal(row["amount"])

    print(f"{'revenue':<10}" + "".join(f"{f'Q{quarter}':>14}" for quarter in range(1, 5)) + f"{'year':>16}")
    by_quarter: defaultdict[int, Decimal] = defaultdict(Decimal)
    by_region = {}
    for region in REGIONS:
        cells = [pivot[region][quarter] for quarter in range(1, 5)]
        by_region[region] = sum(cells)
        for quarter, cell in enumerate(cells, start=1):
            by_quarter[quarter] += cell
        print(f"{region:<10}" + "".join(f"{cell:>14,}" for cell in cells) + f"{by_region[region]:>16,}")
    print(f"{'all':<10}" + "".join(f"{by_quarter[quarter]:>14,}" for quarter in range(1, 5)) + f"{total:>16,}")

    best = max(by_region, key=by_region.get)
    print(f"\n{best} sold most: {by_region[best] / total:.1%} of the year; Q4 brought {by_quarter[4] / total:.1%}")
    if not sum(by_region.values()) == sum(by_quarter.values()) == total:
        raise SystemExit("the table does not add up to the file")


if __name__ == "__main__":
    main()
