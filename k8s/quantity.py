"""Reads Kubernetes quantities (``500m``, ``1.5``, ``128Mi``, ``1G``) as numbers, for the limits of a process.

The grammar is that of events (``scheduler/model/quantity.py``), so every quantity that was accepted there can be read
here. The ``kubernetes`` package has a parser too, but its import takes a good part of a second and belongs into one
module. Quantities are read when a specification is made, so a bad one is rejected before anything is created.
"""

from decimal import Decimal

from ..scheduler.model.errors import InvalidRequest, shown
from ..scheduler.model.quantity import quantity_value
from .errors import PodRejected


def cpu_cores(value: str) -> Decimal:
    """Read a CPU quantity as cores.

    Raises:
        PodRejected: If it is no quantity above zero, or finer than the API's ``1m``; the message names the value.
    """
    cores = _read(value)
    if cores < Decimal("0.001"):
        raise PodRejected(f"{shown(value)} is no CPU quantity: the smallest is 1m, a thousandth of a core")
    return cores


def memory_bytes(value: str) -> int:
    """Read a memory quantity as bytes.

    Raises:
        PodRejected: If it is no quantity above zero, over 63 bits, or no whole number of bytes, as in ``128m`` where
            ``128Mi`` was meant; the message names the value.
    """
    size = _read(value)
    if not 1 <= size < 2**63 or size != int(size):
        raise PodRejected(f"{shown(value)} is no memory quantity: write whole bytes or a suffix such as Mi or Gi")
    return int(size)


def _read(value: str) -> Decimal:
    try:
        return quantity_value(value)
    except InvalidRequest as error:
        raise PodRejected(str(error)) from error
