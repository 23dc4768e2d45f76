-- admit: up to `count` of a lane's waiting executions take a slot each, best first, under all limits at once.
-- Atomic: no grant is made at or above a limit. The grants are leased, so a crash or a lost reply here leaks no slot
-- (D5). Each call also promotes what is due and reaps a few, so that workers alone keep everything going.
-- KEYS: all fixed keys, in the order of scheduler/keys.py
-- ARGV: caller, number, lane, count, lease_ms, max_active, consumer
--   caller number       the request token
--   lease_ms            0: the execution's own timeout plus the grace, for grants that nobody renews
--   max_active          overrides the setting; '' reads it
--   consumer            1 if a live consumer asks, which keeps its lane known as live
-- Returns: {'OK', more, wait_ms, {{id, attempt, lease_ms, event, message}, …}}
--   more 1: the bound of moves was reached, call again; wait_ms: until the next due time or lease end, -1 for none
once('admit', function(lane, count, lease_ms, max_active, consumer)
    local _, due_at = promote_due(50)
    local _, lease_at = reap_expired(5, consumer == '1' and lane or nil)
    local next_at = math.min(due_at or math.huge, lease_at or math.huge)
    local grants, more = admit(lane, tonumber(count), tonumber(lease_ms), tonumber(max_active))
    for _, given in ipairs(grants) do next_at = math.min(next_at, now + given[3]) end
    return {'OK', more, next_at < math.huge and math.max(0, next_at - now) or -1, grants}
end, with_payloads)
