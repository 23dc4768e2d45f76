"""Metrics for Prometheus: read from Redis, made into families, served over HTTP; the ledger adds its totals."""
