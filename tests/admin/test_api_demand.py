"""What an autoscaler asks: a number of threads, and an error where there is none; without Redis: another file."""

from calling import V1, Api


def test_a_scaler_is_told_how_many_threads_a_lane_needs(api: Api) -> None:
    for name in ("a", "b"):
        api.queue.enqueue({"execution_id": name, "command": ["true"]})
    api.queue.try_schedule()
    with api.client(api.token("keda", "read")) as client:
        told = client.get(f"{V1}/lanes/executions/demand").json()
        assert (told["threads"], told["admissible"], told["running"], told["source"]) == (2, 1, 1, "redis")
        missing = client.get(f"{V1}/lanes/exceutions/demand")
        assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
        assert "nothing was ever sent to lane exceutions" in missing.json()["detail"]
