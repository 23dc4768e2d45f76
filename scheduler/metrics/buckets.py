"""The buckets of all histograms: those of the ledger's totals, which are kept under these names, and of Redis."""

from typing import Final

BOUNDARIES_MS: Final = (
    *(5, 10, 25, 50, 100, 250, 500),
    *(1_000, 2_500, 5_000, 10_000, 30_000, 60_000),
    *(300_000, 600_000, 1_800_000, 3_600_000),
)
"""The upper ends of the buckets; one more has all that is longer."""
LONGER: Final = "inf"
BUCKETS: Final = (*map(str, BOUNDARIES_MS), LONGER)
"""Their names."""
BOUNDS: Final = (*(str(bound / 1000) for bound in BOUNDARIES_MS), "+Inf")
"""The label `le` of each, in seconds."""
