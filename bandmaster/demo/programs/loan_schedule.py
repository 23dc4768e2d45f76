"""Compare mortgage offers: monthly payment, interest, what is left after ten years.

Each schedule is worked out month by month, to the cent, until the last payment clears the debt; the principal
payments must add up to the loan.
"""

from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import NamedTuple

LOAN = Decimal(240_000)
CENT = Decimal("0.01")


class Offer(NamedTuple):
    bank: str
    yearly_percent: Decimal
    years: int
    fee: Decimal


OFFERS = [
    Offer("Northern Savings", Decimal("3.45"), 25, Decimal(0)),
    Offer("Harbour Bank", Decimal("3.19"), 25, Decimal(2_900)),
    Offer("Harbour Bank", Decimal("3.05"), 20, Decimal(2_900)),
    Offer("Cooperative", Decimal("3.60"), 30, Decimal(450)),
]


def payment(offer: Offer) -> Decimal:
    """Return the constant monthly payment, by the annuity formula."""
    with localcontext() as context:
        context.prec = 40
        rate = offer.yearly_percent / 1200
        exact = LOAN * rate / (1 - (1 + rate) ** (-12 * offer.years))
    return exact.quantize(CENT, ROUND_HALF_UP)


def schedule(offer: Offer) -> list[tuple[Decimal, Decimal, Decimal]]:
    """Return (interest, principal, balance) of every month; the last payment takes up the rounding."""
    monthly, balance, months = payment(offer), LOAN, []
    for number in range(1, 12 * offer.years + 1):
        interest = (balance * offer.yearly_percent / 1200).quantize(CENT, ROUND_HALF_UP)
        principal = balance if number == 12 * offer.years else monthly - interest
        balance -= principal
        months.append((interest, principal, balance))
    return months


def main() -> None:
    print(f"a loan of {LOAN:,}\n")
    print(f"{'bank':<18}{'years':>6}{'rate':>8}{'a month':>11}{'interest':>12}{'with fee':>12}{'after 10 y':>13}")
    costs = {}
    for offer in OFFERS:
        months = schedule(offer)
        interest = sum(month[0] for month in months)
        costs[offer] = interest + offer.fee
        print(
            f"{offer.bank:<18}{offer.years:>6}{offer.yearly_percent:>6} %{payment(offer):>11,}"
            f"{interest:>12,}{costs[offer]:>12,}{months[119][2]:>13,}"
        )
        if sum(month[1] for month in months) != LOAN or months[-1][2] != 0:
            raise SystemExit(f"{offer.bank}: the loan is not paid off")
        last = months[-1][0] + months[-1][1]
        if abs(last - payment(offer)) > 5:
            raise SystemExit(f"{offer.bank}: the last payment is {last}, far from the others")
    best = min(costs, key=costs.get)
    print(f"\ncheapest in all: {best.bank}, {best.years} years, {costs[best]:,}")


if __name__ == "__main__":
    main()
