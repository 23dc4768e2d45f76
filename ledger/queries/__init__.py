"""What is read from the ledger: lists, one execution, its transitions and its payload, and who changed what."""
