"""The ledger's tables of what executions waited for, summed by the hour.

In the flow: `waits/summing.py` writes them behind the consumer's pages, the API reads them. `tables.py` has all tables.
"""

from typing import Final

from sqlalchemy import BigInteger, Column, ForeignKey, Integer, Table, Text

from .columns import BY_BYTES, metadata

wait_sums: Final = Table(
    "wait_sums",
    metadata,
    Column("by_what", Text, primary_key=True),
    Column("hour_ms", BigInteger, primary_key=True),
    Column("name", BY_BYTES, primary_key=True),
    Column("cause", Text, primary_key=True),
    Column("behind", BY_BYTES, primary_key=True),
    Column("ms", BigInteger, nullable=False),
    Column("waits", BigInteger, nullable=False),
    comment="What executions waited for, by the hour in which their waits ended. No name: all others of the hour.",
)

wait_counts: Final = Table(
    "wait_counts",
    metadata,
    Column("by_what", Text, primary_key=True),
    Column("hour_ms", BigInteger, primary_key=True),
    Column("name", BY_BYTES, primary_key=True),
    Column("waits", BigInteger, nullable=False),
    Column("summed", BigInteger, nullable=False),
    Column("sampled", BigInteger, nullable=False),
    Column("incomplete", BigInteger, nullable=False),
    comment="How many waits ended, and of how many wait_sums tells. The rest was passed over.",
)

wait_positions: Final = Table(
    "wait_positions",
    metadata,
    Column("journal_id", Integer, ForeignKey("journals.journal_id"), primary_key=True, autoincrement=False),
    Column("entry_ms", BigInteger, nullable=False),
    Column("entry_number", BigInteger, nullable=False),
    comment="Up to which transition of each journal ended waits are summed.",
)
