"""Metrics for Prometheus: read from Redis and from the ledger's totals, made into families, served over HTTP."""
