"""Print a conversion table of kitchen and workshop units, with exact arithmetic.

Factors are fractions of SI units, so that converting there and back gives exactly what one started with.
"""

from fractions import Fraction
from itertools import permutations

UNITS = {  # quantity -> unit -> how much of the SI unit it is; all of them exact by definition
    "length (m)": {"mm": "1/1000", "inch": "0.0254", "foot": "0.3048", "yard": "0.9144", "mile": "1609.344"},
    "mass (kg)": {"g": "1/1000", "ounce": "0.028349523125", "pound": "0.45359237", "stone": "6.35029318"},
    "volume (l)": {"ml": "1/1000", "US cup": "0.2365882365", "US gallon": "3.785411784", "UK pint": "0.56826125"},
}
KNOWN = [("mile", "foot", 5280), ("yard", "inch", 36), ("stone", "pound", 14), ("US gallon", "US cup", 16)]


def factor(unit: str) -> Fraction:
    """Return how much of its SI unit one ``unit`` is."""
    return next(Fraction(units[unit]) for units in UNITS.values() if unit in units)


def convert(amount: Fraction, source: str, target: str) -> Fraction:
    """Convert exactly."""
    return amount * factor(source) / factor(target)


def fahrenheit(celsius: int) -> Fraction:
    """Convert a temperature, which has an offset as well as a factor."""
    return Fraction(celsius) * 9 / 5 + 32


def main() -> None:
    for quantity, units in UNITS.items():
        print(f"{quantity:<12}" + "".join(f"{unit:>12}" for unit in units))
        for unit in units:
            row = "".join(f"{float(convert(Fraction(1), unit, other)):>12.6g}" for other in units)
            print(f"{'1 ' + unit:<12}" + row)
        for one, other in permutations(units, 2):
            if convert(convert(Fraction("3.7"), one, other), other, one) != Fraction("3.7"):
                raise SystemExit(f"{one} to {other} and back is not the same")
    print("oven: " + ", ".join(f"{celsius} C = {float(fahrenheit(celsius)):.0f} F" for celsius in (100, 180, 220)))

    for source, target, count in KNOWN:
        if convert(Fraction(1), source, target) != count:
            raise SystemExit(f"a {source} is {count} {target}")
    if fahrenheit(-40) != -40:
        raise SystemExit("the two scales meet at -40")


if __name__ == "__main__":
    main()
