"""The ledger: what happened, kept in SQL.

One process reads the journal and writes it into SQLite or PostgreSQL. Redis decides and never waits for it; without a
ledger everything but history works.
"""
