"""A request sent again under its `Idempotency-Key` is carried out once, whatever died or was refused before."""

from concurrent.futures import ThreadPoolExecutor

import redis
from calling import V1, Api
from proxy import proxy_before
from redis.backoff import NoBackoff
from redis.retry import Retry

from bandmaster.admin.api.idempotency import Claim, Claims
from bandmaster.admin.api.requests import Submission
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.queue import ExecutionQueueService

HERE = f"{V1}/executions/"
ECHO = {"command": ["echo", "hello"]}


def test_the_same_request_sent_again_is_carried_out_once(api: Api) -> None:
    token = api.token("ann", "submit")
    with api.client(token, **{"Idempotency-Key": "k-1"}) as client:
        first = client.post(HERE, json=ECHO)
        again = client.post(HERE, json=ECHO)
        assert (first.status_code, again.status_code) == (201, 200)
        assert first.json() == again.json()
        other = client.post(HERE, json={"command": ["echo", "bye"]})
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    with api.client(api.token("ann", "submit"), **{"Idempotency-Key": "k-1"}) as client:
        assert client.post(HERE, json=ECHO).status_code == 201, "a key belongs to its token"
    assert api.queue.get_queue_status()["queue_depth"] == 2


def test_many_at_once_with_one_key_are_one(api: Api) -> None:
    with (
        api.client(api.token("ann", "submit"), **{"Idempotency-Key": "k"}) as client,
        ThreadPoolExecutor(16) as executor,
    ):
        sent = [executor.submit(client.post, HERE, json=ECHO) for _ in range(32)]
        answers = [each.result() for each in sent]
    assert sorted(answer.status_code for answer in answers) == [200] * 31 + [201]
    assert len({answer.json()["execution_id"] for answer in answers}) == 1
    assert api.queue.get_queue_status()["queue_depth"] == 1


def test_a_request_that_died_after_its_claim_goes_on_under_its_id(api: Api) -> None:
    with api.client(api.token("ann", "submit"), **{"Idempotency-Key": "k"}) as client:
        first = client.post(HERE, json=ECHO).json()["execution_id"]
        # As if the process had died before the queue was told.
        api.queue.remove(first)
        api.queue.scripts.client.delete(api.queue.scripts.keys.meta(first), api.queue.scripts.keys.ended(first))
        again = client.post(HERE, json=ECHO)
    assert (again.status_code, again.json()["execution_id"]) == (201, first)


def test_a_refused_request_may_be_sent_again_with_its_key(api: Api) -> None:
    api.queue.enqueue({"execution_id": "before", **ECHO})
    api.queue.controls.change_setting("max_queue_size", 1)
    with api.client(api.token("ann", "submit"), **{"Idempotency-Key": "k"}) as client:
        assert client.post(HERE, json=ECHO).status_code == 429
        api.queue.controls.change_setting("max_queue_size", 10)
        assert client.post(HERE, json=ECHO).status_code == 201


def test_an_id_that_is_anothers_stays_refused(api: Api) -> None:
    api.queue.enqueue(ExecutionRequestedEvent.from_any({"execution_id": "x", **ECHO}))
    with api.client(api.token("ann", "submit"), **{"Idempotency-Key": "k"}) as client:
        for _ in range(2):
            answer = client.post(HERE, json=ECHO | {"execution_id": "x"})
            assert (answer.status_code, answer.json()["code"]) == (409, "duplicate")


def claimed(queue: ExecutionQueueService, token: str, execution_id: str) -> Claim:
    """What a request keeps of its key before it sends: it may die then."""
    body = Submission.model_validate(ECHO | {"execution_id": execution_id}).model_dump_json().encode()
    token_id = token.split("_")[1]
    return Claims(queue.scripts).claim("k", token_id=token_id, route="submit", body=body, execution_id=execution_id)


def test_an_id_that_is_anothers_stays_refused_after_a_request_that_died(api: Api) -> None:
    api.queue.enqueue({"execution_id": "x", **ECHO, "metadata": {"user_id": "bob"}})
    token = api.token("ann", "submit")
    assert claimed(api.queue, token, "x").is_new
    with api.client(token, **{"Idempotency-Key": "k"}) as client:
        for _ in range(2):
            answer = client.post(HERE, json=ECHO | {"execution_id": "x"})
            assert (answer.status_code, answer.json()["code"]) == (409, "duplicate")
            assert "PENDING" not in answer.text


def test_a_request_whose_claim_was_answered_to_nobody_knows_that_it_is_the_first(redis_url: str) -> None:
    with proxy_before(redis_url) as proxy, redis.Redis.from_url(proxy.url, retry=Retry(NoBackoff(), 0)) as client:
        queue = ExecutionQueueService(client)
        queue.views.server_time_ms()
        proxy.lose_next_reply(b"EXEC")
        claim = claimed(queue, "bm_0123456789ab_secret", "x")
        assert (proxy.lost, claim.is_new, claim.execution_id) == (1, True, "x")
        assert not claimed(queue, "bm_0123456789ab_secret", "x").is_new
        queue.close()


def test_an_id_of_ones_own_that_is_taken_is_refused_too(api: Api) -> None:
    with api.client(api.token("ann", "submit")) as client:
        first = client.post(HERE, json=ECHO | {"execution_id": "nightly"}, headers={"Idempotency-Key": "monday"})
        assert first.status_code == 201
        again = client.post(HERE, json=ECHO | {"execution_id": "nightly"}, headers={"Idempotency-Key": "monday"})
        assert again.status_code == 200, "the same request"
        for body in (ECHO, {"command": ["echo", "bye"]}):
            other = client.post(HERE, json=body | {"execution_id": "nightly"}, headers={"Idempotency-Key": str(body)})
            assert (other.status_code, other.json()["code"]) == (409, "duplicate"), "another request"


def test_a_twin_of_a_refused_request_is_the_same_execution(api: Api) -> None:
    """One of two requests under a key is refused, the other accepted meanwhile: sent again, it is still one."""
    api.queue.enqueue({"execution_id": "before", **ECHO})
    api.queue.controls.change_setting("max_queue_size", 1)
    with api.client(api.token("ann", "submit"), **{"Idempotency-Key": "k"}) as client:
        assert client.post(HERE, json=ECHO).status_code == 429
        api.queue.controls.change_setting("max_queue_size", 10)
        accepted = [client.post(HERE, json=ECHO).json()["execution_id"] for _ in range(3)]
    assert len(set(accepted)) == 1
    assert api.queue.get_queue_status()["queue_depth"] == 2
