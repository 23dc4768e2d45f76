"""The tables of the ledger, and the steps from one schema to the next."""
