"""Claims that a database holds up keep some of the API's threads, and not all: others are answered meanwhile."""

import threading
import time

from calling import V1, Api

from bandmaster.admin.services import CLAIMS_AT_ONCE
from waiting import wait_until

MANY = 60
"""More than there are threads for routes."""


def test_claims_that_hang_leave_threads_to_others_and_one_more_is_told(api: Api) -> None:
    with api.client(api.token("root", "admin")) as root:
        assert root.post(f"{V1}/queues", json={"name": "invoices"}).status_code == 201
    robot, operator = api.token("desk-7", "robot"), api.token("desk", "operate")
    statuses = list[int]()

    def claim() -> None:
        with api.client(robot) as client:
            statuses.append(client.post(f"{V1}/queue-items/next", json={"queue_name": "invoices"}).status_code)

    threads = [threading.Thread(target=claim) for _ in range(MANY)]
    with api.database.writing(), api.client(operator) as desk:
        for thread in threads:
            thread.start()
        wait_until(lambda: 503 in statuses, what="a claim that has no turn")
        begun = time.monotonic()
        assert desk.get(f"{V1}/queues").status_code == 200
        assert time.monotonic() - begun < 5
        with api.client(robot) as client:
            refused = client.post(f"{V1}/queue-items/next", json={"queue_name": "invoices"})
        assert (refused.status_code, refused.json()["code"]) == (503, "busy")
        assert f"{CLAIMS_AT_ONCE} requests claim items already" in refused.json()["detail"]
        assert "Retry-After" in refused.headers
    for thread in threads:
        thread.join(60)
    assert sorted(set(statuses)) == [200, 503]
    assert statuses.count(200) >= CLAIMS_AT_ONCE
