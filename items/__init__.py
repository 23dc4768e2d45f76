"""Queues and their items: work for robots and people, in the ledger's database.

In the flow: whoever has work adds an item, a robot claims it for the time of a lease, and says what came of it. The
database alone decides, in one transaction each; Redis only wakes who waits. A robot that dies holds its item until the
lease has ended, by the database's clock.
"""
