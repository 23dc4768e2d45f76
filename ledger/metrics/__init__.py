"""Metrics for Prometheus: the ledger's totals, made into families and served together with what Redis tells."""
