"""Rebuilding Redis from the ledger, after Redis lost its data or came back with older data."""
