"""Kubernetes quantities, the notation for CPU and memory: ``100m``, ``0.5``, ``512Mi``, ``1e3``.

Events check their quantities on arrival. The pod interface reads them again as numbers, since no API server does so for
a local child process. Pure functions, cached, since the same few quantities come with every event.
"""

import re
from decimal import Decimal
from functools import lru_cache
from typing import Final

from .errors import InvalidRequest, shown

_QUANTITY: Final = re.compile(
    r"(?P<number>[0-9]{1,15}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})"
    r"(?:(?P<suffix>[num]|[kMGTPE]|[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]{1,2}))?"
)

_FACTORS: Final = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", start=1)},
}


@lru_cache(maxsize=1024)
def quantity_value(text: str) -> Decimal:
    """Return the number that a quantity means, in cores or bytes.

    Raises:
        InvalidRequest: If the text is not a quantity, or not above zero.
    """
    found = _QUANTITY.fullmatch(text)
    if found is not None:
        number = Decimal(found["number"])
        if found["exponent"] is not None:
            number = number.scaleb(int(found["exponent"]))
        elif found["suffix"] is not None:
            number *= _FACTORS[found["suffix"]]
        if number > 0:
            return number
    raise InvalidRequest(
        "quantity",
        f"{shown(text)} is not a quantity above zero",
        allowed="a Kubernetes quantity, like 100m or 2 (cores), 128Mi or 1.5G (bytes)",
    )
