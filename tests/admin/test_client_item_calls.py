"""The client's calls of queues and items, each against a real API."""

from both_clients import OF_ITEMS, OF_TESTS, Ask, ask

from bandmaster.client import calls

__all__ = ["ask"]


def test_each_call_of_queues_and_items_is_answered_with_its_document(ask: Ask) -> None:
    asked = {
        "create_item_queue": calls.create_item_queue("called", max_retries=1),
        "item_queue": calls.item_queue("called"),
        "item_queues": calls.item_queues(),
        "change_item_queue": calls.change_item_queue("called", {"description": "by the client"}),
        "add_item": calls.add_item("called", 1, "key-1"),
        "add_item_by_name": calls.add_item_by_name("called", 2, "key-2"),
        "items": calls.items("called", status=["NEW"]),
        "claim_items": calls.claim_items("called", "key-3", robot_id="r-1"),
        "claim_item": calls.claim_item("called", robot_id="r-2"),
        "item_stats": calls.item_stats("called"),
    }
    got = {name: ask(call) for name, call in asked.items()}
    assert got["item_queue"].name == got["item_queues"].queues[0].name == "called"
    assert got["change_item_queue"].description == "by the client"
    assert {each.id for each in got["items"].items} == {got["add_item"].id, got["add_item_by_name"].id}
    (first,) = got["claim_items"].items
    assert (first.payload, got["claim_item"].payload) == (1, 2)
    assert ask(calls.held_item(first.id, "r-1")).payload == 1
    settled = ask(calls.settle_item(got["claim_item"].id, "DONE", got["claim_item"].fence, robot_id="r-2"))
    assert settled.status == "DONE"
    edited = ask(calls.edit_item(first.id, {"status": "NEW"}))
    assert ask(calls.item(first.id)).status == edited.status == "NEW"
    assert ask(calls.delete_item(first.id)).status == "DELETED"
    assert ask(calls.delete_item_queue("called", force=True)).name == "called"
    others = {"held_item", "settle_item", "edit_item", "item", "delete_item", "delete_item_queue"}
    # That of files: test_client_item_files.py.
    assert {*asked, *others, *OF_TESTS} == OF_ITEMS - {"upload_items"}


def test_an_address_is_tried_and_its_notification_shown(ask: Ask) -> None:
    url = "https://hooks.example/"
    ask(calls.create_item_queue("tried", notify_url=url))
    ask(calls.create_trigger("tried", "TIME", ["true"], cron="0 0 1 1 *", notify_url=url))
    for call in (calls.send_queue_test("tried"), calls.send_trigger_test("tried")):
        sent = ask(call)
        assert (sent.event, sent.state, sent.name) == ("test", "waiting", "tried")
        assert ask(calls.notification(sent.id)) == sent == ask(call)
