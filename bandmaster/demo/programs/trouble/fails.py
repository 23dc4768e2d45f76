"""Import a price list that was cut off in transfer, and refuse it.

The file carries its own number of rows and a checksum in the last line, as many exchange formats do. The
download broke off and was spliced; the program says what is wrong on stderr and exits with code 3.
"""

import csv
import io
import random
import sys
import zlib
from pathlib import Path

CORRUPT_DATA = 3


class CorruptFileError(Exception):
    """The file is not what its sender wrote."""


def write_damaged_file(path: Path) -> None:
    """Write a price list of 5,000 rows of which some bytes in the middle are missing."""
    rng = random.Random(3)
    rows = "".join(f"SKU-{number:05},{rng.randint(99, 99_999) / 100:.2f},EUR\n" for number in range(5_000))
    trailer = f"#rows=5000,crc32={zlib.crc32(rows.encode()):08x}\n"
    path.write_text(rows[:41_007] + rows[52_340:] + trailer, encoding="ascii")


def import_prices(path: Path) -> dict[str, float]:
    """Return SKU -> price.

    Raises:
        CorruptFileError: If rows are missing or damaged; names every reason.
    """
    body, _, trailer = path.read_text(encoding="ascii").rpartition("#")
    promised = dict(field.split("=") for field in trailer.strip().split(","))
    prices, reasons = {}, []
    for number, row in enumerate(csv.reader(io.StringIO(body)), start=1):
        if len(row) != 3 or not row[1].replace(".", "", 1).isdigit():
            reasons.append(f"line {number} is not a price: {','.join(row)}")
        else:
            prices[row[0]] = float(row[1])
    if len(prices) != int(promised["rows"]):
        reasons.append(f"{promised['rows']} rows promised, {len(prices)} found")
    if (checksum := f"{zlib.crc32(body.encode()):08x}") != promised["crc32"]:
        reasons.append(f"checksum {promised['crc32']} promised, {checksum} found")
    if reasons:
        raise CorruptFileError("; ".join(reasons))
    return prices


def main() -> int:
    path = Path("prices.csv")
    write_damaged_file(path)
    print(f"importing {path}, {path.stat().st_size:,} bytes", flush=True)
    try:
        prices = import_prices(path)
    except CorruptFileError as error:
        print(f"{path} is corrupt, nothing was imported: {error}", file=sys.stderr)
        return CORRUPT_DATA
    print(f"{len(prices):,} prices imported")
    return 0


if __name__ == "__main__":
    sys.exit(main())
