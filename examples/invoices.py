"""A robot works through a queue of invoices: some are booked, some can never be, and some need a second try.

`bandmaster queue create invoices --max-retries 2 --retry 0`; `bandmaster token create --owner desk --scope robot
--robot-id desk-7 --queue invoices`; then, with the API's address and that token in the environment, run this.
"""

import os

from bandmaster.client import BusinessException, Client, calls

INVOICES = 200
tries: dict[int, int] = {}


def book(number: int) -> str:
    """Book an invoice: every tenth has no customer, and of every seventh the first try fails."""
    tries[number] = tries.get(number, 0) + 1
    if number % 10 == 0:
        raise BusinessException("no such customer")  # it never will be right: it is not tried again
    if number % 7 == 0 and tries[number] == 1:
        raise ConnectionError("the ledger of the bank does not answer")  # it may the next time
    return f"booked-{number}"


with Client(os.environ["BANDMASTER_URL"], os.environ["BANDMASTER_TOKEN"]) as client:
    for number in range(1, INVOICES + 1):
        client.send(calls.add_item_by_name("invoices", {"number": number}, key=f"invoice-{number}"))
    has_work = True
    while has_work:
        try:
            # Within the block the item is held; at its end it is done, or has failed by the exception.
            with client.next("invoices", wait_seconds=1) as item:
                has_work = item is not None
                if item is not None:
                    item.result = {"booking": book(item.payload["number"])}
        except ConnectionError:
            pass  # the queue has it again
print(f"{sum(tries.values())} tries of {len(tries)} invoices")
