-- admit: up to `count` of some lanes' waiting executions take a slot each, best first, under all limits at once.
-- Atomic: no grant is made at or above a limit. The grants are leased, so a crash or a lost reply here leaks no slot
-- (D5). Each call also promotes what is due and reaps a few, so that workers alone keep everything going.
-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)
-- ARGV: caller, number, count, lease_ms, max_active, consumer, (lane), …
--   caller number       the request token, which is the nonce of what is granted
--   count               0: grant nothing, and say whether a thread could be used
--   lease_ms            0: start deadline, the execution's timeout and grace, for grants that nobody renews
--   max_active          of one lane, count > 0: in place of its max_concurrent_executions; '' reads that
--   consumer            1 if live consumers of these lanes ask, which keeps the lanes known as live
-- Returns: {'OK', more, wait_ms, untold, {{id, attempt, nonce, lane, lease_ms, event, message}, …}}
--   more 1: the bound of moves was reached, or, of count 0, something may be eligible: call again
--   wait_ms: until the next due time or lease end, -1 for none
--   untold 1: something may be collected from an outbox of these lanes; only live consumers are told so
once('admit', function(count, lease_ms, max_active, consumer, ...)
    local lanes = {...}
    if consumer == '1' then note_asked(lanes) end
    local wait_ms = repair()
    local grants, more = admit(lanes, tonumber(count), tonumber(lease_ms), tonumber(max_active))
    for _, given in ipairs(grants) do wait_ms = math.min(wait_ms or math.huge, given[4]) end
    return {'OK', more, wait_ms or -1, consumer == '1' and has_untold(lanes) and 1 or 0, grants}
end, with_payloads)
