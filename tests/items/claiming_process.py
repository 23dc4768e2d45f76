"""A process of robots that claim until nothing is left, each in a thread; it prints who got what.

Run as ``python claiming_process.py URL FIRST COUNT``: it says "ready", and begins with the first line that it is sent.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

from bandmaster.items.claiming import Claim
from bandmaster.items.opened import open_items
from bandmaster.items.outcome import Said
from bandmaster.items.states import Status
from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.asking import Asking

url, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
items = open_items(Asking(Database(url), queue="exec_queue"))


def work(robot_id: str) -> list[str]:
    mine: list[str] = []
    while found := items.claiming.claim(Claim("invoices", robot_id)):
        for item in found:
            mine.append(item.item_id)
            items.outcome.say(item.item_id, Said(Status.DONE), robot_id=robot_id, fence=item.fence)
    return mine


print("ready", flush=True)
sys.stdin.readline()
with ThreadPoolExecutor(count) as threads:
    print(json.dumps(list(threads.map(work, [f"robot-{number}" for number in range(first, first + count)]))))
