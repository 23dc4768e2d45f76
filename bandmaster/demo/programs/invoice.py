"""Calculate an invoice with discounts and several tax rates, exact to the cent.

Uses decimal arithmetic and rounds half up per tax rate, as tax offices want it. The net amounts, taxes and
the total are checked against figures worked out by hand.
"""

from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

CENT = Decimal("0.01")


class Line(NamedTuple):
    text: str
    quantity: Decimal
    price: Decimal
    tax_percent: int
    discount_percent: int = 0

    @property
    def net(self) -> Decimal:
        return cents(self.quantity * self.price * (100 - self.discount_percent) / 100)


LINES = [
    Line("Standing desk, oak", Decimal(2), Decimal("489.00"), 19, 10),
    Line("Cable tray", Decimal(2), Decimal("18.95"), 19),
    Line("Handbook of ergonomics", Decimal(3), Decimal("24.35"), 7),
    Line("Assembly, hours", Decimal("1.75"), Decimal("62.00"), 19),
    Line("Delivery", Decimal(1), Decimal("0.00"), 19),
]
EARLY_PAYMENT_PERCENT = 2
EXPECTED = {"net": "1099.65", "tax": "200.16", "total": "1299.81"}


def cents(amount: Decimal) -> Decimal:
    """Round to the cent, half a cent upwards."""
    return amount.quantize(CENT, rounding=ROUND_HALF_UP)


def main() -> None:
    print(f"{'':<26}{'quantity':>9}{'price':>10}{'discount':>10}{'tax':>6}{'net':>12}")
    net_by_rate: defaultdict[int, Decimal] = defaultdict(Decimal)
    for line in LINES:
        net_by_rate[line.tax_percent] += line.net
        discount = f"-{line.discount_percent} %" if line.discount_percent else ""
        print(f"{line.text:<26}{line.quantity:>9}{line.price:>10}{discount:>10}{line.tax_percent:>4} %{line.net:>12,}")

    net = sum(net_by_rate.values())
    taxes = {rate: cents(amount * rate / 100) for rate, amount in sorted(net_by_rate.items())}
    total = net + sum(taxes.values())
    print(f"\n{'Net':<61}{net:>12,}")
    for rate, tax in taxes.items():
        label = f"{rate} % tax on {net_by_rate[rate]:,}"
        print(f"{label:<61}{tax:>12,}")
    print(f"{'Total':<61}{total:>12,}")
    early = cents(total * (100 - EARLY_PAYMENT_PERCENT) / 100)
    print(f"{f'If paid within 10 days (-{EARLY_PAYMENT_PERCENT} %)':<61}{early:>12,}")

    found = {"net": str(net), "tax": str(sum(taxes.values())), "total": str(total)}
    if found != EXPECTED:
        raise SystemExit(f"{found} is not {EXPECTED}")


if __name__ == "__main__":
    main()
