"""Notifications: what ended badly is told to the address that its queue or trigger has.

In the flow: `outbox` writes a row in the transaction in which an item fails for good or a trigger begins to fail;
`delivering` of the ledger's leader sends what is written, signed, until the receiver has taken it; `listing` shows what
waits and what could not be delivered.
"""
