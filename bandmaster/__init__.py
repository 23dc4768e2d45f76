"""Bandmaster."""
