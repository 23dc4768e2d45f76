"""The program of a trigger books the invoices that it was started for, and says of each what came of it.

`bandmaster queue create bookings --max-retries 2`; `bandmaster trigger create book --queue bookings --batch 10
--command '/a/python/with/bandmaster /path/to/bookings.py'`; then `bandmaster item add bookings '{"number": 17}'`.
"""

from bandmaster.client import ExecutionItem, items_of_execution


def book(item: ExecutionItem) -> str:
    """Book an invoice: every tenth has no customer, and of every seventh the first try fails."""
    number = item.payload["number"]
    item.progress(f"books {number}")
    if number % 10 == 0:
        item.fail("no such customer", business=True)  # it never will be right: it is not tried again
        return "refused"
    if number % 7 == 0 and item.retries == 0:
        item.fail("the ledger of the bank does not answer")  # it may the next time
        return "put off"
    item.complete({"booking": f"booked-{number}"})
    return "booked"


with items_of_execution() as items:
    for each in items:
        # An item of which nothing is said would be done if this program ends well, and have failed if not.
        print(each.payload["number"], book(each))
