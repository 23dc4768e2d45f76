"""Write payment reminders from a letter template and a list of customers.

The tone rises with the days overdue. No placeholder may be left open in a letter, and the sum of all letters
must be the sum of the open invoices.
"""

import csv
import io
import re
from datetime import date
from decimal import Decimal
from string import Template

TODAY = date(2024, 6, 3)
OPEN_INVOICES = """\
number,name,amount,due
2024-0117,Ms Okafor,119.00,2024-05-29
2024-0098,Mr Lindqvist,2380.50,2024-05-02
2024-0071,Bakery Moreau,74.90,2024-03-15
2024-0120,Ms Tanaka,530.00,2024-06-30
"""
LETTER = Template(
    "Dear $name,\n$opening invoice $number over EUR $amount was due on $due, $days days ago.\n$demand\n"
    "Kind regards, Accounts\n"
)
TONES = [  # from so many days overdue: how it opens, what it asks for
    (60, "Despite our reminders,", "We shall hand the matter to our lawyers on $deadline."),
    (14, "We have not received your payment:", "Please pay within seven days."),
    (1, "It may have escaped you that", "If you have paid already, please ignore this letter."),
]


def main() -> None:
    invoices = list(csv.DictReader(io.StringIO(OPEN_INVOICES)))
    letters: dict[str, str] = {}
    not_due = Decimal(0)
    for invoice in invoices:
        days = (TODAY - date.fromisoformat(invoice["due"])).days
        if days < 1:
            not_due += Decimal(invoice["amount"])
            continue
        _, opening, demand = next(tone for tone in TONES if days >= tone[0])
        demand = Template(demand).safe_substitute(deadline="17 June")
        letters[invoice["number"]] = LETTER.substitute(invoice, days=days, opening=opening, demand=demand)

    print("\n".join(letters.values()))
    demanded = sum(Decimal(amount) for letter in letters.values() for amount in re.findall(r"EUR ([\d.]+\d)", letter))
    print(f"{len(letters)} letters over EUR {demanded:,}; EUR {not_due:,} not due yet")
    if any("$" in letter for letter in letters.values()):
        raise SystemExit("a placeholder was left open")
    if demanded + not_due != sum(Decimal(invoice["amount"]) for invoice in invoices):
        raise SystemExit("the letters do not add up to the open invoices")


if __name__ == "__main__":
    main()
