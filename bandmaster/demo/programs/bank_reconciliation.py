"""Reconcile a bank statement with the ledger: matches, missing bookings, fees.

Amounts are matched to the cent, dates within three days, since banks book late. Whatever remains unmatched
must explain the whole difference between the two balances.
"""

import csv
import io
from datetime import date
from decimal import Decimal
from typing import NamedTuple

STATEMENT = """\
2024-05-02,Salary ACME Ltd,3200.00
2024-05-03,Rent May,-950.00
2024-05-06,Card 4711 Grocer,-86.40
2024-05-07,Card 4711 Grocer,-12.15
2024-05-13,Power company,-74.00
2024-05-15,Account fee,-4.90
2024-05-21,Card 4711 Bookshop,-23.99
2024-05-28,Interest,1.12
"""
LEDGER = """\
2024-05-01,Salary,3200.00
2024-05-03,Rent,-950.00
2024-05-04,Groceries,-86.40
2024-05-06,Bakery,-12.15
2024-05-12,Electricity,-74.00
2024-05-20,Books,-32.99
2024-05-30,Insurance (not yet collected),-58.00
"""


class Entry(NamedTuple):
    day: date
    text: str
    amount: Decimal


def read(text: str) -> list[Entry]:
    """Return the entries of a CSV, oldest first."""
    rows = csv.reader(io.StringIO(text))
    return sorted(Entry(date.fromisoformat(day), label, Decimal(amount)) for day, label, amount in rows)


def main() -> None:
    bank, books = read(STATEMENT), read(LEDGER)
    difference = sum(entry.amount for entry in bank) - sum(entry.amount for entry in books)

    only_bank, only_books, matched = [], list(books), 0
    for entry in bank:
        near = [other for other in only_books if other.amount == entry.amount and abs(other.day - entry.day).days <= 3]
        if near:
            only_books.remove(min(near, key=lambda other: abs(other.day - entry.day)))
            matched += 1
        else:
            only_bank.append(entry)

    print(f"{matched} entries match\n")
    for title, entries in (("only on the statement", only_bank), ("only in the ledger", only_books)):
        print(title)
        for day, text, amount in entries:
            print(f"  {day}  {text:<32}{amount:>10,}")
    for entry in only_bank:  # two digits swapped give a difference divisible by nine
        for other in only_books:
            error = entry.amount - other.amount
            if abs(entry.day - other.day).days <= 3 and error * 100 % 9 == 0 and abs(error) < 100:
                print(f"\ntypo? {other.text}: {other.amount} in the ledger, {entry.amount} at the bank")

    explained = sum(entry.amount for entry in only_bank) - sum(entry.amount for entry in only_books)
    print(f"\nbank minus ledger: {difference}, of which explained: {explained}")
    if explained != difference:
        raise SystemExit("the unmatched entries do not explain the difference")


if __name__ == "__main__":
    main()
