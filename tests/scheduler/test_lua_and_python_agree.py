"""What Lua and Python both spell out is the same in both: keys, times, defaults, bounds."""

import re

import redis

from bandmaster.configs.areas import LeaseSettings, LimitSettings, RetentionSettings
from bandmaster.scheduler.engine.controls import BOUNDS
from bandmaster.scheduler.events.schedule import MISSED_AFTER_MS
from bandmaster.scheduler.gate_loads import ASKED_AGAIN_MS
from bandmaster.scheduler.keys import DEFAULT_LANE, FIXED, Keys
from bandmaster.scheduler.transport.library import read_lua
from bandmaster.scheduler.views import LIVE_CONSUMER_MS


def test_lua_and_python_spell_every_key_alike(redis_client: redis.Redis) -> None:
    keys = Keys("some{prefix}")
    derived = {
        "event": ("id",),
        "message": ("id",),
        "meta": ("id",),
        "result": ("id",),
        "ended": ("id",),
        "reply": ("caller",),
        "ready": ("lane",),
        "flow": ("lane", "action:pod\nuser:ann"),
        "open": ("lane",),
        "pending": ("lane",),
        "active": ("lane",),
        "users": ("lane",),
        "times": ("lane",),
        "tags": ("lane", 2),
        "idle_tags": ("lane", 2),
        "wake": ("lane",),
        "outbox": ("lane",),
        "members": ("lane",),
        "held": ("tenant:1",),
        "gate_lanes": ("tenant:1",),
        "kind_lanes": ("tenant:*",),
        "waiting": ("tenant:1", "lane"),
        "closed": ("tenant:*", "lane"),
        "later": ("lane",),
        "rate_time": ("tenant:1",),
        "default_limits": (),
        "pauses": ("tenant:1",),
        "action_pending": ("action",),
        "action_stats": ("action",),
        "unique": ("report:1",),
        "session": ("digest",),
        "sessions": ("whose",),
        "login": ("digest",),
        "slot_members": ("owner",),
        "slot_news": ("owner",),
    }
    spelled = read_lua("include/keys.lua")
    assert set(re.findall(r"^ {4}(\w+) = function", spelled, re.MULTILINE)) == set(derived)
    spellings = [*derived.items(), *((name, (DEFAULT_LANE,)) for name in ("pending", "active", "users"))]
    calls = ", ".join(f"D.{name}({', '.join(map(repr, given))})" for name, given in spellings)
    function = f"function(keys) begin(keys) return {{{calls}}} end"
    text = (
        f"#!lua name=spelled\n{read_lua('include/call.lua')}\n{spelled}\nredis.register_function('spelled', {function})"
    )
    redis_client.function_load(text)
    raw = redis_client.fcall("spelled", 1, keys.declared)
    redis_client.function_delete("spelled")
    assert [key.decode() for key in raw] == [getattr(keys, name)(*given) for name, given in spellings]


def test_lua_spells_the_fixed_keys_as_python_does(redis_client: redis.Redis) -> None:
    keys = Keys("{some}:prefix")
    text = (
        f"#!lua name=fixed\n{read_lua('include/call.lua')}\n{read_lua('include/keys.lua')}\n"
        "redis.register_function('fixed', function(keys)\n"
        "    begin(keys)\n"
        "    local flat = {}\n"
        "    for name, key in pairs(K) do flat[#flat + 1], flat[#flat + 2] = name, key end\n"
        "    return flat\n"
        "end)"
    )
    redis_client.function_load(text)
    raw = [each.decode() for each in redis_client.fcall("fixed", 1, keys.declared)]
    redis_client.function_delete("fixed")
    spelled = dict(zip(raw[::2], raw[1::2], strict=True))
    spelled["lease:pods"] = spelled.pop("pod_lease")
    assert spelled == {name: keys.named(name) for name in FIXED}


def test_a_consumer_counts_as_live_as_long_in_lua_as_in_python() -> None:
    (in_lua,) = re.findall(r"^ *local LIVE_CONSUMER_MS = (\d+)", read_lua("include/ranking.lua"), re.MULTILINE)
    assert int(in_lua) == LIVE_CONSUMER_MS


def test_an_idle_worker_asks_again_after_as_long_in_lua_as_in_python() -> None:
    (in_lua,) = re.findall(r"^ *local AGAIN_MS = (\d+)", read_lua("include/later.lua"), re.MULTILINE)
    assert int(in_lua) == ASKED_AGAIN_MS


def test_an_occurrence_is_missed_after_as_long_in_lua_as_in_python() -> None:
    (in_lua,) = re.findall(r"^ *local MISSED_AFTER_MS = (\d+)", read_lua("include/occurrences.lua"), re.MULTILINE)
    assert int(in_lua) == MISSED_AFTER_MS


def test_the_defaults_in_lua_are_those_of_the_settings() -> None:
    pairs = re.findall(r"^ {4}(\w+) = (\d+),$", read_lua("include/setting_defaults.lua"), re.MULTILINE)
    in_lua = {name: int(value) for name, value in pairs}
    configured: dict[str, object] = {}
    for area in (LimitSettings, LeaseSettings, RetentionSettings):
        configured.update({name: field.default for name, field in area.model_fields.items()})
    shared = set(in_lua) & set(configured)
    assert set(in_lua) - shared == {"max_infrastructure_retries"}
    unset = set(configured) - shared
    assert unset == {"max_concurrent", "ageing_seconds"}
    assert {configured[name] for name in unset} == {None}
    assert all(f"    {name} = false," in read_lua("include/setting_defaults.lua") for name in unset)
    assert {name: in_lua[name] for name in shared} == {name: configured[name] for name in shared}


def test_the_bounds_of_a_lane_are_the_same_in_lua_as_in_python() -> None:
    (listed,) = re.findall(
        r"^local BOUNDS = \{(.*?)\}", read_lua("include/setting_defaults.lua"), re.DOTALL | re.MULTILINE
    )
    assert set(re.findall(r"(\w+) = true", listed)) == BOUNDS
